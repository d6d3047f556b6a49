#!/usr/bin/python3
"""How long a training on reanalysis-like files takes until its first step, compared with one pass of h5py over the same numbers.

Three yearly files by day on a crop of a grid of 0.25 degrees, with five variables and two forcings in float32: once stored one after
the other, once in chunks of a level with shuffle and deflate, as ERA5's NetCDF-4 files are. Interleaved, with warm caches: one pass of
h5py over all numbers; `mylos data`, which also takes statistics and digests and measures its own reading for half a second; and
`mylos train` until its first step. Whoever stores statistics (data.statistics) has that pass once: "again" is a start that finds them.

usage: era5_like.py [--mylos build/host/bin/mylos] [--folder FOLDER] [--days 365] [--rounds 3] [--threads 2] [--patience 5]
"""
import pathlib
import shutil
import statistics
import subprocess
import time

import h5py
import numpy

import harness
from decks import deck_text, layer

YEARS, LATITUDES, LONGITUDES, STEP = (2016, 2017, 2018), 120, 160, 0.25
VARIABLES, FORCINGS = ["/t2m", "/msl", "/u10", "/v10", "/z500"], ["/sst", "/tisr"]
STORAGES = {"contiguous": {}, "deflate": {"chunks": (1, LATITUDES, LONGITUDES), "compression": "gzip", "compression_opts": 4, "shuffle": True}}
FIRST_STEP = "step "  # how the progress line begins


def deck_of(name):
    return deck_text(run={"name": name, "steps": 1, "log_every": 1}, data={"train": f"{name}-*.nc", "batch": 4, "normalize": "channel", "shuffle": "blocks"},
                     data__arrays={"inputs": VARIABLES + FORCINGS, "targets": VARIABLES, "axes": "time lat lon",
                                   "encodings": ["day_of_year", "latitude"]},
                     data__weights={"latitude": True}, model={"type": "chain", "loss": "mse"},
                     layers=[layer("conv", outputs=len(VARIABLES), kernel=3)])


def write_files(folder, name, days, **storage):
    """Smooth fields with noise, rounded as a packed original is, so that deflate has something to do."""
    paths = [folder / f"{name}-{year}.nc" for year in YEARS]
    coordinates = {"lat": (60 - STEP * numpy.arange(LATITUDES), "degrees_north"), "lon": (STEP * numpy.arange(LONGITUDES), "degrees_east")}
    y, x = numpy.mgrid[0:LATITUDES, 0:LONGITUDES] * 0.05
    random = numpy.random.default_rng(1)
    for year, path in zip(YEARS, paths):
        if path.exists():
            continue
        with h5py.File(path, "w") as file:
            scales = {"time": (numpy.arange(days, dtype="f8"), f"days since {year}-01-01"), **coordinates}
            for axis, (values, units) in scales.items():
                file[axis] = values
                file[axis].attrs["units"] = units
                file[axis].make_scale(axis)
            for number, variable in enumerate(VARIABLES + FORCINGS):
                field = file.create_dataset(variable, (days, LATITUDES, LONGITUDES), "f4", **storage)
                for day in range(days):
                    smooth = numpy.sin(x + 0.1 * day + number) * numpy.cos(y - 0.05 * day)
                    field[day] = numpy.round(280 + 10 * smooth + 0.1 * random.standard_normal(smooth.shape), 2)
                for place, axis in enumerate(scales):
                    field.dims[place].attach_scale(file[axis])
        print(f"wrote {path}", flush=True)
    return paths


def seconds_of_h5py(paths):
    """All numbers, a level of each variable after the other, as float32."""
    begin = time.perf_counter()
    for path in paths:
        with h5py.File(path) as file:
            level = numpy.empty((LATITUDES, LONGITUDES), "f4")
            for variable in VARIABLES + FORCINGS:
                field = file[variable]
                for day in range(field.shape[0]):
                    field.read_direct(level, numpy.s_[day])
    return time.perf_counter() - begin


def seconds_of_data(arguments, name):
    begin = time.perf_counter()
    harness.finished([arguments.mylos, "data", f"{name}.toml"], cwd=arguments.folder, env=harness.environment(arguments.threads))
    return time.perf_counter() - begin


def seconds_to_first_step(arguments, name, *overrides):
    shutil.rmtree(arguments.folder / "runs", ignore_errors=True)
    begin = time.perf_counter()
    line = [str(arguments.mylos), "train", f"{name}.toml", *overrides]
    with subprocess.Popen(line, cwd=arguments.folder, env=harness.environment(arguments.threads), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as run:
        said = []
        for text in run.stdout:
            said.append(text)
            if text.startswith(FIRST_STEP):
                seconds = time.perf_counter() - begin
                run.communicate()
                return seconds
    raise SystemExit("".join(said))


def main():
    parser = harness.parser_of(__doc__)
    harness.add_mylos_option(parser)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("era5-like-data"))
    parser.add_argument("--days", type=int, default=365, help="of each file")
    parser.add_argument("--rounds", type=int, default=3)
    harness.add_turn_options(parser)
    arguments = parser.parse_args()
    arguments.mylos, arguments.folder = pathlib.Path(arguments.mylos).resolve(), arguments.folder.resolve()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    quiet = harness.Quiet(arguments.patience)
    print(f"{len(YEARS)} files of {arguments.days} days, {len(VARIABLES)} variables and {len(FORCINGS)} forcings on {LATITUDES} x {LONGITUDES}: "
          f"{len(YEARS) * arguments.days * 7 * LATITUDES * LONGITUDES * 4 / 2 ** 20:.0f} MiB")
    for name, storage in STORAGES.items():
        paths = write_files(arguments.folder, name, arguments.days, **storage)
        (arguments.folder / f"{name}.toml").write_text(deck_of(name), encoding="utf-8")
        stored = arguments.folder / f"{name}.statistics.h5"
        stored.unlink(missing_ok=True)
        seconds_of_h5py(paths)  # fills the cache
        seconds_to_first_step(arguments, name, f"data.statistics={stored}")
        times = harness.measured(arguments.rounds, {
            "h5py": lambda paths=paths: seconds_of_h5py(paths),
            "mylos data": lambda name=name: seconds_of_data(arguments, name),
            "mylos train": lambda name=name: seconds_to_first_step(arguments, name),
            "again": lambda name=name, stored=stored: seconds_to_first_step(arguments, name, f"data.statistics={stored}")}, quiet, "s")
        mebibytes = sum(path.stat().st_size for path in paths) / 2 ** 20
        print(f"{name}, {mebibytes:.0f} MiB stored: h5py {statistics.median(times['h5py']):.2f} s; of that time")
        for job in ("mylos data", "mylos train", "again"):
            parts = harness.ratios(times[job], times["h5py"])
            print(f"  {job:<12}{statistics.median(parts):6.2f}  ({min(parts):.2f} to {max(parts):.2f})", flush=True)
    quiet.report()


if __name__ == "__main__":
    main()
