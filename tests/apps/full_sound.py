"""Whole runs of the decks that full_accuracy.py and full_shakespeare.py leave out, 14 of them beside their 18: none warns.

usage: full_sound.py MYLOS REPOSITORY

inputs/surrogate.toml learns lift and drag of a made-up wing, three seeds in each type and two networks of other widths;
inputs/deep_mlp.toml runs on two ranks within its budget, in each type.
"""
import math
import random
import re

import fashion
import soundness
from support.cases import run_cases

TYPES = ("fp32", "bf16", "fp16")
SEEDS = (1, 2, 3)


def write_wing(path, samples):
    """Lift and drag, noisy by a hundredth, by thin airfoils' formulas with a stall: smooth, of different units."""
    source = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("angle,aspect,reynolds,thickness,camber,lift,drag\n")
        for _ in range(samples):
            angle, aspect = source.uniform(-5, 20), source.uniform(4, 14)
            reynolds, thickness, camber = 10 ** source.uniform(5, 7), source.uniform(0.06, 0.2), source.uniform(0, 0.06)
            slope = 2 * math.pi * aspect / (aspect + 2)
            attached = slope * (math.radians(angle) + 2 * camber)
            lift = attached / (1 + math.exp((angle - 14 - 40 * thickness) / 1.5))
            drag = 0.074 * reynolds ** -0.2 * (2 + 4 * thickness) + lift ** 2 / (math.pi * aspect * 0.85)
            noise = [1 + source.gauss(0, 0.01) for _ in range(2)]
            file.write(f"{angle:.4f},{aspect:.4f},{reynolds:.0f},{thickness:.5f},{camber:.5f},{lift * noise[0]:.6f},"
                       f"{drag * noise[1]:.7f}\n")


def run_soundly(command, name, deck, *settings, **options):
    said = command.must("train", deck, *settings, f"run.folder=runs/{name}", "run.log_every=200", soundness.EVERY_PARAMETER,
                        timeout=1800, **options).stdout
    soundness.require_no_warning(command, f"runs/{name}")
    print(f"{name}: {re.search('training loss +(.*)', said).group(1)}", flush=True)


def check_warnings(command, repository):
    decks = repository / "inputs"
    fashion.prepare(command)
    write_wing(command.folder / "wing.csv", 10000)
    command.must("prepare", "csv", "wing.csv", "--targets", "drag,lift", "--out", "data/surrogate.h5")
    for compute in TYPES:
        in_type = f"precision.compute={compute}"
        for seed in SEEDS:
            run_soundly(command, f"surrogate-{compute}-{seed}", decks / "surrogate.toml", in_type, f"run.seed={seed}",
                        "run.threads=2")
        run_soundly(command, f"deep-{compute}", decks / "deep_mlp.toml", in_type, "run.threads=1", ranks=2)
    for width in (16, 512):
        run_soundly(command, f"surrogate-{width}", decks / "surrogate.toml", f"model.hidden=[{width}, {width}]",
                    "run.threads=2")


run_cases(check_warnings, arguments=["repository"])
