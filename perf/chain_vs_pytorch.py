#!/usr/bin/env python3
"""Compares the step of convolutional networks with PyTorch's best, in one interleaved run.

  perf/chain_vs_pytorch.py [--network residual|unet] [--types fp32 ...] [--rounds 5] [--steps 10] [--threads 2]

The networks are chain_bench's. PyTorch runs channels last, in the same types, eager and compiled; a processor without 16-bit
products takes minutes over its first steps in bf16, which --types fp32 leaves out. Ratios are formed within a round,
and --instructions and --older are, as step_vs_pytorch.py says. Needs a build with benchmarks, and scripts/peers.
"""

import harness
from harness import steps

NETWORKS = {"residual": "residual network of 21 convolutions, 28 x 28, batch 128, AdamW",
            "unet": "U-Net of 11 convolutions, 64 x 64, batch 16, AdamW"}
PEER = harness.ROOT / "perf/pytorch_chain.py"


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "chain_bench", 5)
    harness.add_peer_options(parser)
    parser.add_argument("--network", choices=NETWORKS, default="residual")
    parser.add_argument("--types", nargs="+", choices=harness.TYPES, default=harness.TYPES)
    arguments = harness.read_options(parser)
    arguments.floors = False  # they know no convolutions

    quiet = harness.Quiet(arguments.patience)
    peer = [PEER, "--threads", str(arguments.threads), "--network", arguments.network, "--types", *arguments.types]
    best = "bf16" if steps.has_16_bit_products(arguments) and "bf16" in arguments.types else "fp32"
    bars = {pair: 1 / 1.1 for pair in (("fp32", "fp32"), (best, "")) if pair[0] in arguments.types}
    mylos, results = steps.compare(NETWORKS[arguments.network], [arguments.network], arguments.types, [peer], arguments, quiet,
                                   peer_bars=bars)
    quiet.report()
    harness.store(arguments.json, {arguments.network: results}, quiet)
    mylos.close()


if __name__ == "__main__":
    main()
