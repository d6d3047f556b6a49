"""Random files of arrays and the section of a deck that reads them: axes, types, chunks, filters, slices and windows."""
import concurrent.futures
import pathlib
import tempfile

import h5py
import numpy

from array_samples import python_slice
from support.cases import chosen_numbers

TYPES = ("<f8", ">f8", "<f4", ">f4", "<f2", "bfloat16", "i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<i8")
SZIP = h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP) and \
    bool(h5py.h5z.get_filter_info(h5py.h5z.FILTER_SZIP) & h5py.h5z.FILTER_CONFIG_ENCODE_ENABLED)


class RandomArrays:
    """Writes the files of layout `number` into a folder; `section` is [data.arrays], `axes` has the axes of each array.
    `feeds_back`: the targets are among the inputs and have levels in time, as a rollout needs them. `has_gaps`: numbers of some arrays
    are missing. `world`: of more to draw (random_worlds.py): coordinates, weights and training through several steps."""

    def __init__(self, folder, number, feeds_back=False, has_gaps=False, world=None):
        self.folder, self.random, self.feeds_back, self.world = folder, numpy.random.default_rng([44, number]), feeds_back, world
        pick = self.pick
        self.grid = list(self.random.permutation(["z", "y", "x"])[:pick(0, 1, 1, 2, 2, 2, 3)])
        self.extents = {axis: int(self.random.integers(2, 7)) for axis in self.grid}
        self.has_sample, self.has_time = pick(False, False, True), pick(True, True, True, True, True, False)
        self.has_time |= feeds_back
        self.has_sample |= not self.has_time
        self.fill = pick(None, None, None, -7.5)
        self.choose_windows()
        self.choose_arrays()
        if world:
            world.choose_arrays(self)
        self.choose_slices()
        self.choose_masks()
        self.gaps = numpy.random.default_rng([45, number])
        if has_gaps:
            self.choose_missing()
        if world:
            world.choose_keys(self)
        self.train = [self.write(f"run-{i:02d}.h5") for i in range(pick(1, 1, 2, 3, 4))]
        self.test = [self.write(f"test-{i}.h5") for i in range(pick(0, 1, 2))]

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def choose_windows(self):
        pick = self.pick
        self.steps = pick(1, 1, 2, 3) if self.has_time and not self.feeds_back else 1
        if self.world:
            self.steps = self.world.steps if self.has_time else 1
        windows = {"history": pick(1, 1, 2, 3), "ahead": pick(0, 1, 1, 2, 3), "every": pick(1, 1, 2, 3)}
        if self.steps > 1 or self.feeds_back:
            windows["ahead"] = max(1, windows["ahead"]) if windows["history"] == 1 else 1
        self.windows = {key: value for key, value in windows.items() if value != 1} if self.has_time else {}
        self.differences = self.has_time and windows["ahead"] > 0 and pick(True, False, False)
        self.points = bool(self.grid) and self.steps == 1 and not self.world and pick(True, False, False, False, False)

    def choose_arrays(self):
        names = list(self.random.permutation(["/u", "/flow/v", "/w", "/p", "/q"]))
        count = self.pick(1, 2, 3)
        inputs = names[:count]
        if self.steps > 1 or self.differences or self.feeds_back:
            targets = list(self.random.permutation(inputs)[:self.random.integers(1, count + 1)])
        else:
            targets = names[count:count + self.pick(0, 1)] + inputs[:self.pick(0, 1, count)]
            targets = targets or inputs[:1]
        constants = ["/mask", "/geometry/height"][:self.pick(0, 0, 1, 2)] if self.grid else []
        self.section = {"inputs": inputs, "targets": targets} | ({"constants": constants} if constants else {}) | self.windows
        if self.differences:
            self.section |= {"differences": targets[1:]} if len(targets) > 1 and len(constants) != 1 else {"targets_are": "difference"}
        if self.points:
            self.section["points_are_samples"] = True
        self.axes, self.channels, self.types = {}, {}, {}
        is_alike = self.pick(True, False)  # one text of axes for all arrays
        self.alike = self.some_axes(True, False) if is_alike else None
        for name in dict.fromkeys([*inputs, *targets, *constants]):
            is_constant = name in constants
            if is_alike:
                self.axes[name] = [axis for axis in self.alike if not is_constant or axis not in ("sample", "time")]
            else:
                self.axes[name] = self.some_axes(not is_constant, name == inputs[0] and not self.grid)
                if name != inputs[0] and name not in targets:
                    self.axes[name] = self.without_some(self.axes[name])
            self.channels[name] = self.pick(1, 2, 3)
            self.types[name] = self.pick(*TYPES)

    def some_axes(self, has_time, needs_channel):
        axes = list(self.grid)
        if has_time:
            axes += ["time"] * self.has_time + ["sample"] * self.has_sample
        if needs_channel or self.pick(True, False) or not axes:
            axes.append("channel")
        return [str(axis) for axis in self.random.permutation(axes)]

    def choose_masks(self):
        """Of some arrays on the whole grid: that of an array, which lacks few points, or their own missing values."""
        on_grid = [name for name in self.axes if set(self.grid) <= set(self.axes[name]) and name not in self.section.get("constants", [])]
        self.sea, self.sea_axes, masks = None, [], {}
        for name in on_grid if self.grid and not self.points and self.pick(True, False) else []:
            has_nan = self.types[name] in ("<f8", ">f8", "<f4", ">f4") and self.fill is None
            masks[name] = self.pick(None, "/sea", "/sea", "fill" if has_nan else None)
        masks = {name: mask for name, mask in masks.items() if mask}
        if masks:
            self.section["mask"] = masks
            order = self.alike if self.alike else self.random.permutation(self.grid)
            self.sea_axes = [str(axis) for axis in order if axis in self.grid]
            self.sea = numpy.ones([self.extents[axis] for axis in self.sea_axes], "i1")
            used = self.sea[tuple(python_slice(self.section.get("slice", {}).get(axis, ":")) for axis in self.sea_axes)]
            if used.size > 1:  # what slices leave has a point of each
                used[tuple(self.random.integers(used.shape))] = 0

    def choose_missing(self):
        """Of arrays of floats, whose mask is none of missing values."""
        can = [name for name in dict.fromkeys(self.section["inputs"] + self.section["targets"]) if self.fill is None
               and self.types[name] in ("<f8", ">f8", "<f4", ">f4", "<f2") and self.section.get("mask", {}).get(name) != "fill"]
        missing = [name for name in can if self.gaps.random() < 0.7]
        if missing:
            self.section["missing"] = missing

    def is_sea(self, name):
        """/sea in the axes of an array, to be broadcast."""
        axes = self.axes[name]
        values = self.sea.transpose([self.sea_axes.index(axis) for axis in axes if axis in self.grid])
        return numpy.expand_dims(values, tuple(place for place, axis in enumerate(axes) if axis not in self.grid)).astype(bool)

    def without_some(self, axes):
        """Often without axes of the grid, along which values are then repeated."""
        lacking = [axis for axis in self.grid if self.pick(True, False)]
        return [axis for axis in axes if axis not in lacking] or axes

    def choose_slices(self):
        """Each leaves at least two points of the grid; of time, what the windows need (see `write`)."""
        slices = {}
        for axis, extent in self.extents.items():
            slices[axis] = self.pick(":", ":", "1:", "::2", ":-1", f"{-extent}:", f"0:{extent + 3}", "-2:")
        if self.has_time:
            slices["time"] = self.pick(":", ":", "2:", "::2", "1::2", ":-1", "-20:")
        if self.has_sample:
            slices["sample"] = self.pick(":", "1:", "::2")
        slices = {axis: text for axis, text in slices.items() if text != ":"}
        if slices:
            self.section["slice"] = slices

    def shape_of(self, name, levels, samples):
        extents = {**self.extents, "time": levels, "sample": samples, "channel": self.channels[name]}
        return tuple(extents[axis] for axis in self.axes[name])

    def write(self, file_name):
        window = self.section.get("history", 1) + self.section.get("ahead", 1) * self.steps
        levels = 2 * window + 3 + int(self.random.integers(0, 8))
        samples = int(self.random.integers(3, 7))
        path = self.folder / file_name
        library = self.pick("earliest", "latest", ("earliest", "v110"))
        with h5py.File(path, "w", libver=library) as file:
            for name in self.axes:
                self.write_array(file, name, self.shape_of(name, levels, samples))
            if self.sea is not None:
                file["/sea"] = self.sea
            if self.world:
                self.world.write_coordinates(self, file, levels)
        return path

    def write_array(self, file, name, shape):
        number_type, random = self.types[name], self.random
        attributes, storage = {}, self.storage_of(shape)
        if number_type == "bfloat16":
            floats = random.standard_normal(shape).astype("<f4").view("<u4")
            values, attributes["dtype"] = (floats >> 16).astype("<u2"), "bfloat16"
        elif "f" in number_type:
            values = (random.standard_normal(shape) * 10.0 ** random.integers(-2, 3)).astype(number_type)
        else:
            values = random.integers(max(-30000, numpy.iinfo(number_type).min), min(30000, numpy.iinfo(number_type).max), shape)
            values = values.astype(number_type)
            if self.pick(True, False):
                attributes["scale_factor"], attributes["add_offset"] = self.pick(0.01, 0.37), self.pick(0.0, -3.25, 100.0)
        if self.fill is not None and number_type != "bfloat16":
            missing = values.dtype.type(self.pick(9, 77))
            values[random.random(shape) < 0.05] = missing
            attributes["_FillValue"] = numpy.array(missing, dtype=values.dtype)
            if "f" in number_type:
                values[random.random(shape) < 0.02] = numpy.nan
        mask = self.section.get("mask", {}).get(name)
        if mask:
            values = numpy.where(self.is_sea(name), values, numpy.nan if mask == "fill" else 3).astype(values.dtype)
        if name in self.section.get("missing", []):
            values[self.gaps.random(shape) < 0.1] = numpy.nan
            values[self.gaps.random(shape) < 0.1] = 77
            attributes["_FillValue"] = values.dtype.type(77)
        dataset = file.create_dataset(name, data=values, **storage)
        for key, value in attributes.items():
            dataset.attrs[key] = value

    def storage_of(self, shape):
        if self.pick(True, False, False):
            return {}
        storage = {"chunks": tuple(int(self.random.integers(1, extent + 1)) for extent in shape)}
        if self.pick(True, False):
            storage["maxshape"] = tuple(self.pick(None, extent) for extent in shape)
        compression = self.pick(None, "gzip", "gzip", "szip" if SZIP else "gzip")
        if compression == "szip" and numpy.prod(storage["chunks"]) < 32:
            compression = "gzip"
        if compression:
            storage["compression"] = compression
            if compression == "gzip":
                storage["compression_opts"] = self.pick(1, 4, 9)
        if self.pick(True, False):
            storage["shuffle"] = True
        if self.pick(True, False, False):
            storage["fletcher32"] = True
        return storage

    def keys(self):
        """Of [data.arrays], as the deck has them."""
        axes = " ".join(self.alike) if self.alike else {name: " ".join(axes) for name, axes in self.axes.items()}
        if "/sea" in self.section.get("mask", {}).values() and not self.alike:
            axes["/sea"] = " ".join(self.sea_axes)
        return {**self.section, "axes": axes}


def check_layouts(check, some, every):
    """The results of check(folder, number) of `some` layouts, of `every` one by --full, or of those after --only."""
    numbers = chosen_numbers(range(some), range(every))
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda number: check(pathlib.Path(scratch), number), numbers))
