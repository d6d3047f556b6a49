#!/usr/bin/python3
"""Reads windows of many files by Mylos and by h5py, interleaved: cold, warm, contiguous and with gzip.

usage: reading_study.py READ_BENCH [--folder FOLDER] [--files 64] [--size "8 GiB"] [--rounds 5]
READ_BENCH: the program read_bench of a build. Both read the same windows in the same order into float32. Cold: the files' pages
are dropped from the system's cache before (posix_fadvise), which needs no privileges.
"""
import os
import pathlib
import statistics
import time

import h5py
import numpy

from decks import deck_text, layer
import harness

SIDE, LEVELS_OF_CHUNK = 256, 4


def deck_of(name):
    """One sample is a window of levels, the next begins after it."""
    return deck_text(run={"name": "reading", "steps": 1}, data={"train": f"{name}-*.h5", "batch": 4, "shuffle": "blocks"},
                     data__arrays={"inputs": ["/u"], "targets": ["/u"], "axes": "time y x", "every": LEVELS_OF_CHUNK,
                                   "history": LEVELS_OF_CHUNK - 1},
                     model={"type": "chain", "loss": "mse"}, layers=[layer("conv", outputs=1)])


def parse_size(text):
    number, unit = text.split()
    return int(float(number) * {"MiB": 2 ** 20, "GiB": 2 ** 30}[unit])


def write_files(folder, name, files, levels, **storage):
    """Smooth fields with some noise, in double, so that gzip has something to do."""
    paths = [folder / f"{name}-{number:02d}.h5" for number in range(files)]
    y, x = numpy.mgrid[0:SIDE, 0:SIDE] * (2 * numpy.pi / SIDE)
    random = numpy.random.default_rng(1)
    for number, path in enumerate(paths):
        if path.exists():
            continue
        with h5py.File(path, "w") as file:
            field = file.create_dataset("u", (levels, SIDE, SIDE), "f8", **storage)
            for first in range(0, levels, LEVELS_OF_CHUNK):
                times = numpy.arange(first, min(first + LEVELS_OF_CHUNK, levels))[:, None, None]
                smooth = numpy.sin(3 * x + 0.1 * times + number) * numpy.cos(2 * y - 0.05 * times)
                noise = numpy.round(random.standard_normal(smooth.shape), 2)
                field[first:first + len(times)] = numpy.round(smooth, 4) + 0.01 * noise
        print(f"wrote {path}", flush=True)
    return paths


def drop_from_cache(paths):
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def seconds_of_h5py(paths, window):
    """Windows of `window` levels, a file after the other, converted to float32 as samples are."""
    begin, total = time.perf_counter(), 0
    for path in paths:
        with h5py.File(path) as file:
            field = file["u"]
            for first in range(0, field.shape[0] - window + 1, window):
                total += field[first:first + window].astype(numpy.float32).size
    return time.perf_counter() - begin, total


def seconds_of_mylos(bench, folder, deck):
    seconds, values = harness.output_of([bench, deck], cwd=folder).split()[:2]
    return float(seconds), int(values)


def times_of(bench, folder, name, paths, is_cold, rounds):
    """{reader: [seconds of each round]}, and the number of values that both read."""
    readers = {"h5py": lambda: seconds_of_h5py(paths, LEVELS_OF_CHUNK),
               "mylos": lambda: seconds_of_mylos(bench, folder, f"{name}.toml")}
    before = (lambda: drop_from_cache(paths)) if is_cold else (lambda: None)
    found = harness.interleaved(rounds + 1, readers, before_turn=before)
    counts = {count for results in found.values() for _, count in results}
    assert len(counts) == 1, f"other numbers of values: {counts}"
    first = 0 if is_cold else 1  # a warm round fills the cache
    return {reader: [seconds for seconds, _ in results[first:]] for reader, results in found.items()}, counts.pop()


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("bench", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("reading-data"))
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--size", default="8 GiB", help="of the uncompressed numbers")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    window = LEVELS_OF_CHUNK
    levels = parse_size(arguments.size) // (arguments.files * SIDE * SIDE * 8) // window * window
    print(f"{arguments.files} files of {levels} levels of {SIDE} x {SIDE} in double, windows of {window} levels; time of h5py / time of Mylos")
    kinds = {"contiguous": {}, "chunks": {"chunks": (LEVELS_OF_CHUNK, SIDE, SIDE)},
             "gzip": {"chunks": (LEVELS_OF_CHUNK, SIDE, SIDE), "compression": "gzip", "compression_opts": 4, "shuffle": True}}
    for name, storage in kinds.items():
        paths = write_files(folder, name, arguments.files, levels, **storage)
        (folder / f"{name}.toml").write_text(deck_of(name), encoding="utf-8")
        for state in ("cold", "warm"):
            times, count = times_of(arguments.bench, folder, name, paths, state == "cold", arguments.rounds)
            gains = harness.ratios(times["h5py"], times["mylos"])
            rate = statistics.median(8 * count / 2 ** 20 / seconds for seconds in times["mylos"])
            print(f"{name:<12}{state:<6}{statistics.median(gains):6.2f}  ({min(gains):.2f} to {max(gains):.2f}), "
                  f"Mylos reads {rate:.0f} MiB/s", flush=True)


if __name__ == "__main__":
    main()
