"""Temperatures of an ocean with islands: files for the tutorial of masks, forcings and diagnostics.

usage: masked_ocean.py [--files N] [--first N] [--levels N] [--rows N] [--columns N] --out FOLDER

A tracer T on a band of latitudes is carried by prescribed currents, mixed, and heated towards a temperature that depends on the
latitude and on the season. The band is closed in the north and south and periodic in longitude; four islands have no water. Finite
differences upwind, which cross no coast. Each file is a year of its own. Arrays, in the conventions of NetCDF:

/sst       [time, lat, lon]   T; _FillValue on land
/u, /v     [time, lat, lon]   currents at the points; _FillValue on land
/season    [time]             sine of the day of the year
/heating   [time, lat, lon]   what the air gives to the water at each level; _FillValue on land
/sea       [lat, lon]         1 in the sea, 0 on land
"""
import argparse
import pathlib

import h5py
import numpy

FILL = numpy.float32(9.96921e36)
YEAR = 120.0        # levels
STEPS = 8           # of the solver for a level
MIXING, EXCHANGE = 0.03, 0.03


def sea_of(rows, columns):
    """Four islands: 1 in the sea."""
    y, x = numpy.meshgrid((numpy.arange(rows) + 0.5) / rows, (numpy.arange(columns) + 0.5) / columns, indexing="ij")
    islands = [(0.3, 0.2, 0.16, 0.07), (0.65, 0.35, 0.12, 0.09), (0.4, 0.62, 0.2, 0.06), (0.75, 0.85, 0.13, 0.08)]
    return numpy.all([((y - a) / h) ** 2 + ((x - b) / w) ** 2 > 1 for a, b, h, w in islands], axis=0)


def currents(time, phases, rows, columns):
    """Velocities through the eastern and northern faces of cells, from a stream function: divergence-free but for coasts."""
    y = numpy.arange(rows + 1) / rows
    x = numpy.arange(columns + 1) / columns
    stream = -0.35 * numpy.sin(numpy.pi * y)[:, None] ** 2 * numpy.ones(columns + 1)
    for number, (phase, drift) in enumerate(phases, start=1):
        stream = stream + 0.12 / number * numpy.outer(numpy.sin(numpy.pi * y) ** 2, numpy.sin(2 * numpy.pi * (number * x - drift * time) + phase))
    return numpy.diff(stream, axis=0)[:, 1:] * rows / 8, -numpy.diff(stream, axis=1)[1:, :] * columns / 8


def advance(sst, sea, east, north, target):
    """One level: each cell is carried towards what flows into it, which keeps temperatures between their extremes."""
    open_east = sea & numpy.roll(sea, -1, axis=1)
    open_north = numpy.vstack([sea[:-1] & sea[1:], numpy.zeros_like(sea[:1])])
    for _ in range(STEPS):
        gain = EXCHANGE * (target - sst)
        for axis, velocity, is_open in ((1, east, open_east), (0, north, open_north)):
            difference = (numpy.roll(sst, -1, axis=axis) - sst) * is_open  # across each cell's eastern or northern face
            gain += (numpy.maximum(-velocity, 0) + MIXING) * difference
            gain -= numpy.roll((numpy.maximum(velocity, 0) + MIXING) * difference, 1, axis=axis)
        sst = numpy.where(sea, sst + gain / STEPS, 0)
    return sst


def year(number, levels, rows, columns):
    random = numpy.random.default_rng([2026, number])
    sea = sea_of(rows, columns)
    phases = [(random.uniform(0, 2 * numpy.pi), random.uniform(-0.02, 0.02)) for _ in range(3)]
    latitude = numpy.linspace(-60, 60, rows + 1)
    latitude = (latitude[1:] + latitude[:-1]) / 2
    warmth = 25 * numpy.cos(numpy.radians(latitude))[:, None] * numpy.ones((rows, columns))
    sst = numpy.where(sea, warmth + random.normal(0, 2, (rows, columns)), 0)
    arrays = {name: [] for name in ("sst", "u", "v", "season", "heating")}
    for level in range(-20, levels):  # the first ones are forgotten
        season = numpy.sin(2 * numpy.pi * level / YEAR)
        target = warmth + 6 * season * numpy.sign(latitude)[:, None]
        east, north = currents(level, phases, rows, columns)
        if level >= 0:
            for name, values in (("sst", sst), ("u", (east + numpy.roll(east, 1, axis=1)) / 2), ("v", north), ("season", season),
                                 ("heating", EXCHANGE * (target - sst))):
                arrays[name].append(values)
        sst = advance(sst, sea, east, north, target)
    return sea, latitude, arrays


def write(path, number, levels, rows, columns):
    sea, latitude, arrays = year(number, levels, rows, columns)
    longitude = (numpy.arange(columns) + 0.5) * 360 / columns
    with h5py.File(path, "w") as file:
        for name, values, units in (("time", numpy.arange(levels) * 3.0, f"days since {2000 + number}-01-01"), ("lat", latitude, "degrees_north"),
                                    ("lon", longitude, "degrees_east")):
            file[name] = values
            file[name].attrs["units"] = units
            file[name].make_scale(name)
        for name, values in arrays.items():
            values = numpy.asarray(values, "f4")
            is_field = values.ndim == 3
            file[name] = numpy.where(sea, values, FILL) if is_field else values
            for axis, scale in enumerate(("time", "lat", "lon")[:values.ndim]):
                file[name].dims[axis].attach_scale(file[scale])
            if is_field:
                file[name].attrs["_FillValue"] = FILL
        file["sea"] = sea.astype("i1")
        for axis, scale in enumerate(("lat", "lon")):
            file["sea"].dims[axis].attach_scale(file[scale])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("files", 10), ("first", 0), ("levels", 120), ("rows", 24), ("columns", 48)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for number in range(given.first, given.first + given.files):
        write(given.out / f"year{number:02d}.h5", number, given.levels, given.rows, given.columns)


if __name__ == "__main__":
    main()
