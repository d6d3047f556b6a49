"""What a sweep costs: halving against training every trial to its end, on Fashion-MNIST, and a grid of 16 members against
members alone.

usage: full_sweep.py MYLOS
"""
import csv
import os
import pathlib
import sys
import tempfile
import time

import fashion
from support.command import Command

DECK = """[run]
name = "fashion"
steps = 450
log_every = 100
threads = 1
peak_flops = 1e12
[data]
train = "data/fashion_train.h5"
validation = 0.1
batch = 128
normalize = "standard"
[model]
type = "mlp"
hidden = [64]
dropout = 0.1
loss = "cross_entropy"
[precision]
compute = "bf16"
[optimizer]
type = "adamw"
lr = 1e-3
"""
KEYS = ["optimizer.lr=1e-5:1e-1:log", "model.hidden=[32],[64],[128],[256]", "model.dropout=0:0.5"]
TRIALS = 32
RANKS = min(2, os.cpu_count())


def rows_of(command, folder):
    with open(command.folder / folder / "sweep.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_halving(command, seed):
    """The same trials, trained to their end and by halving: the best validation accuracy, and the steps of all members."""
    best, steps = [], []
    for folder, options in ((f"all-{seed}", []), (f"halving-{seed}", ["--halving"])):
        command.must("sweep", "deck.toml", *KEYS, "--trials", TRIALS, "--seed", seed, "--metric", "validation.accuracy", "--out", folder,
                     *options, ranks=RANKS, timeout=3000)
        rows = rows_of(command, folder)
        best.append(max(float(row["value"]) for row in rows if row["value"] and row["state"] == "done"))
        steps.append(sum(int(row["steps"]) for row in rows))
    share = steps[1] / steps[0]
    print(f"seed {seed}: best accuracy {best[0]:.4f} of {TRIALS} full trainings, {best[1]:.4f} by halving in {share:.3f} of their steps", flush=True)
    assert best[1] >= best[0] - 0.005, best
    assert share <= 0.35, steps


def check_grid(command):
    """16 members: the sweep's wall time against the sum of members alone divided by the ranks. Printed; a machine may be busy."""
    grid = [(lr, width) for lr in ("1e-4", "3e-4", "1e-3", "3e-3") for width in ("[32]", "[64]", "[128]", "[256]")]
    begin = time.monotonic()
    for number, (lr, width) in enumerate(grid):
        command.must("train", "deck.toml", f"optimizer.lr={lr}", f"model.hidden={width}", f"run.folder=alone/{number}")
    alone = time.monotonic() - begin
    for ranks in (1, 2):
        begin = time.monotonic()
        command.must("sweep", "deck.toml", "optimizer.lr=1e-4,3e-4,1e-3,3e-3", "model.hidden=[32],[64],[128],[256]", "--out",
                     f"grid-{ranks}", ranks=ranks, timeout=3000)
        wall = time.monotonic() - begin
        assert all(row["state"] == "done" for row in rows_of(command, f"grid-{ranks}"))
        print(f"16 members on {ranks} ranks: {wall:.1f} s, {wall * ranks / alone:.3f} of the sum of members alone / ranks ({alone:.1f} s)",
              flush=True)


def main():
    if not fashion.RAW.exists():
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        command = Command(sys.argv[1], pathlib.Path(folder))
        fashion.prepare(command)
        (command.folder / "deck.toml").write_text(DECK, encoding="utf-8")
        for seed in (1, 2, 3):
            check_halving(command, seed)
        check_grid(command)


if __name__ == "__main__":
    main()
