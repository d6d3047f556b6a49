"""Fashion-MNIST by networks on grids, three seeds in each of three types: mean test accuracy, and how far types differ.

usage: full_grids.py MYLOS REPOSITORY

Bars: inputs/fashion_cnn.toml >= 0.920 in each type (published for two convolutions: 0.916 to 0.925), inputs/fashion_resnet.toml
>= 0.935 (published for a residual network: 0.932); means of types within 0.005 of each other.
"""
import statistics

import fashion
from support.cases import run_cases

BARS = {"fashion_cnn": 0.920, "fashion_resnet": 0.935}


def check_accuracies(command, repository):
    failures = []
    for deck, bar in BARS.items():
        means = {}
        for compute in ("bf16", "fp16", "fp32"):
            accuracies = []
            for seed in (1, 2, 3):
                found, speed = fashion.accuracy(command, repository / "inputs" / f"{deck}.toml",
                                                f"runs/{deck}-{compute}-{seed}", f"run.seed={seed}",
                                                f"precision.compute={compute}")
                accuracies.append(found)
                print(f"{deck} {compute} seed {seed}: {found:.4f} ({speed})", flush=True)
            means[compute] = statistics.mean(accuracies)
            print(f"{deck} {compute}: mean {means[compute]:.4f}", flush=True)
        if min(means.values()) < bar:
            failures.append(f"{deck}: mean below {bar}")
        if max(means.values()) - min(means.values()) > 0.005:
            failures.append(f"{deck}: types differ by more than 0.5 points")
    assert not failures, failures


run_cases(fashion.prepare, check_accuracies, arguments=["repository"])
