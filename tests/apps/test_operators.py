"""Fourier neural operators: they learn, keep every promise that other networks keep (restarts, ranks, recomputation, shards,
reproducible runs, averages, frozen groups), and compute on other grids than that of their training."""
import re

import h5py
import numpy

from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import compare, compare_runs, history_without_times, last_checkpoint

ROLLOUT = deck_text(run=dict(name="stepper", steps=4), data=dict(train="coarse.h5", batch=4, normalize="channel"),
                    data__arrays=dict(inputs=["/u"], targets=["/u"], axes="sample time y x"),
                    model=dict(type="fno", modes=4, width=6, blocks=1, loss="mse"))

RICH = dict(norm="groupnorm", padding=[0.25, 0])  # what differs between layers


def fields_on(source, samples, extents):
    """Random periodic fields of few wave numbers, and their derivatives along both axes: an operator that any grid shows."""
    y, x = numpy.meshgrid(*(numpy.arange(n) / n for n in extents), indexing="ij")
    inputs, targets = numpy.zeros((samples, *extents, 1)), numpy.zeros((samples, *extents, 2))
    for k in range(-2, 3):
        for m in range(0, 3):
            phase = 2 * numpy.pi * (k * y + m * x)
            for sample in range(samples):
                a, b = source.normal(0, 1, 2)
                inputs[sample, ..., 0] += a * numpy.cos(phase) + b * numpy.sin(phase)
                slope = b * numpy.cos(phase) - a * numpy.sin(phase)
                targets[sample, ..., 0] += k * slope
                targets[sample, ..., 1] += m * slope
    return inputs, targets


def write_samples(command, name, extents, samples=48, seed=1):
    inputs, targets = fields_on(numpy.random.default_rng(seed), samples, extents)
    with h5py.File(command.folder / name, "w") as file:
        file["inputs"] = inputs.reshape(samples, -1).astype("f4")
        file["targets"] = targets.reshape(samples, -1).astype("f4")
        file.attrs["shape"] = " ".join(map(str, [*extents, 1]))
    return targets


def write_deck(command, compute="bf16", layers=(), **more):
    """Of an operator, whose [model] has more keys, or of a chain."""
    model = dict(type="chain") if layers else dict(type="fno", modes=[6, 5], width=8, blocks=2)
    command.write("deck.toml", deck_text(
        run=dict(name="operator", steps=12, log_every=1), data=dict(train="train.h5", test="test.h5", batch=12, normalize="channel"),
        model=model | dict(loss="relative_l2") | more, layers=layers, precision=dict(compute=compute), optimizer=dict(lr=5e-3),
        checkpoint=dict(every=6, keep_last=0)))


def train(command, folder, *keys, ranks=1, code=0):
    result = command.run("train", "deck.toml", f"run.folder={folder}", *keys, ranks=ranks)
    assert result.returncode == code, f"{folder}: exit code {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def error_of(command, folder, data):
    said = command.must("eval", folder, "--data", data).stdout
    return float(re.search(r"loss ([0-9.e+-]+)", said).group(1))


def check_learns_on_any_grid(command):
    """The operator is the same on each grid, and so is the error, as far as the network is resolved."""
    for compute in ("fp32", "bf16", "fp16"):
        write_deck(command, compute, fields=2)
        train(command, f"learn-{compute}", "run.steps=120", "data.batch=16")
        own = error_of(command, f"learn-{compute}", "test.h5")
        finer = error_of(command, f"learn-{compute}", "finer.h5")
        assert own < 0.25 and abs(finer - own) < 0.3 * own, f"{compute}: {own} on its grid, {finer} on a finer one"
        print(f"{compute}: relative error {own} on its grid, {finer} on a finer one", flush=True)


def check_restart(command, full):
    write_deck(command, fields=2, **RICH)
    for ranks in (1, 2, 3, 4) if full else (1, 3):
        whole, parts = f"whole-{ranks}", f"parts-{ranks}"
        train(command, whole, ranks=ranks)
        train(command, parts, "--stop-after", 6, ranks=ranks, code=85)
        train(command, parts, "--restart", "latest", ranks=ranks)
        count = compare_runs(command, whole, parts, f"{ranks} ranks")
        print(f"restart on {ranks} ranks: {count} datasets equal", flush=True)


