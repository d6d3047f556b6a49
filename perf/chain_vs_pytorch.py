#!/usr/bin/env python3
"""Compares the step of convolutional networks with PyTorch's best, in one interleaved run.

  perf/chain_vs_pytorch.py [--network residual|unet] [--types fp32 ...] [--rounds 5] [--steps 10] [--threads 2]

The networks are chain_bench's. PyTorch runs channels last, in the same types, eager and compiled; a processor without 16-bit
products takes minutes over its first steps in bf16, which --types fp32 leaves out. Ratios are formed within a round,
and --instructions and --older are, as step_vs_pytorch.py says. Needs a build with benchmarks, and scripts/peers.
"""

import argparse

import turns

TYPES = ("fp32", "bf16", "fp16")
NETWORKS = {"residual": "residual network of 21 convolutions, 28 x 28, batch 128, AdamW",
            "unet": "U-Net of 11 convolutions, 64 x 64, batch 16, AdamW"}
PEER = turns.ROOT / "perf/pytorch_chain.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser, "chain_bench", 5)
    turns.add_peer_options(parser)
    parser.add_argument("--network", choices=NETWORKS, default="residual")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES)
    arguments = turns.read_options(parser)
    arguments.floors = False  # they know no convolutions

    turns.print_machine(NETWORKS[arguments.network], arguments)
    quiet = turns.Quiet(arguments.patience)
    peer = [PEER, "--threads", str(arguments.threads), "--network", arguments.network, "--types", *arguments.types]
    mylos, results = turns.compare_steps([arguments.network], arguments.types, [peer], arguments, quiet)
    turns.print_against_ours(results, arguments.types, {}, arguments)
    best = "bf16" if turns.has_16_bit_products(arguments) and "bf16" in arguments.types else "fp32"
    turns.print_against_peer(results, {pair: 1 / 1.1 for pair in (("fp32", "fp32"), (best, "")) if pair[0] in arguments.types})
    quiet.report()
    turns.store(arguments.json, {arguments.network: results}, quiet)
    mylos.close()


if __name__ == "__main__":
    main()
