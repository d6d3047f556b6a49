#!/usr/bin/env python3
"""Compares the step of a Fourier neural operator, and of one spectral layer, with neuraloperator's best, in one interleaved run.

  perf/spectral_vs_neuraloperator.py [--python PYTHON] [--network fno-64-12 ...] [--types fp32 bf16] [--rounds 5] [--threads 2]

The networks are chain_bench's: 32 channels, batch 16, 64 or 85 points along each axis, 12 modes; a step is forward, backward and
AdamW. PYTHON, by default that of scripts/peers, has neuraloperator, which runs eager and compiled, in its own
types and with autocast. Ratios are formed within a round, and --instructions and --older are, as step_vs_pytorch.py says. Needs a
build with benchmarks.
"""

import argparse

import turns

TYPES = ("fp32", "bf16", "fp16")
NETWORKS = ("fno-64-12", "fno-85-12", "spectral-64-12", "spectral-85-12")
PEER = turns.ROOT / "perf/neuraloperator_step.py"
BARS = {("fp32", "fp32"): 1 / 2, ("bf16", ""): 1 / 3}


def compare(network, arguments, quiet):
    turns.print_machine(f"{network}, batch 16, AdamW", arguments)
    peer = [PEER, "--threads", str(arguments.threads), "--network", network]
    mylos, results = turns.compare_steps([network], arguments.types, [peer], arguments, quiet)
    turns.print_against_ours(results, arguments.types, {}, arguments)
    bars = {pair: bar for pair, bar in BARS.items() if pair[0] in arguments.types}
    if not turns.has_16_bit_products(arguments):
        bars.pop(("bf16", ""), None)
    turns.print_against_peer(results, bars)
    mylos.close()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    turns.add_options(parser, "chain_bench", 5)
    turns.add_peer_options(parser)
    parser.add_argument("--network", nargs="+", default=NETWORKS)
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES)
    arguments = turns.read_options(parser)
    arguments.floors = False  # they know no spectral layers

    quiet = turns.Quiet(arguments.patience)
    results = {network: compare(network, arguments, quiet) for network in arguments.network}
    quiet.report()
    turns.store(arguments.json, results, quiet)


if __name__ == "__main__":
    main()
