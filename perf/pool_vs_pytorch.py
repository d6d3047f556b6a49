#!/usr/bin/env python3
"""Compares pools, forward and backward, with PyTorch's in the faster one of its layouts, in one interleaved run.

  perf/pool_vs_pytorch.py [--types fp32 ...] [--kernels 3 7 15 31] [--only TEXT] [--rounds 5] [--steps 3] [--threads 2]

With --cpu-time one thread of each is measured by its processor's time, for machines that are busy. Ratios are PyTorch's time by ours, formed within a round; the bar is 0.8. Needs a build with benchmarks, and scripts/peers.
Ends with 1 if a median is below the bar.
"""

import statistics
import sys

import harness

BAR = 0.8
# Grid, channels, samples: lines, planes and volumes, of many channels and of few.
GRIDS = (("4096", 32, 4), ("16384", 1, 8), ("64x64", 32, 4), ("96x96", 3, 4), ("128x128", 1, 4), ("24x24x24", 8, 1),
         ("24x24x24", 1, 2))


def names(arguments):
    for kind in "max", "average":
        for type_name in arguments.types:
            for grid, channels, batch in GRIDS:
                shortest = min(map(int, grid.split("x")))
                for kernel in arguments.kernels:
                    if kind == "average" and kernel > shortest:  # PyTorch refuses it, whatever its padding
                        continue
                    for stride in sorted({1, 2, kernel}):
                        name = f"{kind}/{type_name}/{grid}/{channels}/{batch}/{kernel}/{stride}"
                        if arguments.only in name:
                            yield name


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "pool_bench", 3)
    harness.add_peer_options(parser)
    parser.add_argument("--types", nargs="+", choices=harness.TYPES, default=["fp32"])
    parser.add_argument("--kernels", nargs="+", type=int, default=[3, 7, 15, 31])
    parser.add_argument("--only", default="", metavar="TEXT", help="pools with this in their name: average, /64x64/, ...")
    parser.add_argument("--cpu-time", action="store_true", help="of one thread, for a busy machine: measure the "
                        "processor's time, not the clock's")
    arguments = harness.read_options(parser)
    if arguments.cpu_time:
        arguments.threads, arguments.patience = 1, 0
    harness.print_machine("Pools, forward and backward", arguments.threads, arguments.instructions)
    more = ["--cpu-time"] if arguments.cpu_time else []
    mylos = harness.start([arguments.bench, *more], arguments)
    pytorch = harness.start([arguments.python, harness.ROOT / "perf/pytorch_pool.py", "--threads", arguments.threads, *more], arguments)
    quiet = harness.Quiet(arguments.patience)
    missed, results = [], {}
    print(f"{'pool':44} {'ours, ms':>10} {'PyTorch, ms':>12}   PyTorch's time / ours [smallest .. largest]")
    for name in names(arguments):
        command = f"step {name} {arguments.steps}"
        jobs = {"Mylos": lambda: mylos.number(command), "PyTorch": lambda: pytorch.number(command)}
        results[name] = harness.interleaved(arguments.rounds, jobs, before_turn=quiet.wait)
        ours, theirs = results[name].values()
        values = harness.ratios(theirs, ours)
        ratio = statistics.median(values)
        print(f"{name:44} {statistics.median(ours):10.3f} {statistics.median(theirs):12.3f}   "
              f"{ratio:8.2f}   [{min(values):.2f} .. {max(values):.2f}]{'' if ratio >= BAR else '   MISSED'}", flush=True)
        if ratio < BAR:
            missed.append(name)
    mylos.close()
    pytorch.close()
    quiet.report()
    harness.store(arguments.json, results, quiet)
    print(f"{len(missed)} below the bar of {BAR}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