def check_same_bits(command):
    """Whatever is stored, recomputed and sharded."""
    write_deck(command, fields=2, **RICH)
    mixed = ['precision.rules={"*_spectral"="fp32", coordinates="fp32"}', "data.micro_batch=2"]
    for name, keys, ranks in (("plain", [], 2), ("mixed", mixed, 3)):
        train(command, f"stored-{name}", "memory.recompute=none", *keys, ranks=ranks)
        stored = last_checkpoint(command, f"stored-{name}")
        for variant in ("memory.recompute=all", "memory.recompute=every 4", "optimizer.shard=state"):
            folder = f"{name}-{variant}".replace(" ", "-")
            train(command, folder, variant, *keys, ranks=ranks)
            compare(stored, last_checkpoint(command, folder), folder)
    special = ["optimizer.average=0.9", 'optimizer.groups=[{match="lift*", frozen=true}, {match="*/bias", lr_factor=0.5}]']
    train(command, "special", *special, ranks=2)
    train(command, "special-cut", *special, "optimizer.shard=state", ranks=2)
    compare_runs(command, "special", "special-cut", "average, frozen and shards")
    with h5py.File(last_checkpoint(command, "special")) as file:
        assert "average/block1_spectral/weight" in file and "average/block1/weight" in file, list(file["average"])
    print("recomputed, with types of layers, shards, an average and frozen layers: equal bits", flush=True)


def check_reproducible(command, full):
    write_deck(command, "fp32", fields=2, **RICH)
    others = (2, 4) if full else (4,)
    for ranks in (1, *others):
        train(command, f"reproducible-{ranks}", "run.reproducible=true", "data.micro_batch=3", ranks=ranks)
    for ranks in others:
        compare_runs(command, "reproducible-1", f"reproducible-{ranks}", f"{ranks} ranks")
        assert history_without_times(command, "reproducible-1") == history_without_times(command, f"reproducible-{ranks}")
    print(f"reproducible on 1 rank and on {others}", flush=True)


def predictions(command, folder, data, name, ranks=1):
    said = command.must("predict", folder, data, name, ranks=ranks).stdout
    return read_data(command.folder / name, "outputs"), said


def check_predictions_on_another_grid(command):
    write_deck(command, fields=2, **RICH)
    train(command, "any")
    own, said = predictions(command, "any", "test.h5", "own.h5")
    assert own.shape == (48, 8 * 10 * 2) and "those of the training" not in said, (own.shape, said)
    finer, said = predictions(command, "any", "finer.h5", "finer-out.h5")
    assert finer.shape == (48, 15 * 21 * 2), finer.shape
    assert "finer.h5" in said and "15 x 21 x 1" in said and "8 x 10 x 1" in said, said
    on_ranks, _ = predictions(command, "any", "finer.h5", "ranks-out.h5", ranks=3)
    assert finer.tobytes() == on_ranks.tobytes(), "3 ranks predict other bits"
    command.must("export", "any", "model.h5")
    of_file, _ = predictions(command, "model.h5", "finer.h5", "file-out.h5")
    assert finer.tobytes() == of_file.tobytes(), "a model file predicts other bits"
    assert "loss" in command.must("eval", "model.h5", "--data", "finer.h5").stdout
    print("predictions on another grid: the same on ranks and of a model file", flush=True)


def require_refusal(result, *parts):
    assert result.returncode == 2, f"exit code {result.returncode}: {result.stdout}{result.stderr}"
    for part in parts:
        assert part in result.stderr, f"expected {part!r}: {result.stderr}"


