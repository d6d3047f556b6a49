"""What a sweep costs: halving against training every trial to its end, on Fashion-MNIST, and a grid of 16 members against
members alone."""
import os
import time

import fashion
from support.cases import run_cases, skip
from support.decks import deck_text

DECK = deck_text(run=dict(name="fashion", steps=450, log_every=100, threads=1),
                 data=dict(train="data/fashion_train.h5", validation=0.1, batch=128, normalize="standard"),
                 model=dict(type="mlp", hidden=[64], dropout=0.1, loss="cross_entropy"), precision=dict(compute="bf16"),
                 optimizer=dict(type="adamw", lr=1e-3))
KEYS = ["optimizer.lr=1e-5:1e-1:log", "model.hidden=[32],[64],[128],[256]", "model.dropout=0:0.5"]
TRIALS = 32
RANKS = min(2, os.cpu_count())


def check_halving(command, seed):
    """The same trials, trained to their end and by halving: the best validation accuracy, and the steps of all members."""
    best, steps = [], []
    for folder, options in ((f"all-{seed}", []), (f"halving-{seed}", ["--halving"])):
        command.must("sweep", "deck.toml", *KEYS, "--trials", TRIALS, "--seed", seed, "--metric", "validation.accuracy", "--out", folder,
                     *options, ranks=RANKS, timeout=3000)
        rows = command.rows(f"{folder}/sweep.csv")
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
        assert all(row["state"] == "done" for row in command.rows(f"grid-{ranks}/sweep.csv"))
        print(f"16 members on {ranks} ranks: {wall:.1f} s, {wall * ranks / alone:.3f} of the sum of members alone / ranks ({alone:.1f} s)",
              flush=True)


def set_up(command):
    if not fashion.RAW.exists():
        skip(f"{fashion.RAW} is not here")
    fashion.prepare(command)
    command.write("deck.toml", DECK)


run_cases(set_up, *((check_halving, seed) for seed in (1, 2, 3)), check_grid)
