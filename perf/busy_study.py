#!/usr/bin/python3
"""Measures the time of a step alone, and with one busy process on each core.

Trains an MLP, a GPT and a residual network with the mylos command, in three types, on all cores. Every turn is a
separate start. With --older the two commands are interleaved, and so are alone and busy. A turn ends after --seconds of steps,
or with the first step if that takes twice as long. Alone, the result is the median step after the first; busy, their mean.

  perf/busy_study.py --older PATH       compares with the command of an older build: 36 turns, about 5 minutes
  perf/busy_study.py --older PATH --loads alone --rounds 3
  perf/busy_study.py --networks mlp --types fp32 --variable GOMP_SPINCOUNT=3000
"""

import functools
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy

from decks import deck_text
import harness
from harness import tables
from harness.runs import rows_of

BARS = {"new, busy / alone": 3.0, "alone, new / old": 1.01}
# The longest time to the end of the first step.
MAX_S = 90
# Samples of a step, the data, their grid, and the network.
MODELS = {
    "mlp": (512, "samples.h5", None, {"type": "mlp", "hidden": [2048, 2048]}),
    "gpt": (8, "tokens.h5", None, {"type": "gpt", "layers": 4, "heads": 4, "width": 256, "context": 256}),
    "residual": (64, "grids.h5", [32, 32, 3], {"type": "resnet", "channels": [32, 64, 128], "blocks": 3}),
}


def deck_of(network, compute):
    batch, data, shape, model = MODELS[network]
    return deck_text(run={"name": network, "steps": 1000000, "log_every": 1, "evaluate_every": 0},
                     data={"train": data, "batch": batch, "shape": shape}, checkpoint={"every": 0}, precision={"compute": compute},
                     optimizer={"lr": 1e-4}, model=model)


def write_data(folder):
    source = numpy.random.default_rng(1)
    with h5py.File(folder / "samples.h5", "w") as file:
        file.attrs["classes"] = 10
        file["inputs"] = source.standard_normal((2048, 784)).astype("f4")
        file["labels"] = source.integers(0, 10, 2048).astype("i4")
    with h5py.File(folder / "grids.h5", "w") as file:
        file.attrs["classes"] = 10
        file["inputs"] = source.standard_normal((512, 32 * 32 * 3)).astype("f4")
        file["labels"] = source.integers(0, 10, 512).astype("i4")
    (folder / "text.txt").write_bytes(bytes(source.integers(32, 127, 200_000, dtype="u1")))


def busy_processes(count):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]


def ends_of_steps(run):
    """The end times of all steps so far, in seconds since the first step began. The last line may be incomplete."""
    try:
        return [float(row["elapsed_s"]) for row in rows_of(run) if None not in row.values()]
    except (OSError, ValueError):
        return []


def turn(command, folder, deck, is_busy, arguments):
    """Milliseconds per step."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    line = [command, "train", folder / deck, "run.folder=run"]
    others = busy_processes(arguments.busy) if is_busy else []
    with subprocess.Popen(line, cwd=folder, env=environment(arguments), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as run:
        try:
            ends, began = [], time.monotonic()
            while not ends or ends[0] < 2 * arguments.seconds and ends[-1] - ends[0] < arguments.seconds:
                if run.poll() is not None or time.monotonic() - began > MAX_S + arguments.seconds:
                    raise SystemExit(f"{command} on {deck}: code {run.poll()}\n{run.stderr.read() if run.poll() is not None else ''}")
                time.sleep(0.05)
                ends = ends_of_steps(folder / "run")
        finally:
            for process in [run, *others]:
                process.kill()
                process.wait()
    steps = [after - before for before, after in zip(ends, ends[1:])] or ends
    return 1e3 * (statistics.mean(steps) if is_busy else statistics.median(steps))


def environment(arguments):
    result = harness.environment(arguments.threads)
    for name in ("GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        result.pop(name, None)
    return result | dict(setting.split("=", 1) for setting in arguments.variable)


def print_table(results, arguments):
    """Prints a row for each network and type, and whether the bars are met."""
    median = {name: statistics.median(values) for name, values in results.items()}
    whose = ["old", "new"] if arguments.older else ["new"]
    both = len(arguments.loads) == 2
    columns = [f"{who}, {load}" for who in whose for load in arguments.loads]
    columns += [f"{who}, busy / alone" for who in whose if both]
    columns += [f"{load}, new / old" for load in arguments.loads if arguments.older]
    print("\nms per step\n\n" + tables.head(["network", "type", *columns]))
    worst = {}
    for network in arguments.networks:
        for kind in arguments.types:
            at = {(who, load): median[network, kind, who, load] for who in whose for load in arguments.loads}
            ratios = {f"{who}, busy / alone": at[who, "busy"] / at[who, "alone"] for who in whose if both}
            ratios |= {f"{load}, new / old": at["new", load] / at["old", load] for load in arguments.loads if arguments.older}
            for name, ratio in ratios.items():
                worst[name] = max(ratio, worst.get(name, 0))
            cells = [f"{value:.1f}" for value in at.values()] + [f"{ratio:.3f}" for ratio in ratios.values()]
            print(tables.row([network, kind, *cells]))
    print()
    for name, bar in BARS.items():
        if name in worst:
            print(f"  largest {name}: {worst[name]:.3f}   bar {bar}: {harness.met(worst[name] <= bar)}")


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("--command", type=pathlib.Path, default=harness.MYLOS)
    parser.add_argument("--older", type=pathlib.Path, help="the command of an older build")
    parser.add_argument("--networks", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--types", nargs="+", choices=harness.TYPES, default=harness.TYPES)
    parser.add_argument("--loads", nargs="+", choices=["alone", "busy"], default=["alone", "busy"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="number of busy processes")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of steps in a turn")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=VALUE", help="environment variable of both commands")
    arguments = parser.parse_args()
    commands = {"new": arguments.command.resolve()} | ({"old": arguments.older.resolve()} if arguments.older else {})
    for command in commands.values():
        harness.require_program(parser, command, "build the target mylos, or name another command")
    harness.print_machine("Steps alone and busy", arguments.threads)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_data(folder)
        harness.finished([commands["new"], "prepare", "text", "text.txt", "--out", "tokens.h5"], cwd=folder)
        jobs = {}
        for network in arguments.networks:
            for kind in arguments.types:
                deck = f"{network}-{kind}.toml"
                (folder / deck).write_text(deck_of(network, kind), encoding="utf-8")
                for load in arguments.loads:
                    for who, command in commands.items():
                        jobs[network, kind, who, load] = functools.partial(turn, command, folder, deck, load == "busy", arguments)
        results = harness.interleaved(arguments.rounds, jobs, after_turn=lambda number, name, milliseconds: print(
            f"round {number}: {' '.join(name)} {milliseconds:.1f} ms", flush=True))
    print_table(results, arguments)
    print(f"\n{time.monotonic() - began:.0f} s; load at the end {os.getloadavg()[0]:.1f}")


main()
