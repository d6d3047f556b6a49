#!/usr/bin/env python3
"""What a 16-bit type saves, by network: `mylos plan` with float and bfloat16, and the largest batch that fits. Nothing is trained.

usage: perf/memory_by_type.py [--mylos build/host/bin/mylos] [--budget "4 GiB"]

prints a table in Markdown: the decks of inputs/, without recomputation, on one rank of this machine.
"""
import argparse

import harness
from harness import plans, tables

MEBIBYTE = 1 << 20
# Name, deck, and the sizes that its data would have.
NETWORKS = [
    ("MLP, 784-1024-1024-10", "fashion_mlp", ["model.inputs=784", "model.outputs=10"]),
    ("convolutions, 28 × 28", "fashion_cnn", ["model.inputs=784", "model.outputs=10", "data.shape=[28,28,1]"]),
    ("U-Net, 64 × 64", "fields_unet", ["model.inputs=8192", "model.outputs=4096", "data.shape=[64,64,2]"]),
    ("residual network, 28 × 28", "fashion_resnet", ["model.inputs=784", "model.outputs=10", "data.shape=[28,28,1]"]),
    ("Fourier neural operator, 85 × 85", "fno-darcy", ["model.inputs=7225", "model.outputs=7225", "data.shape=[85,85,1]"]),
    ("GPT-2, 124 million", "gpt2_124m", []),
    ("MLP of 100 layers", "deep_mlp", ["model.inputs=784", "model.outputs=10"]),
]
TYPES = ("fp32", "bf16")


def plan(arguments, deck, keys, budget):
    """The plan, or None where it does not fit."""
    return plans.plan(arguments.mylos, harness.ROOT / f"inputs/{deck}.toml", "memory.times=model", "memory.recompute=none",
                      f"memory.budget={budget}", *keys)


def largest_batch(arguments, deck, keys):
    """The most samples of a step in one micro-batch that fit the budget."""
    return plans.largest(
        lambda samples: plan(arguments, deck, [*keys, f"data.batch={samples}", "data.micro_batch=0"], arguments.budget))[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mylos", default=str(harness.MYLOS))
    parser.add_argument("--budget", default="4 GiB", help="of the largest batch")
    arguments = parser.parse_args()
    print(tables.head(["network", "activations, MiB: float, bfloat16", "saved", "a rank, MiB", "saved", f"largest batch in {arguments.budget}"]))
    for name, deck, keys in NETWORKS:
        plans = [plan(arguments, deck, [*keys, f"precision.compute={type_}"], "500 GiB") for type_ in TYPES]
        cells = [name]
        for what in ("arena_bytes", "rank_bytes"):
            bytes_ = [each[what] - (each["checkpoint_copy_bytes"] if what == "rank_bytes" else 0) for each in plans]
            cells += [", ".join(f"{each / MEBIBYTE:.0f}" for each in bytes_), f"{100 * (1 - bytes_[1] / bytes_[0]):.0f} %"]
        cells.append(", ".join(str(largest_batch(arguments, deck, [*keys, f"precision.compute={type_}"])) for type_ in TYPES))
        print(tables.row(cells), flush=True)


main()
