"""Ten divergences, with their decks and data, for the test of runs that go back."""
import random

from small_problem import prepare, write_csv
from support.decks import deck_text
from support.tables import write_table

# The loss of this run is low long before the learning rate, which grows for half of the run, is too large.
DECK = deck_text(run=dict(name="rewind", epochs=20), data=dict(train="train.h5", test="test.h5", batch=96, normalize="standard"),
                 model=dict(type="mlp", hidden=[32, 16], loss="cross_entropy"), precision=dict(compute="fp32"),
                 precision__scaler=dict(max_consecutive_skips=4), optimizer=dict(type="sgd", lr=0.1),
                 schedule=dict(type="linear", warmup=200), checkpoint=dict(every=20),
                 health=dict(on_divergence="rewind", loss_factor=4, rewind_lr_factor=0.25))


# Targets that half has no room for: its head overflows at every loss scale, once it has learned enough.
LARGE_TARGETS = deck_text(run=dict(name="large-targets", epochs=20),
                          data=dict(train="large-train.h5", test="large-test.h5", batch=96),
                          model=dict(type="mlp", hidden=[16], loss="mse"), precision=dict(compute="fp32"),
                          precision__scaler=dict(max_consecutive_skips=4, initial_scale=1, min_scale=1e-6),
                          optimizer=dict(type="adam", lr=3), schedule=dict(type="linear", warmup=20), checkpoint=dict(every=20),
                          health=dict(on_divergence="rewind", exploding_norm=0, high_norm=0))

RATE, HEAD = "deck.toml", "large.toml"
# Ten divergences: the deck, ranks, and what makes a rate too large or a type too small.
INJECTED = {
    "rate-fp32": (RATE, 1, ["optimizer.lr=2"]),
    "rate-bf16": (RATE, 2, ["optimizer.lr=2", "precision.compute=bf16"]),
    "rate-fp16": (RATE, 3, ["optimizer.lr=2", "precision.compute=fp16"]),
    "rate-cut-state": (RATE, 4, ["optimizer.lr=4", "precision.compute=bf16", "optimizer.shard=state"]),
    "rate-cut-gradients": (RATE, 3, ["optimizer.lr=2", "optimizer.shard=gradients", "run.seed=2"]),
    "rate-adamw": (RATE, 2, ["optimizer.type=adamw", "optimizer.lr=1", "precision.compute=bf16"]),
    "rate-reproducible": (RATE, 2, ["optimizer.lr=2", "run.reproducible=true", "data.micro_batch=24", "run.seed=4"]),
    "head-fp16": (HEAD, 1, ["precision.compute=fp16"]),
    "head-fp16-cut": (HEAD, 3, ["precision.compute=fp16", "optimizer.shard=gradients", "run.seed=2"]),
    "static-scale": (RATE, 2, ["precision.compute=fp16", "precision.scaler.mode=static", "precision.scaler.initial_scale=1024"]),
}
STATIC_STEP = 200  # behind which its scale is too large
SAMPLE = ["rate-bf16", "head-fp16-cut", "static-scale"]


def write_large_targets(command, name, samples, seed):
    source, rows = random.Random(seed), []
    for _ in range(samples):
        row = [source.gauss(0, 1) for _ in range(8)]
        target = 4e4 * (row[0] + row[1] - row[2] + max(row[3], 0)) + source.gauss(0, 2e3)
        rows.append([*(f"{value:.6f}" for value in row), f"{target:.3f}"])
    write_table(command.folder / f"{name}.csv", [*(f"x{i}" for i in range(8)), "y"], rows)
    command.must("prepare", "csv", f"{name}.csv", "--targets", "y", "--out", f"{name}.h5")


def prepare_cases(command):
    prepare(command, DECK, samples=2000)
    write_csv(command.folder / "test.csv", 1000, 2)
    (command.folder / "test.h5").unlink()
    command.must("prepare", "csv", "test.csv", "--label", "class", "--out", "test.h5")
    write_large_targets(command, "large-train", 2000, 1)
    write_large_targets(command, "large-test", 500, 2)
    command.write(HEAD, LARGE_TARGETS)
