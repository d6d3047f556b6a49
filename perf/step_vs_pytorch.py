#!/usr/bin/env python3
"""Compares Mylos' training step with PyTorch's best and with its own floor, in one interleaved run.

Machines differ by a factor of two, and one machine from minute to minute: only ratios of what was measured in turns
mean anything. So step_bench and PyTorch take turns, one computes while the other waits, and every ratio is formed
within a round. Needs a build with benchmarks, and scripts/peers for PyTorch; without PyTorch the other ratios are
still measured.

  perf/step_vs_pytorch.py [--bench build/host/bin/step_bench] [--rounds 5] [--steps 10] [--threads 2]
"""

import argparse

import turns

TYPES = ("fp32", "bf16", "fp16")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser, "step_bench")
    turns.add_peer_options(parser)
    parser.add_argument("--pairs", type=int, default=10, help="of steps with and without the loss scaler")
    arguments = turns.read_options(parser)

    turns.print_machine("MLP 784-2048-2048-10, batch 512, AdamW", arguments.threads)
    quiet = turns.Quiet(arguments.patience)
    mylos, results = turns.compare_steps([arguments.bench], TYPES, [
        turns.ROOT / "perf/pytorch_step.py", str(arguments.threads)], arguments, quiet)
    turns.print_against_floors(results, {"fp32": 1.10, "bf16": 1.12})
    turns.print_against_peer(results, {("fp32", "fp32"): 1.00, ("bf16", "bf16"): 1.00, ("bf16", ""): 1.00})

    pairs = turns.in_turns(arguments.pairs, {
        name: lambda name=name: mylos.number(f"step {name} {arguments.steps}") for name in ("fp16", "fp16-off")}, quiet)
    turns.print_ratio("fp16 with the loss scaler / without", pairs["fp16"], pairs["fp16-off"], 1.02)
    quiet.report()
    mylos.close()


if __name__ == "__main__":
    main()
