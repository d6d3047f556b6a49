"""inputs/gpt_shakespeare_cpu.toml, three seeds in each type: validation loss after 2000 steps. No run warns of anything.

usage: full_shakespeare.py MYLOS REPOSITORY

Bars: mean <= 1.915 in each type; at the same seed types differ by at most 0.005. PyTorch, seeds 1 to 4: 1.905, 1.908,
1.907, 1.919.
"""
import re
import statistics

import soundness
from support.cases import run_cases

TYPES = ("fp32", "bf16", "fp16")
SEEDS = (1, 2, 3)


def validation_loss(command, repository, compute, seed):
    said = command.must("train", repository / "inputs/gpt_shakespeare_cpu.toml", f"precision.compute={compute}",
                        f"run.seed={seed}", f"run.folder=runs/{compute}-{seed}", "run.threads=2", "run.log_every=500",
                        soundness.EVERY_PARAMETER, timeout=1200).stdout
    soundness.require_no_warning(command, f"runs/{compute}-{seed}")
    return float(re.findall(r"validation loss ([\d.]+)", said)[-1])


def check_losses(command, repository):
    losses = {}
    (command.folder / "data").mkdir()
    command.must("prepare", "text", repository / "inputs/data/tinyshakespeare.txt", "--out", "data/shakespeare.h5")
    print("seed  " + "  ".join(f"{compute:>6}" for compute in TYPES) + "  spread", flush=True)
    for seed in SEEDS:
        row = [validation_loss(command, repository, compute, seed) for compute in TYPES]
        losses[seed] = row
        print(f"{seed:4}  " + "  ".join(f"{loss:.4f}" for loss in row) + f"  {max(row) - min(row):.4f}",
              flush=True)
    means = [statistics.mean(column) for column in zip(*losses.values())]
    print("mean  " + "  ".join(f"{mean:.4f}" for mean in means))
    assert max(means) <= 1.915, "a mean above 1.915"
    assert all(max(row) - min(row) <= 0.005 for row in losses.values()), "types differ by more than 0.005"


run_cases(check_losses, arguments=["repository"])
