"""What the generators of pairs for neural operators share: their options, random numbers and files.

A file holds pairs of functions on one grid: arrays [sample, x] or [sample, y, x] in float64, and the coordinates of the points as
scales of their axes (as NetCDF-4 has them). Pair n depends only on the seed, n and the settings, so parts of a set can be made
separately.
"""
import argparse
import pathlib

import h5py
import numpy


def parser_of(description, *, samples, points):
    """The options of every generator, with the defaults of one equation."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--out", type=pathlib.Path, required=True, help="the file")
    add("--samples", type=int, default=samples, help="number of pairs")
    add("--first", type=int, default=0, help="number of the first one: other numbers are other functions")
    add("--seed", type=int, default=1, help="key of all random numbers")
    add("--points", type=int, default=points, help="points along each axis")
    return parser


def generators(settings, begin, count):
    """The random numbers of `count` pairs from number `begin` of the file on."""
    return [numpy.random.default_rng([settings.seed, settings.first + begin + number]) for number in range(count)]


def write_pairs(settings, axes, coordinates, pairs_of, *, batch):
    """Writes the file; `pairs_of(randoms, settings)` computes arrays by name for the samples with these random numbers, of which
    there are at most `batch`."""
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(settings.out, "w") as file:
        for option, value in vars(settings).items():
            if option != "out":
                file.attrs[option] = value
        for axis in axes:
            file[axis] = coordinates
            file[axis].make_scale(axis)
        for begin in range(0, settings.samples, batch):
            count = min(batch, settings.samples - begin)
            for name, values in pairs_of(generators(settings, begin, count), settings).items():
                if begin == 0:
                    dataset = file.create_dataset(name, (settings.samples, *values.shape[1:]), numpy.float64)
                    for dimension, axis in zip(list(dataset.dims)[1:], axes):
                        dimension.attach_scale(file[axis])
                file[name][begin:begin + count] = values
    print(settings.out)
