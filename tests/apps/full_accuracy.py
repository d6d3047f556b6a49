"""Fashion-MNIST, inputs/fashion_mlp*.toml, three seeds in each type, and in bfloat16 without master weights: mean test accuracy
and how far they differ. No run warns of anything.

usage: full_accuracy.py MYLOS REPOSITORY

Bars: mean >= 0.897 in each type, means within 0.003 of each other; without masters within 0.005 of bfloat16 with them. PyTorch
with the same recipe: 0.901.
"""
import pathlib
import re
import statistics
import sys
import tempfile

import soundness
from small_problem import Command

RAW = pathlib.Path("/usr/share/datasets/fashion-mnist")
DECKS = {"fp32": ["fashion_mlp_fp32"], "bf16": ["fashion_mlp"], "fp16": ["fashion_mlp_fp16"]}
NO_MASTERS = "bf16-no-masters"
DECKS[NO_MASTERS] = ["fashion_mlp", "precision.masters=none"]


def main():
    program, repository = sys.argv[1], pathlib.Path(sys.argv[2])
    means = {}
    with tempfile.TemporaryDirectory() as folder:
        command = Command(program, folder)
        (command.folder / "data").mkdir()
        for raw, name in (("train", "train"), ("t10k", "test")):
            command.must("prepare", "idx", RAW / f"{raw}-images-idx3-ubyte.gz", RAW / f"{raw}-labels-idx1-ubyte.gz",
                         "--out", f"data/fashion_{name}.h5")
        for compute, (deck, *settings) in DECKS.items():
            accuracies = []
            for seed in (1, 2, 3):
                result = command.must("train", repository / "inputs" / f"{deck}.toml", *settings, f"run.seed={seed}",
                                      f"run.folder=runs/{compute}-{seed}", "run.threads=2", "run.log_every=200",
                                      soundness.EVERY_PARAMETER, timeout=1200)
                soundness.require_no_warning(command.folder / f"runs/{compute}-{seed}")
                accuracies.append(float(re.findall(r"accuracy ([\d.]+)", result.stdout)[-1]))
                speed = re.search(r"speed +(.*)", result.stdout).group(1)
                print(f"{compute} seed {seed}: {accuracies[-1]:.4f} ({speed})", flush=True)
            means[compute] = statistics.mean(accuracies)
    for compute, mean in means.items():
        print(f"{compute}: mean {mean:.4f}")
    assert abs(means.pop(NO_MASTERS) - means["bf16"]) <= 0.005, "masters make more than 0.5 points"
    assert min(means.values()) >= 0.897, "mean below 0.897"
    assert max(means.values()) - min(means.values()) <= 0.003, "types differ by more than 0.3 points"


main()
