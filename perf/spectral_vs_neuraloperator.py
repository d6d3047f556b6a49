#!/usr/bin/env python3
"""Compares the step of a Fourier neural operator, and of one spectral layer, with neuraloperator's best, in one interleaved run.

  perf/spectral_vs_neuraloperator.py [--python PYTHON] [--network fno-64-12 ...] [--types fp32 bf16] [--rounds 5] [--threads 2]

The networks are chain_bench's: 32 channels, batch 16, 64 or 85 points along each axis, 12 modes; a step is forward, backward and
AdamW. PYTHON, by default that of scripts/peers, has neuraloperator, which runs eager and compiled, in its own
types and with autocast. Ratios are formed within a round, and --instructions and --older are, as step_vs_pytorch.py says. Needs a
build with benchmarks.
"""

import harness
from harness import steps

NETWORKS = ("fno-64-12", "fno-85-12", "spectral-64-12", "spectral-85-12")
PEER = harness.ROOT / "perf/neuraloperator_step.py"
BARS = {("fp32", "fp32"): 1 / 2, ("bf16", ""): 1 / 3}


def compare(network, arguments, quiet):
    peer = [PEER, "--threads", str(arguments.threads), "--network", network]
    bars = {pair: bar for pair, bar in BARS.items() if pair[0] in arguments.types}
    if not steps.has_16_bit_products(arguments):
        bars.pop(("bf16", ""), None)
    mylos, results = steps.compare(f"{network}, batch 16, AdamW", [network], arguments.types, [peer], arguments, quiet, peer_bars=bars)
    mylos.close()
    return results


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "chain_bench", 5)
    harness.add_peer_options(parser)
    parser.add_argument("--network", nargs="+", default=NETWORKS)
    parser.add_argument("--types", nargs="+", choices=harness.TYPES, default=harness.TYPES)
    arguments = harness.read_options(parser)
    arguments.floors = False  # they know no spectral layers

    quiet = harness.Quiet(arguments.patience)
    results = {network: compare(network, arguments, quiet) for network in arguments.network}
    quiet.report()
    harness.store(arguments.json, results, quiet)


if __name__ == "__main__":
    main()
