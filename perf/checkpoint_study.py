#!/usr/bin/python3
"""Measures the cost of checkpoints in a run, and the speed of writing a large one.

Runs of inputs/fashion_mlp.toml with a checkpoint every 100 and every 500 steps are interleaved with runs without
checkpoints; the times of the same 1000 steps are compared within a round. "Stalled" is the time that the run reports its steps
waited. Then one large state is written between steps (nothing else computes), and compared with a `dd` of the same size with
fsync.

  perf/checkpoint_study.py --data FOLDER [--mylos build/host/bin/mylos] [--rounds 5] [--threads 2] [--disk FOLDER]

FOLDER contains fashion_train.h5 of inputs/fashion_mlp.toml; --disk is the folder of the runs (default: the same).
"""
import pathlib
import re
import shutil
import statistics
import tempfile
import time

import harness
from harness.runs import rows_of

BARS = {100: 1.04, 500: 1.01}
STALLED_BAR = 0.5  # percent
LARGE = ["model.hidden=[8192, 8192]", "run.steps=2", "schedule.warmup=0", "checkpoint.every=1", "checkpoint.background=false"]
LARGE_BAR = 0.5  # of dd's speed


def run(arguments, folder, *overrides):
    line = [arguments.mylos, "train", harness.ROOT / "inputs" / "fashion_mlp.toml",
            f"data.train={arguments.data / 'fashion_train.h5'}", f"data.test={arguments.data / 'fashion_test.h5'}",
            f"run.folder={folder}", "run.log_every=100", "run.evaluate_every=1000000", *overrides]
    return harness.output_of(line, env=harness.environment(arguments.threads))


def seconds_of_1000_steps(arguments, every, first, stalled):
    """Measures from the progress line of step `first` on; the first checkpoint begins after it."""
    with tempfile.TemporaryDirectory(dir=arguments.disk) as folder:
        text = run(arguments, f"{folder}/run", f"run.steps={first + 1001}", f"checkpoint.every={every}")
        elapsed = {int(row["step"]): float(row["elapsed_s"]) for row in rows_of(pathlib.Path(folder) / "run")}
    if every:
        stalled.append(float(re.search(r"; they [a-z ]+ for [\d.]+ s \(([\d.e-]+) % of the time\)", text)[1]))
    return elapsed[first + 1000] - elapsed[first]


def measure_cost(arguments):
    quiet = harness.Quiet(arguments.patience)
    for every, bar in BARS.items():
        stalled = []
        times = harness.measured(arguments.rounds, {
            "with": lambda every=every, stalled=stalled: seconds_of_1000_steps(arguments, every, every, stalled),
            "without": lambda every=every: seconds_of_1000_steps(arguments, 0, every, [])}, quiet, "s")
        harness.print_ratio(f"1000 steps, a checkpoint every {every} / none", times["with"], times["without"], bar)
        print(f"  stalled, % of the run's time: {min(stalled):.2f} .. {max(stalled):.2f}   bar {STALLED_BAR}")


def dd(folder, mebibytes):
    target = pathlib.Path(folder) / "dd"
    start = time.monotonic()
    harness.finished(["dd", "if=/dev/zero", f"of={target}", "bs=4M", f"count={mebibytes // 4}", "conv=fsync"])
    seconds = time.monotonic() - start
    target.unlink()
    return mebibytes / seconds


def measure_speed(arguments):
    shares = []
    for turn in range(1, 4):
        with tempfile.TemporaryDirectory(dir=arguments.disk) as folder:
            text = run(arguments, f"{folder}/run", *LARGE)
            value, unit = re.search(r"^checkpoint \S+ \(([\d.]+) (\w+)\)", text, re.M).groups()
            size = float(value) * {"MiB": 1, "GiB": 1024}[unit]
            seconds = float(re.search(r"; they [a-z ]+ for ([\d.]+) s", text)[1])
            shutil.rmtree(f"{folder}/run")
            ours, theirs = size / seconds, dd(folder, int(size))
        shares.append(ours / theirs)
        print(f"turn {turn}: {size:.0f} MiB at {ours:.0f} MiB/s, dd at {theirs:.0f} MiB/s", flush=True)
    is_met = statistics.median(shares) >= LARGE_BAR
    print(f"  {'speed of a large checkpoint / dd with fsync':48} {harness.spread(shares)}   bar {LARGE_BAR}: {harness.met(is_met)}")


def main():
    parser = harness.parser_of(__doc__)
    harness.add_mylos_option(parser)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--disk", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    harness.add_turn_options(parser, patience_s=1)
    arguments = parser.parse_args()
    arguments.disk = arguments.disk or arguments.data
    measure_cost(arguments)
    measure_speed(arguments)


if __name__ == "__main__":
    main()
