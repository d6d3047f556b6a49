"""What the generators of trajectories share: their options, random numbers and files.

A file holds one trajectory: arrays [time, x] or [time, y, x] in float64, and the coordinates `time`, `x`, `y` as scales of their
axes (as NetCDF-4 has them). Trajectory n depends only on the seed, n and the settings, so parts of a set can be made separately.
"""
import argparse
import pathlib

import h5py
import numpy


def parser_of(description, *, points, levels, interval, length, dimensions=1):
    """The options of every generator, with the defaults of one equation."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--out", type=pathlib.Path, required=True, help="folder of the files NAME-000.h5, NAME-001.h5 ...")
    add("--trajectories", type=int, default=16, help="number of files")
    add("--first", type=int, default=0, help="number of the first one: other numbers are other initial states")
    add("--seed", type=int, default=1, help="key of all random numbers")
    add("--points", type=int, default=points, help="points along each axis" if dimensions > 1 else "points of the grid")
    add("--length", type=float, default=length, help="length of the periodic domain along each axis")
    add("--levels", type=int, default=levels, help="time levels in a file, the initial state included")
    add("--interval", type=float, default=interval, help="time from one level to the next")
    add("--gzip", type=int, choices=range(10), help="compress, a chunk per level; without it the arrays are contiguous")
    parser.set_defaults(dimensions=dimensions)
    return parser


def substeps(interval, longest):
    """Number and length of the equal steps from one level to the next that are no longer than `longest`."""
    count = max(1, int(numpy.ceil(interval / longest - 1e-9)))
    return count, interval / count


def integrate(stepper, spectrum, levels, count):
    """Yields `levels` spectra, `count` steps apart; the first is the given one."""
    for level in range(levels):
        if level > 0:
            for _ in range(count):
                spectrum = stepper.step(spectrum)
        if not numpy.isfinite(spectrum).all():
            raise SystemExit(f"level {level} is not finite: the steps are too long for this viscosity or these points")
        yield spectrum


def write_trajectories(name, settings, fields_of):
    """Writes a file for each trajectory; `fields_of(random, settings)` computes its arrays by name."""
    settings.out.mkdir(parents=True, exist_ok=True)
    for number in range(settings.first, settings.first + settings.trajectories):
        fields = fields_of(numpy.random.default_rng([settings.seed, number]), settings)
        path = settings.out / f"{name}-{number:03d}.h5"
        write_trajectory(path, fields, settings)
        print(path)


def write_trajectory(path, fields, settings):
    with h5py.File(path, "w") as file:
        for option, value in vars(settings).items():
            if value is not None and option != "out":
                file.attrs[option] = value
        axes = ("time", "x") if settings.dimensions == 1 else ("time", "y", "x")
        for axis in axes:
            count, spacing = settings.points, settings.length / settings.points
            if axis == "time":
                count, spacing = settings.levels, settings.interval
            file[axis] = spacing * numpy.arange(count)
            file[axis].make_scale(axis)
        for name, values in fields.items():
            storage = {}
            if settings.gzip is not None:
                storage = {"chunks": (1, *values.shape[1:]), "compression": settings.gzip, "shuffle": True}
            dataset = file.create_dataset(name, data=values, **storage)
            for dimension, axis in zip(dataset.dims, axes):
                dimension.attach_scale(file[axis])
