"""What more is drawn of [data.arrays] for whole trainings: coordinates with encodings, gaps in time, weights, diagnostics, and the number
of steps that a training goes through."""
import datetime

import h5py
import numpy

from array_samples import python_slice

EPOCH = datetime.datetime(1999, 6, 1)
HOURS = 6  # between stored levels
SHORTEST = 4  # levels, of a part of a file that has a gap


class RandomWorld:
    """`weights`: the section [data.weights]; `places`: coordinates of axes of the grid, by their name, in units of degrees."""

    def __init__(self, number):
        self.random = numpy.random.default_rng([46, number])
        self.steps = int(self.random.integers(1, 5))
        self.places, self.units, self.weights, self.area = {}, {}, {}, None

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def choose_arrays(self, arrays):
        """A target that is not fed back, and latitudes and longitudes of the grid."""
        section = arrays.section
        alone = [name for name in section["targets"] if name not in section["inputs"]]
        if arrays.steps > 1 and not alone and self.pick(True, False):
            section["targets"].insert(self.random.integers(len(section["targets"]) + 1), "/rain")
            arrays.axes["/rain"] = list(arrays.alike or arrays.some_axes(True, False))
            arrays.channels["/rain"], arrays.types["/rain"] = self.pick(1, 2), self.pick("<f4", "<f8", "<i2")
            if section.pop("targets_are", None):
                section["differences"] = [name for name in section["targets"] if name != "/rain"]
        for axis, unit in zip(self.random.permutation(arrays.grid), self.pick(["degrees_north", "degrees_east"], ["degrees_east"], [])):
            self.units[axis] = unit
            low, high = (-80, 80) if unit == "degrees_north" else (0, 300)
            self.places[axis] = numpy.linspace(low, high, arrays.extents[axis])[::self.pick(1, -1)]

    def choose_keys(self, arrays):
        section, grid = arrays.section, list(arrays.axes[arrays.section["inputs"][0]])
        can = ["day_of_year", "hour"] * arrays.has_time + [{"degrees_north": "latitude", "degrees_east": "longitude"}[unit] for unit in self.units.values()]
        encodings = [name for name in self.random.permutation(can) if self.pick(True, False)]
        if encodings:
            section["encodings"] = [str(name) for name in encodings]
        self.has_gaps = arrays.has_time and self.pick(True, False)
        if self.has_gaps:
            section["gaps"] = "break"
        kind = self.pick("none", "file", "file", "latitude") if arrays.grid else "none"
        if kind == "latitude" and "degrees_north" in self.units.values():
            self.weights["latitude"] = True
        elif kind != "none":
            slices = section.get("slice", {})
            extents = [len(range(arrays.extents[axis])[python_slice(slices.get(axis, ":"))]) for axis in grid if axis in arrays.grid]
            self.area = self.random.uniform(0.2, 3, extents)
            self.area.flat[0] = self.pick(0, 1)
            self.weights |= {"file": "areas.h5", "array": "/area"}
            with h5py.File(arrays.folder / "areas.h5", "w") as file:
                file["area"] = self.area
        if arrays.grid and self.pick(True, False):
            self.weights["variables"] = {name: float(self.pick(0.5, 1, 4)) for name in section["targets"]}

    def times_of(self, arrays, levels):
        """Hours since EPOCH of the stored levels, one of which is missing, if the parts on both sides have enough levels."""
        hours = int(self.random.integers(0, 9000)) + HOURS * numpy.arange(levels)
        used = range(levels)[python_slice(arrays.section.get("slice", {}).get("time", ":"))]
        if self.has_gaps and len(used) >= 2 * SHORTEST and self.pick(True, True, False):
            window = arrays.section.get("history", 1) + arrays.section.get("ahead", 1) * arrays.steps
            begin = self.random.integers(min(window, len(used) - window), len(used) - SHORTEST + 1)
            if begin >= window or len(used) - begin >= window:
                hours[used[begin]:] += 5 * HOURS * used.step
        return hours

    def write_coordinates(self, arrays, file, levels):
        scales = {"time": (self.times_of(arrays, levels), f"hours since {EPOCH}")} if arrays.has_time else {}
        scales |= {axis: (values, self.units[axis]) for axis, values in self.places.items()}
        for axis, (values, units) in scales.items():
            file[f"/of/{axis}"] = values
            file[f"/of/{axis}"].attrs["units"] = units
            file[f"/of/{axis}"].make_scale(axis)
            for name, axes in arrays.axes.items():
                if axis in axes:
                    file[name].dims[axes.index(axis)].attach_scale(file[f"/of/{axis}"])


def encoded(name, values):
    """The channels of an encoding: of hours since EPOCH, or of degrees."""
    if name == "latitude":
        return [numpy.sin(numpy.radians(values))]
    if name == "longitude":
        return [numpy.sin(numpy.radians(values)), numpy.cos(numpy.radians(values))]
    turns = []
    for hours in values:
        at = EPOCH + datetime.timedelta(hours=float(hours))
        begin, end = datetime.datetime(at.year, 1, 1), datetime.datetime(at.year + 1, 1, 1)
        turns.append((at - begin) / (end - begin) if name == "day_of_year" else at.hour / 24)
    angles = 2 * numpy.pi * numpy.array(turns)
    return [numpy.sin(angles), numpy.cos(angles)]
