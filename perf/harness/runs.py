"""What a run of `mylos train` leaves in its folder, and data for runs in which only the time counts."""

import array
import csv
import random
import statistics

STEPS_ONLY = ["run.evaluate_every=1000000", "checkpoint.every=1000000"]  # overrides: one evaluation and one checkpoint, at the end


def rows_of(run, name="history.csv"):
    """The rows of a CSV file of the run's folder, each by its columns' names, as texts."""
    with (run / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def samples_per_s(run):
    """The median rate over the second half of the logged steps."""
    rows = rows_of(run)
    return statistics.median(float(row["samples_per_s"]) for row in rows[len(rows) // 2:])


def write_random_tokens(path, vocabulary, count):
    """A file for `mylos prepare tokens`."""
    words = array.array("H", random.Random(2).randbytes(2 * count))
    path.write_bytes(array.array("H", (word % vocabulary for word in words)).tobytes())


def idx_bytes(shape, values):
    """A file of bytes for `mylos prepare idx`: numbers of the header are big-endian."""
    return bytes([0, 0, 8, len(shape)]) + b"".join(extent.to_bytes(4, "big") for extent in shape) + values
