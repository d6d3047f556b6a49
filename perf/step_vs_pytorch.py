#!/usr/bin/env python3
"""Compares Mylos' training step with PyTorch's best and with its own floor, in one interleaved run.

Machines differ by a factor of two, and one machine from minute to minute: only ratios of what was measured in turns
mean anything. So step_bench and PyTorch take turns, one computes while the other waits, and every ratio is formed
within a round. Needs a build with benchmarks, and scripts/peers for PyTorch; without PyTorch the other ratios are
still measured.

  perf/step_vs_pytorch.py [--bench build/host/bin/step_bench] [--rounds 5] [--steps 10] [--threads 2]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = ("fp32", "bf16", "fp16")
# The threads of a process that has finished its turn wait actively for some milliseconds before they sleep.
REST_S = 0.05
# PyTorch's variants that are this much slower than its best of the same type at first are not tried again.
HOPELESS = 1.5


class Program:
    """A program that answers commands on its standard input."""

    def __init__(self, command, threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="false",
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        environment.pop("OMP_WAIT_POLICY", None)  # "active" threads would compute against the other program
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args[0]} ended with code {self.process.wait()}")
        return line

    def ask(self, command):
        """The lines of the answer."""
        print(command, file=self.process.stdin, flush=True)
        return list(iter(self.line, "\n"))

    def number(self, command):
        return float(self.ask(command)[0].split()[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start_pytorch(arguments):
    """The program and the names of its steps; none where PyTorch is not installed."""
    python = arguments.python
    if not python.exists():
        print(f"No {python}: run scripts/peers to compare with PyTorch.")
        return None, []
    script = ROOT / "perf" / "pytorch_step.py"
    command = [python, script, str(arguments.threads)] + (["--no-compile"] if arguments.no_compile else [])
    program = Program(command, arguments.threads)
    return program, program.line().split()


class Quiet:
    """Waits, between turns, for moments when nobody else computes: `patience_s` for each turn at most."""

    def __init__(self, patience_s):
        self.patience_s = patience_s
        self.turns = 0
        self.disturbed = 0

    @staticmethod
    def busy_share():
        """Of the processors' time while we do nothing."""
        def ticks():
            counts = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
            return sum(counts), counts[3] + counts[4]  # all; idle and waiting for a disk
        before = ticks()
        time.sleep(2 * REST_S)
        after = ticks()
        return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])

    def wait(self):
        time.sleep(REST_S)
        self.turns += 1
        end = time.monotonic() + self.patience_s
        while self.busy_share() > 0.15:
            if time.monotonic() > end:
                self.disturbed += 1
                return


def in_turns(rounds, jobs, quiet):
    """Every job in every round, in an order that turns around from round to round: {job: [result of each round]}."""
    results = {name: [] for name in jobs}
    for index in range(rounds):
        for name in list(jobs)[:: 1 if index % 2 == 0 else -1]:
            quiet.wait()
            results[name].append(jobs[name]())
        last = "  ".join(f"{name} {times[-1]:.1f}" for name, times in results.items())
        print(f"round {index + 1}, ms: {last}", flush=True)
    return results


def spread(values, unit=""):
    return f"{statistics.median(values):8.3f}{unit}   [{min(values):.3f} .. {max(values):.3f}]"


def ratios(above, below):
    return [a / b for a, b in zip(above, below)]


def print_ratio(what, above, below, bar):
    values = ratios(above, below)
    met = "met" if statistics.median(values) <= bar else "MISSED"
    print(f"  {what:48} {spread(values)}   of the smallest {min(above) / min(below):.3f}   bar {bar:.2f}: {met}")


def best_of(results, names):
    return min(names, key=lambda name: statistics.median(results[name]))


def main():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "mylos"
    cache = pathlib.Path(os.environ.get("MYLOS_CACHE", cache))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/host/bin/step_bench")
    parser.add_argument("--python", type=pathlib.Path, default=cache / "peers/bin/python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=10, help="of steps with and without the loss scaler")
    parser.add_argument("--steps", type=int, default=10, help="steps of one turn; their median counts")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--patience", type=float, default=5, help="seconds that a turn waits for an idle machine")
    arguments = parser.parse_args()
    if not arguments.bench.exists():
        parser.error(f"{arguments.bench} does not exist: build the target step_bench, or name it with --bench")

    print(f"MLP 784-2048-2048-10, batch 512, AdamW, {arguments.threads} threads; load at the start "
          f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    pytorch, peers = start_pytorch(arguments)
    mylos = Program([arguments.bench], arguments.threads)

    jobs = {name: lambda name=name: mylos.number(f"step {name} {arguments.steps}") for name in TYPES}
    jobs |= {f"floor {name}": lambda name=name: mylos.number(f"floor {name}") for name in TYPES}
    jobs |= {f"PyTorch {name}": lambda name=name: pytorch.number(f"step {name} {arguments.steps}") for name in peers}
    quiet = Quiet(arguments.patience)
    first = in_turns(1, jobs, Quiet(0))  # every program's first steps allocate, compile and choose
    for name in peers:
        kind = name.split("-")[0]
        best = min(first[f"PyTorch {peer}"][0] for peer in peers if peer.startswith(kind))
        if first[f"PyTorch {name}"][0] > HOPELESS * best:
            del jobs[f"PyTorch {name}"]
    results = in_turns(arguments.rounds, jobs, quiet)

    print(f"\nms per step, median of {arguments.rounds} rounds [smallest .. largest]")
    for name in jobs:
        print(f"  {name:52} {spread(results[name])}")
    print("\nThe floors of the last round: the fastest product of any engine and layout, bytes at the best bandwidth")
    for name in TYPES:
        print(f" {name}\n{''.join(mylos.ask(f'floor-detail {name}'))}", end="")

    print("\nRatios, each within a round: median [smallest .. largest]")
    print_ratio("fp32 / its floor", results["fp32"], results["floor fp32"], 1.10)
    print_ratio("bf16 / its floor", results["bf16"], results["floor bf16"], 1.12)
    print_ratio("fp16 / fp32", results["fp16"], results["fp32"], 1.10)
    for ours, theirs in (("fp32", "fp32"), ("bf16", "bf16"), ("bf16", "")):
        names = [name for name in jobs if name.startswith(f"PyTorch {theirs}")]
        if names:
            best = best_of(results, names)
            of_all = "" if theirs else ", its best of all"
            print_ratio(f"{ours} / {best}{of_all}", results[ours], results[best], 1.00)

    pairs = in_turns(arguments.pairs, {
        name: lambda name=name: mylos.number(f"step {name} {arguments.steps}") for name in ("fp16", "fp16-off")}, quiet)
    print_ratio("fp16 with the loss scaler / without", pairs["fp16"], pairs["fp16-off"], 1.02)
    print(f"\nLoad at the end {os.getloadavg()[0]:.1f}; "
          f"{quiet.disturbed} of {quiet.turns} turns began while others computed.")
    mylos.close()
    if pytorch:
        pytorch.close()


if __name__ == "__main__":
    main()
