#!/usr/bin/python3
"""What a step costs beside other programs: alone, and beside one busy process for each core.

Trains an MLP, a GPT and a residual network with the mylos command, in three types, on all cores. Every turn is a start of
its own; with --older the two commands take turns, and so do alone and busy. A turn ends after --seconds of steps, or at its
second step where that takes longer; a step is the mean over those after the first. Ratios are of the medians over rounds.

  perf/busy_study.py --older PATH       beside the command of an older build: 36 turns a round, at most 6 minutes
  perf/busy_study.py --networks mlp --types fp32 --variable GOMP_SPINCOUNT=3000
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy

import turns

BARS = {"busy": 3.0, "older": 1.01}
# Beyond this the turn is given up: its step takes "more than" this.
MOST_S = 40
START_S = 60

COMMON = """
[run]
name = "{name}"
steps = 1000000
log_every = 1
evaluate_every = 0
peak_flops = 1e12
[data]
train = "{data}"
batch = {batch}
{shape}
[checkpoint]
every = 0
[precision]
compute = "{type}"
[optimizer]
lr = 1e-4
"""


# Samples of a step, the data, their grid, and the network.
MODELS = {
    "mlp": (512, "samples.h5", "", '[model]\ntype = "mlp"\nhidden = [2048, 2048]\n'),
    "gpt": (8, "tokens.h5", "", '[model]\ntype = "gpt"\nlayers = 4\nheads = 4\nwidth = 256\ncontext = 256\n'),
    "residual": (64, "grids.h5", "shape = [32, 32, 3]", '[model]\ntype = "resnet"\nchannels = [32, 64, 128]\nblocks = 3\n'),
}


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


class Turn:
    """A start of a command on a deck."""

    def __init__(self, command, folder, deck, arguments):
        self.command, self.folder, self.deck, self.arguments = command, folder, deck, arguments

    def seconds(self):
        """Elapsed time at the end of each step so far."""
        try:
            lines = (self.folder / "run/history.csv").read_text().splitlines()
        except OSError:
            return []
        column = lines[0].split(",").index("elapsed_s")
        return [float(line.split(",")[column]) for line in lines[1:] if line.count(",") == lines[0].count(",")]

    def __call__(self):
        """Milliseconds of a step; of one that did not end in time those that it took so far."""
        subprocess.run(["rm", "-rf", self.folder / "run"], check=True)
        line = [self.command, "train", self.folder / self.deck, "run.folder=run"]
        with subprocess.Popen(line, cwd=self.folder, env=environment(self.arguments), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as run:
            times, began = [], time.monotonic()
            first = None
            while run.poll() is None:
                times = self.seconds()
                now = time.monotonic()
                first = first or (now if times else None)
                enough = len(times) > 1 and times[-1] - times[0] >= self.arguments.seconds
                if enough or (first or began) + (MOST_S if first else START_S) < now:
                    break
                time.sleep(0.05)
            else:
                raise SystemExit(f"{self.command} ended with code {run.returncode}\n{run.stderr.read()}")
            run.kill()
        if len(times) > 1:
            return 1e3 * (times[-1] - times[0]) / (len(times) - 1)
        return 1e3 * MOST_S


def environment(arguments):
    result = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads), OMP_PROC_BIND="false")
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        result.pop(name, None)
    return result | dict(setting.split("=", 1) for setting in arguments.variable)


def measure(jobs, busy, rounds):
    """{job: [milliseconds of each round]}; busy and not in turns."""
    results = {name: [] for name in jobs}
    for number in range(rounds):
        for name in list(jobs)[:: 1 if number % 2 == 0 else -1]:
            others = busy_processes(busy) if name[-1] == "busy" else []
            try:
                results[name].append(jobs[name]())
            finally:
                for process in others:
                    process.kill()
                    process.wait()
            print(f"round {number + 1}: {' '.join(name)} {results[name][-1]:.1f} ms", flush=True)
    return results


def print_table(results, whose, networks, types):
    median = {name: statistics.median(values) for name, values in results.items()}
    print("\nms per step\n\n| network | type |" + "".join(f" {who}, alone | busy | ratio |" for who in whose) +
          (" alone, new / old |" if len(whose) > 1 else ""))
    print("|---" * (2 + 3 * len(whose) + (len(whose) > 1)) + "|")
    worst = {"busy": 0.0, "older": 0.0}
    for network in networks:
        for kind in types:
            row = f"| {network} | {kind} |"
            for who in whose:
                alone, busy = median[network, kind, who, "alone"], median[network, kind, who, "busy"]
                row += f" {alone:.1f} | {busy:.1f} | {busy / alone:.2f} |"
            worst["busy"] = max(worst["busy"], median[network, kind, "new", "busy"] / median[network, kind, "new", "alone"])
            if len(whose) > 1:
                ratio = median[network, kind, "new", "alone"] / median[network, kind, "old", "alone"]
                worst["older"] = max(worst["older"], ratio)
                row += f" {ratio:.3f} |"
            print(row)
    print()
    for name, what in (("busy", "busy / alone"), ("older", "alone, new / old")):
        if worst[name]:
            print(f"  largest {what}: {worst[name]:.3f}   bar {BARS[name]}: {'met' if worst[name] <= BARS[name] else 'MISSED'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", type=pathlib.Path, default=turns.ROOT / "build/host/bin/mylos")
    parser.add_argument("--older", type=pathlib.Path, help="the command of an older build")
    parser.add_argument("--networks", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--types", nargs="+", choices=["fp32", "bf16", "fp16"], default=["fp32", "bf16", "fp16"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="processes that compute beside it")
    parser.add_argument("--seconds", type=float, default=4, help="of steps in a turn")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=VALUE", help="of the environment of both")
    arguments = parser.parse_args()
    commands = {"new": arguments.command.resolve()} | ({"old": arguments.older.resolve()} if arguments.older else {})
    for command in commands.values():
        if not command.exists():
            parser.error(f"{command} does not exist")
    turns.print_machine("Steps alone and busy", argparse.Namespace(threads=arguments.threads, instructions=None))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_data(folder)
        subprocess.run([commands["new"], "prepare", "text", "text.txt", "--out", "tokens.h5"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        jobs = {}
        for network in arguments.networks:
            batch, data, shape, model = MODELS[network]
            for kind in arguments.types:
                deck = f"{network}-{kind}.toml"
                (folder / deck).write_text(COMMON.format(name=network, data=data, batch=batch, shape=shape, type=kind) + model)
                for load in ("alone", "busy"):
                    for who, command in commands.items():
                        jobs[network, kind, who, load] = Turn(command, folder, deck, arguments)
        results = measure(jobs, arguments.busy, arguments.rounds)
    print_table(results, sorted(commands, reverse=True), arguments.networks, arguments.types)
    print(f"\n{time.monotonic() - began:.0f} s; load at the end {os.getloadavg()[0]:.1f}")


main()
