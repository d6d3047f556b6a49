"""What [data.arrays] makes of files, written with h5py and numpy alone: docs/how-to/data.md."""
import h5py
import numpy


def stored_numbers(dataset, fill):
    """The array's numbers in float64, by the attributes of NetCDF's conventions; `fill` takes the place of missing ones."""
    raw, attributes = dataset[()], dataset.attrs
    if attributes.get("dtype") in ("bfloat16", b"bfloat16"):
        values = (raw.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    else:
        values = raw.astype(numpy.float64)
    missing = numpy.isnan(values)
    if "_FillValue" in attributes:
        missing |= raw == attributes["_FillValue"]
    values = values * float(attributes.get("scale_factor", 1)) + float(attributes.get("add_offset", 0))
    assert fill is not None or not missing.any()
    return numpy.where(missing, 0.0 if fill is None else fill, values)


def python_slice(text):
    return slice(*(int(part) if part else None for part in text.split(":")))


class Arrays:
    """A section [data.arrays] as a dictionary of its keys; `axes` maps each array to the names of its axes."""

    def __init__(self, section, axes, fill=None, steps=1, sea_axes=()):
        self.section, self.axes, self.fill, self.steps = section, axes, fill, steps
        self.history, self.ahead, self.every = (section.get(key, 1) for key in ("history", "ahead", "every"))
        self.inputs, self.targets, self.constants = (section.get(key, []) for key in ("inputs", "targets", "constants"))
        self.sea_axes = list(sea_axes)
        self.grid = [axis for axis in axes[self.inputs[0]] if axis not in ("sample", "time", "channel")]
        self.forcings = [name for name in self.inputs if name not in self.targets]
        self.has_time = any("time" in axes[name] for name in self.inputs)

    def samples_of(self, paths):
        """Inputs [samples, features] and targets [samples, outputs] in float32, of all files in their order."""
        pairs = [pair for path in paths for pair in self.samples_of_file(path)]
        inputs, targets = (numpy.stack([pair[i].ravel() for pair in pairs]).astype(numpy.float32) for i in (0, 1))
        return numpy.where(numpy.isnan(inputs), numpy.float32(0), inputs), targets

    def samples_of_file(self, path):
        with h5py.File(path) as file:
            values = self.all_arranged(file)
        first = values[self.inputs[0]]
        constants = [values[name][0, 0] for name in self.constants]
        furthest = self.history - 1 + (self.ahead * self.steps if self.has_time and self.targets else 0)
        for sample in range(first.shape[0]):
            for begin in range(0, first.shape[1] - furthest, self.every):
                pair = self.window({name: array[sample] for name, array in values.items() if name not in self.constants}, begin, constants)
                yield from self.points_of(pair) if self.section.get("points_are_samples") else [pair]

    def all_arranged(self, file):
        """By name, each on the grid of the first input: along axes that an array lacks its values are repeated."""
        values = {name: self.arranged(file[name], self.axes[name], self.fill_of(name)) for name in dict.fromkeys([*self.inputs, *self.targets, *self.constants])}
        for name, mask in self.section.get("mask", {}).items():
            if mask == "/sea" and name in values:
                values[name] = numpy.where(self.arranged(file["/sea"], self.sea_axes, None) != 0, values[name], 0.0)
        grid = values[self.inputs[0]].shape[2:-1]
        return {name: numpy.broadcast_to(array, (*array.shape[:2], *grid, array.shape[-1])) for name, array in values.items()}

    def fill_of(self, name):
        """What is read where a value is missing: 0 if these are the mask, NaN if they may be missing."""
        if name in self.section.get("missing", []):
            return numpy.nan
        return 0.0 if self.section.get("mask", {}).get(name) == "fill" else self.fill

    def arranged(self, dataset, axes, fill):
        """[sample, time, grid ..., channel], the parts that the slices leave; an axis that is not there has one index."""
        slices = self.section.get("slice", {})
        values = stored_numbers(dataset, fill)[tuple(python_slice(slices.get(axis, ":")) for axis in axes)]
        order = ["sample", "time", *self.grid, "channel"]
        values = values.transpose([axes.index(axis) for axis in order if axis in axes])
        return numpy.expand_dims(values, tuple(place for place, axis in enumerate(order) if axis not in axes))

    def window(self, values, begin, constants):
        newest = begin + self.history - 1
        levels = [values[name][level] for level in range(begin, newest + 1) for name in self.inputs]
        later = [values[name][newest + self.ahead * step] for step in range(1, self.steps) for name in self.forcings]
        inputs = numpy.concatenate([*levels, *constants, *later], axis=-1)
        if not self.targets:
            return inputs, numpy.zeros(0)
        targets = []
        for step in range(1, self.steps + 1):
            before = newest + self.ahead * (step - 1)
            for name in self.targets:
                there = values[name][newest + self.ahead * step if self.has_time else 0]
                targets.append(there - values[name][before] if self.is_difference(name) else there)
        return inputs, numpy.concatenate(targets, axis=-1)

    def is_difference(self, name):
        return self.section.get("targets_are") == "difference" or name in self.section.get("differences", [])

    def points_of(self, pair):
        inputs, targets = (values.reshape(-1, values.shape[-1]) for values in pair)
        return zip(inputs, targets)