def check_refusals(command):
    write_samples(command, "coarser.h5", (2, 10), samples=4)
    require_refusal(command.run("predict", "any", "coarser.h5", "out.h5", ranks=2), "'block1_spectral'",
                    "2 x 10 x 1", "6 modes", "largest number allowed")
    for name, shape in (("two", (15, 21, 2)), ("cube", (4, 4, 6, 1))):
        with h5py.File(command.folder / f"{name}.h5", "w") as file:
            file["inputs"] = numpy.ones((4, numpy.prod(shape)), "f4")
            file.attrs["shape"] = " ".join(map(str, shape))
        require_refusal(command.run("predict", "any", f"{name}.h5", "out.h5"), f"{name}.h5: ", " x ".join(map(str, shape)),
                        "8 x 10 x 1", "the same number of axes and channels")
    write_deck(command, "fp32", [layer("conv", outputs=3, kernel=3, activation="relu"), layer("dense", name="all")])
    train(command, "dense")
    require_refusal(command.run("predict", "dense", "finer.h5", "out.h5"), "'all' (linear)", "15 x 21 x 1", "samples of 8 x 10 x 1")
    write_deck(command, fields=2)
    train(command, "points", "data.normalize=standard")
    require_refusal(command.run("eval", "points", "--data", "finer.h5"), "data.normalize", '"channel"', "15 x 21 x 1")
    require_refusal(command.run("train", "deck.toml", "model.modes=[12, 5]"), "'block1_spectral'", "12 modes", "8 points")
    require_refusal(command.run("train", "deck.toml", "model.modes=[4, 4, 4]"), "3 numbers in 'modes'", "2 axes")
    require_refusal(command.run("train", "deck.toml", "model.padding=1.5"), "model.padding", "from 0 to 1")
    require_refusal(command.run("train", "deck.toml", "model.channels=[8]"), "model.channels", "model.type")


def write_levels(command, name, extents):
    source = numpy.random.default_rng(5)
    levels = numpy.stack([fields_on(source, 5, extents)[0][..., 0] for _ in range(3)])
    write_data(command.folder / name, u=levels.astype("f4"))


def check_rollout_on_another_grid(command):
    write_levels(command, "coarse.h5", (6, 8))
    write_levels(command, "fine.h5", (9, 12))
    command.write("deck.toml", ROLLOUT)
    command.must("train", "deck.toml", "run.folder=stepper")
    for data, extents in (("coarse.h5", (6, 8)), ("fine.h5", (9, 12))):
        command.must("rollout", "stepper", data, "--steps", 3, "--out", f"rolled-{data}", "--truth", data, ranks=2)
        with h5py.File(command.folder / f"rolled-{data}") as file:
            assert file["u"].shape[-2:] == extents and numpy.isfinite(file["u"][()]).all(), file["u"].shape
        assert len(command.rows(f"rolled-{data}".replace(".h5", ".errors.csv"))) == 3
    command.must("predict", "stepper", "fine.h5", "one.h5")
    command.write("deck.toml", ROLLOUT + "[rollout]\nsteps = 2\n")
    for folder, words in (("through", []), ("again", ["memory.recompute=all"])):
        command.must("train", "deck.toml", f"run.folder={folder}", *words)
    compare_runs(command, "through", "again", "rollout training with recomputation")
    print("rollouts and predictions of arrays on another grid", flush=True)


def check_resolved(command):
    """The resolved deck lists the layers, and makes the same network."""
    write_deck(command, fields=2, **RICH)
    text = command.text("whole-1/resolved.toml")
    assert 'type = "chain"' in text and 'kind = "spectral"' in text and "gated = true" in text and "width" not in text, text
    command.must("train", "whole-1/resolved.toml", "run.folder=resolved")
    compare_runs(command, "whole-1", "resolved", "the resolved deck")
    plan = command.json("plan", "deck.toml", "memory.times=model", "--json")
    assert plan["activation_bytes"] > 0, plan
    assert "block1_spectral" in command.must("plan", "deck.toml", "memory.times=model").stdout


def set_up(command):
    write_samples(command, "train.h5", (8, 10), samples=96)
    write_samples(command, "test.h5", (8, 10), seed=2)
    write_samples(command, "finer.h5", (15, 21), seed=3)


run_cases(set_up, check_restart, check_resolved, check_same_bits, check_reproducible, check_predictions_on_another_grid,
          check_refusals, check_rollout_on_another_grid, check_learns_on_any_grid)
