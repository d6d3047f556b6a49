#!/usr/bin/env python3
"""The largest GPT that a device's memory trains, by setting: `mylos plan` searches for the number of layers. Nothing is trained.

usage: perf/largest_network.py [--mylos build/host/bin/mylos] [--device h100-sxm] [--width 2048] [--most 1024]

prints a table in Markdown. A rank has a device of its own; memory.budget = "auto" is 0.9 of its memory. Heads have 128 values;
64 samples of 1024 tokens per rank and step, `data.micro_batch` of them at a time.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DECK = HERE.parent / "inputs/gpt2_124m.toml"
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
    line = [arguments.mylos, "plan", DECK, "--device", arguments.device, "--ranks", ranks, "--ranks-per-node", 1, "--json",
            f"model.layers={layers}", f"model.width={arguments.width}", f"model.heads={arguments.width // 128}",
            f"data.batch={64 * ranks}", *([] if any(key.startswith("data.micro_batch=") for key in keys) else ["data.micro_batch=8"]), *keys]
    done = subprocess.run([str(word) for word in line], text=True, capture_output=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(map(str, line))}\n{done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def largest(arguments, keys, ranks):
    """The most layers that fit, and their plan."""
    fitting, too_many, found = 0, 1, None
    while too_many <= arguments.most and (tried := plan(arguments, keys, ranks, too_many)):
        fitting, found, too_many = too_many, tried, 2 * too_many
    too_many = min(too_many, arguments.most + 1)
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        tried = plan(arguments, keys, ranks, middle)
        fitting, too_many, found = (middle, too_many, tried) if tried else (fitting, middle, found)
    return fitting, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mylos", default=str(HERE.parent / "build/host/bin/mylos"))
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--most", type=int, default=1024, help="layers that are tried at most")
    arguments = parser.parse_args()
    print(f"| setting | layers of width {arguments.width} | parameters | a rank takes | recomputation, of a step's time |\n|---|---|---|---|---|")
    for name, keys, ranks in SETTINGS:
        layers, found = largest(arguments, keys, ranks)
        if found is None:
            print(f"| {name} | none fits | | | |", flush=True)
            continue
        many = "at least " if layers == arguments.most else ""
        print(f"| {name} | {many}{layers} | {found['parameters'] / 1e9:.2f}e9 | {found['rank_bytes'] / 1e9:.1f} GB | "
              f"{100 * found['overhead']:.0f} % |", flush=True)


main()
