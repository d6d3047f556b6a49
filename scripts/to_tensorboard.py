"""Writes the numbers of runs as event files for TensorBoard. scripts/to-tensorboard starts it.

Every number of history.csv becomes a scalar of its column's name. Of evaluations.csv, the parts of the data become runs of
their own (RUN/validation, RUN/test, RUN/train), so that they share a chart; of health.csv, column/layer/parameter is the name.
"""
import argparse
import csv
import pathlib
import sys

from tensorboard.summary import Writer

TABLES = ("history.csv", "evaluations.csv", "health.csv")
KEYS = ("step", "epoch", "part", "parameter", "elapsed_s")  # coordinates, not curves


def rows_of(path):
    """Reads the rows, and the time of day at which the run's clock was 0. Skips an incomplete last row."""
    text = path.read_text(encoding="utf-8")
    rows = list(csv.DictReader(text[:text.rfind("\n") + 1].splitlines()))
    last = float(rows[-1].get("elapsed_s") or 0) if rows else 0
    return rows, path.stat().st_mtime - last


def number_of(text):
    try:
        return float(text)
    except (TypeError, ValueError):  # an empty field: not measured
        return None


def place_of(table, row):
    """The folder below the run's, and the suffix of a column's name."""
    if table == "evaluations.csv":
        return row["part"], ""
    return ".", f"/{row['parameter']}" if "parameter" in row else ""


class Times:
    """The time of day by step, because health.csv has no times."""

    def __init__(self):
        self.of_step = {}

    def of(self, row, start):
        elapsed = number_of(row.get("elapsed_s"))
        if elapsed is not None:
            self.of_step[row["step"]] = start + elapsed
        return self.of_step.get(row["step"])


def write_run(run, out):
    """Writes a run and returns the count of numbers."""
    writers, times, count = {}, Times(), 0
    try:
        for table in TABLES:
            if not (run / table).exists():
                continue
            rows, start = rows_of(run / table)
            for row in rows:
                folder, suffix = place_of(table, row)
                if folder not in writers:
                    (out / folder).mkdir(parents=True, exist_ok=True)
                    for old in (out / folder).glob("events.out.tfevents.*"):  # of an earlier call; otherwise curves would be drawn twice
                        old.unlink()
                    writers[folder] = Writer(str(out / folder))
                time = times.of(row, start)
                for column, text in row.items():
                    value = None if column in KEYS else number_of(text)
                    if value is None:
                        continue
                    name = f"{'evaluation/' if table == 'evaluations.csv' else ''}{column}{suffix}"
                    writers[folder].add_scalar(name, value, int(row["step"]), wall_time=time)
                    count += 1
    finally:
        for writer in writers.values():
            writer.close()
    return count


def names_of(runs):
    """Folders below the output: the names of the runs' folders, with as many parent folders as needed to make them unique."""
    for length in range(1, max(len(run.parts) for run in runs) + 1):
        names = ["/".join(part for part in run.parts[-length:] if part != run.anchor) for run in runs]
        if len(set(names)) == len(runs):
            return names
    sys.exit("to-tensorboard: a run is named twice")


def main():
    parser = argparse.ArgumentParser(prog="scripts/to-tensorboard", description="Runs as event files for TensorBoard.")
    parser.add_argument("runs", nargs="+", metavar="RUN", type=pathlib.Path, help="a run's folder")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tensorboard"), help="default: tensorboard")
    arguments = parser.parse_args()
    runs = [run.resolve() for run in arguments.runs]
    for given, run in zip(arguments.runs, runs):
        if not (run / TABLES[0]).is_file():
            sys.exit(f"to-tensorboard: {given}: is not a run's folder: it has no {TABLES[0]}")
    for name, run in zip(names_of(runs), runs):
        count = write_run(run, arguments.out / name)
        print(f"{arguments.out / name}: {count} numbers")
    print(f"to view: {pathlib.Path(sys.prefix) / 'bin/tensorboard'} --logdir {arguments.out}")


if __name__ == "__main__":
    main()
