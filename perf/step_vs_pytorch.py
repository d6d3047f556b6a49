#!/usr/bin/env python3
"""Compares Mylos' training step with PyTorch's best and with its own floor, in one interleaved run.

Machines differ by a factor of two, and one machine from minute to minute: only ratios of what was measured in turns
mean anything. So step_bench and PyTorch take turns, one computes while the other waits, and every ratio is formed
within a round. Needs a build with benchmarks, and scripts/peers for PyTorch; without PyTorch the other ratios are
still measured.

  perf/step_vs_pytorch.py [--bench build/host/bin/step_bench] [--rounds 5] [--steps 10] [--threads 2]
  perf/step_vs_pytorch.py --instructions avx2     both sides as on a processor that has no more than AVX2
  perf/step_vs_pytorch.py --older BENCH           beside the step_bench of an older build
  perf/step_vs_pytorch.py --network fashion [--ranks 2]
                                                  the network of inputs/fashion_mlp.toml, which is small; with ranks
                                                  beside PyTorch's DistributedDataParallel and beside its one process
"""

import harness
from harness import steps

NETWORKS = {"wide": "MLP 784-2048-2048-10, batch 512, AdamW",
            "fashion": "MLP 784-1024-1024-10, batch 256, dropout, clipping, AdamW"}
PEER = harness.ROOT / "perf/pytorch_step.py"


def peers(arguments):
    """PyTorch's programs: with one process, and with one process per rank."""
    words = [PEER, "--threads", str(arguments.threads), "--network", arguments.network]
    return [words] if arguments.ranks == 1 else [words, [*words, "--ranks", str(arguments.ranks)]]


def peer_bars(arguments):
    if arguments.network == "fashion" or not steps.has_16_bit_products(arguments):
        return {(name, ""): 1.00 for name in (harness.TYPES if arguments.network == "fashion" else ("fp32",))}
    return {("fp32", "fp32"): 1.00, ("bf16", "bf16"): 1.00, ("bf16", ""): 1.00}


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "step_bench")
    harness.add_peer_options(parser)
    parser.add_argument("--network", choices=NETWORKS, default="wide")
    parser.add_argument("--ranks", type=int, default=1, help="ranks of step_bench and of one of PyTorch's programs")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of steps with and without the loss scaler")
    arguments = harness.read_options(parser)
    if arguments.network != "wide" or arguments.ranks > 1:
        arguments.floors = False  # they are those of a large network on one rank

    quiet = harness.Quiet(arguments.patience)
    words = ["--network", arguments.network] if arguments.network != "wide" else []
    mylos, results = steps.compare(f"{NETWORKS[arguments.network]}, {arguments.ranks} rank(s)", words, harness.TYPES, peers(arguments),
                                   arguments, quiet, floor_bars={"fp32": 1.10, "bf16": 1.12}, peer_bars=peer_bars(arguments))
    if arguments.pairs:
        pairs = harness.measured(arguments.pairs, steps.step_jobs(mylos, ("fp16", "fp16-off"), arguments.steps), quiet)
        harness.print_ratio("fp16 with the loss scaler / without", pairs["fp16"], pairs["fp16-off"], 1.02)
    quiet.report()
    harness.store(arguments.json, {arguments.network: results}, quiet)
    mylos.close()


if __name__ == "__main__":
    main()
