#!/usr/bin/env python3
"""The largest GPT that a device's memory trains, by setting: `mylos plan` searches for the number of layers. Nothing is trained.

usage: perf/largest_network.py [--mylos build/host/bin/mylos] [--device h100-sxm] [--width 2048] [--most 1024]

prints a table in Markdown. A rank has a device of its own; memory.budget = "auto" is 0.9 of its memory. Heads have 128 values;
64 samples of 1024 tokens per rank and step, `data.micro_batch` of them at a time.
"""
import argparse

import harness
from harness import plans, tables

DECK = harness.ROOT / "inputs/gpt2_124m.toml"
# What is set, the keys, and the ranks.
SETTINGS = [
    ("float, `memory.recompute = \"none\"`", ["precision.compute=fp32", "memory.recompute=none"], 1),
    ("bfloat16, `\"none\"`", ["memory.recompute=none"], 1),
    ("float, `\"all\"`: each block keeps its input alone", ["precision.compute=fp32", "memory.recompute=all"], 1),
    ("bfloat16, `\"all\"`", ["memory.recompute=all"], 1),
    ("bfloat16, `\"auto\"`: as much as is needed to fit", [], 1),
    ("bfloat16, `\"all\"`, 1 sample at a time", ["memory.recompute=all", "data.micro_batch=1"], 1),
    ("the same, `optimizer.type = \"lion\"`: one moment", ["memory.recompute=all", "data.micro_batch=1", "optimizer.type=lion", "optimizer.lr=1e-4"], 1),
    ("the same with AdamW, `precision.masters = \"none\"`", ["memory.recompute=all", "data.micro_batch=1", "precision.masters=none"], 1),
    ("bfloat16, `\"all\"`, `optimizer.shard = \"state\"`, 8 ranks", ["memory.recompute=all", "optimizer.shard=state"], 8),
    ("the same on 64 ranks", ["memory.recompute=all", "optimizer.shard=state"], 64),
    ("the same, 1 sample at a time", ["memory.recompute=all", "optimizer.shard=state", "data.micro_batch=1"], 64),
]


def plan(arguments, keys, ranks, layers):
    """The plan of so many layers, or None where it does not fit."""
    micro_batch = [] if any(key.startswith("data.micro_batch=") for key in keys) else ["data.micro_batch=8"]
    return plans.plan(arguments.mylos, DECK, "--device", arguments.device, "--ranks", ranks, "--ranks-per-node", 1,
                      f"model.layers={layers}", f"model.width={arguments.width}", f"model.heads={arguments.width // 128}",
                      f"data.batch={64 * ranks}", *micro_batch, *keys)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mylos", default=str(harness.MYLOS))
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--most", type=int, default=1024, help="layers that are tried at most")
    arguments = parser.parse_args()
    print(tables.head(["setting", f"layers of width {arguments.width}", "parameters", "a rank takes", "recomputation, of a step's time"]))
    for name, keys, ranks in SETTINGS:
        layers, found = plans.largest(lambda layers: plan(arguments, keys, ranks, layers), arguments.most)
        if found is None:
            print(tables.row([name, "none fits", "", "", ""]), flush=True)
            continue
        many = "at least " if layers == arguments.most else ""
        print(tables.row([name, f"{many}{layers}", f"{found['parameters'] / 1e9:.2f}e9", f"{found['rank_bytes'] / 1e9:.1f} GB",
                          f"{100 * found['overhead']:.0f} %"]), flush=True)


main()
