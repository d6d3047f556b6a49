"""Fashion-MNIST, inputs/fashion_mlp*.toml, three seeds in each type, and in bfloat16 without master weights: mean test accuracy
and how far they differ. No run warns of anything.

usage: full_accuracy.py MYLOS REPOSITORY

Bars: mean >= 0.897 in each type, means within 0.003 of each other; without masters within 0.005 of bfloat16 with them. PyTorch
with the same recipe: 0.901.
"""
import statistics

import fashion
import soundness
from support.cases import run_cases

DECKS = {"fp32": ["fashion_mlp_fp32"], "bf16": ["fashion_mlp"], "fp16": ["fashion_mlp_fp16"]}
NO_MASTERS = "bf16-no-masters"
DECKS[NO_MASTERS] = ["fashion_mlp", "precision.masters=none"]


def check_accuracies(command, repository):
    means = {}
    for compute, (deck, *settings) in DECKS.items():
        accuracies = []
        for seed in (1, 2, 3):
            run = f"runs/{compute}-{seed}"
            found, speed = fashion.accuracy(command, repository / "inputs" / f"{deck}.toml", run, *settings,
                                            f"run.seed={seed}", soundness.EVERY_PARAMETER)
            soundness.require_no_warning(command, run)
            accuracies.append(found)
            print(f"{compute} seed {seed}: {accuracies[-1]:.4f} ({speed})", flush=True)
        means[compute] = statistics.mean(accuracies)
    for compute, mean in means.items():
        print(f"{compute}: mean {mean:.4f}")
    assert abs(means.pop(NO_MASTERS) - means["bf16"]) <= 0.005, "masters make more than 0.5 points"
    assert min(means.values()) >= 0.897, "mean below 0.897"
    assert max(means.values()) - min(means.values()) <= 0.003, "types differ by more than 0.3 points"


run_cases(fashion.prepare, check_accuracies, arguments=["repository"])
