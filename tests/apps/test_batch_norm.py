"""Batch normalisation in a run: its running statistics are those of the samples, the same on all ranks, moved once by applied
steps only, in the checkpoint; and ranks that normalise together compute what one does."""
import pathlib
import re
import shutil

import numpy

from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text, layer
from support.run_folders import compare_runs, history_without_times, last_checkpoint, weights_of

SAMPLES, CHANNELS = 192, 3

INPUT_ONLY = [layer("norm", norm="batchnorm", name="first"), layer("dense")]


def vectors(**keys):
    """Each sample is one value of each of four channels. `keys`: of the layers with a norm."""
    return [layer("dense", name="first", outputs=4, norm="batchnorm", **keys), layer("dense")]


def residual(dropout=0.0, skip=None, **keys):
    """A residual stage whose connection has a layer of its own. A bias that batch normalisation takes away again would have no
    gradient but rounding, by which AdamW moves it as by any other."""
    norm = dict(bias=False, norm="batchnorm", **keys)
    return [layer("conv", name="stem", outputs=8, kernel=3, activation="relu", **norm),
            layer("conv", name="shortcut", outputs=12, stride=2, **norm), layer("branch", skip_from="stem"),
            layer("conv", outputs=12, kernel=3, stride=2, activation="silu", dropout=dropout, **norm),
            skip or layer("add", skip_from="shortcut", activation="relu"), layer("global_pool"), layer("dense")]


OVER_RANKS = dict(norm_over="ranks")


def write_samples(command, name, samples, seed):
    """The class is the channel that is brightest on one side."""
    source = numpy.random.default_rng(seed)
    labels = source.integers(0, 2 * CHANNELS, samples).astype(numpy.int32)
    images = source.normal(3, 2, (samples, 6, 8, CHANNELS)).astype(numpy.float32)
    for image, label in zip(images, labels):
        half = slice(0, 4) if label < CHANNELS else slice(4, 8)
        image[:, half, label % CHANNELS] += 3
    write_data(command.folder / name, inputs=images.reshape(samples, -1), labels=labels, classes=2 * CHANNELS)
    return images


def write_deck(command, layers, compute="fp32"):
    command.write("deck.toml", deck_text(run=dict(name="normalised", steps=20, log_every=1),
                                         data=dict(train="train.h5", test="test.h5", batch=32, shape=[6, 8, 3]),
                                         model=dict(type="chain"), layers=layers, precision=dict(compute=compute),
                                         optimizer=dict(lr=2e-3), checkpoint=dict(every=10, keep_last=0)))


def buffers(command, folder):
    return weights_of(last_checkpoint(command, folder), ["buffers"])


def check_are_those_of_the_samples(command):
    """The first layer sees the data: one step over all of them, however they are shared out."""
    images = write_samples(command, "train.h5", SAMPLES, 1)
    write_samples(command, "test.h5", 96, 2)
    write_deck(command, INPUT_ONLY)
    points = images.reshape(-1, CHANNELS).astype(numpy.float64)
    for ranks, micro_batch in ((1, 0), (1, 50), (3, 0), (4, 7)):
        folder = f"input-{ranks}-{micro_batch}"
        command.must("train", "deck.toml", f"run.folder={folder}", "run.steps=1", f"data.batch={SAMPLES}",
                     f"data.micro_batch={micro_batch}", ranks=ranks)
        found = buffers(command, folder)
        numpy.testing.assert_allclose(found["first/running_mean"], 0.1 * points.mean(0), rtol=2e-6)
        numpy.testing.assert_allclose(found["first/running_variance"], 0.9 + 0.1 * points.var(0, ddof=1), rtol=2e-6)
    print("running statistics are numpy's, on 1, 3 and 4 ranks", flush=True)


def check_skipped_steps_move_nothing(command):
    write_deck(command, residual(), "fp16")
    command.must("train", "deck.toml", "run.folder=skipped", "run.steps=1", "precision.scaler.initial_scale=16777216", ranks=2)
    assert history_without_times(command, "skipped")[0]["overflow"] == "1", "the scale should be too large"
    for name, values in buffers(command, "skipped").items():
        expected = 0 if name.endswith("mean") else 1
        assert numpy.all(values == expected), f"{name} moved in a skipped step: {values}"


def check_learns(command):
    for compute in ("fp32", "bf16", "fp16"):
        write_deck(command, residual(), compute)
        command.must("train", "deck.toml", f"run.folder=learn-{compute}", "run.steps=150", "optimizer.lr=1e-2")
        accuracy = float(re.search(r"accuracy ([0-9.]+)", command.must("eval", f"learn-{compute}").stdout).group(1))
        assert accuracy > 0.9, f"{compute}: {accuracy}"
        print(f"{compute}: accuracy {accuracy}", flush=True)


def check_restart(command, full):
    write_deck(command, residual(dropout=0.2, **OVER_RANKS), "bf16")
    for ranks in (1, 2, 3, 4) if full else (1, 3):
        whole, parts = f"whole-{ranks}", f"parts-{ranks}"
        command.must("train", "deck.toml", f"run.folder={whole}", ranks=ranks)
        command.must("train", "deck.toml", f"run.folder={parts}", "--stop-after", 10, ranks=ranks, code=85)
        command.must("train", "deck.toml", f"run.folder={parts}", "--restart", "latest", ranks=ranks)
        count = compare_runs(command, whole, parts, f"{ranks} ranks")
        print(f"restart on {ranks} ranks: {count} datasets equal", flush=True)
    command.must("train", "deck.toml", "run.folder=parts-3", "run.steps=25", "--restart", "latest", ranks=2)


def check_ranks_together(command, full):
    """3 ranks of unequal shares of 32 samples are 1 of all; so are 4 of 8 each."""
    write_deck(command, residual(**OVER_RANKS))
    others = (3, 4) if full else (3,)
    for ranks in (1, *others):
        command.must("train", "deck.toml", f"run.folder=together-{ranks}", ranks=ranks)
    alone, statistics = history_without_times(command, "together-1"), buffers(command, "together-1")
    for ranks in others:
        for a, b in zip(alone, history_without_times(command, f"together-{ranks}")):
            assert abs(float(a["loss"]) - float(b["loss"])) < 2e-4, f"step {a['step']} on {ranks} ranks: {a['loss']}, {b['loss']}"
        for name, values in buffers(command, f"together-{ranks}").items():
            numpy.testing.assert_allclose(values, statistics[name], rtol=2e-3, atol=1e-4, err_msg=name)
    said = command.must("train", "deck.toml", "run.folder=shown", "--debug-tensors", 2, ranks=3).stdout
    assert "tensors of step 2 on rank 0" in said and "tensors of step 3" not in said, said
    compare_runs(command, "together-3", "shown", "--debug-tensors")
    write_deck(command, residual())
    command.must("train", "deck.toml", "run.folder=apart-4", ranks=4)
    apart = [float(row["loss"]) for row in history_without_times(command, "apart-4")]
    assert max(abs(float(a["loss"]) - b) for a, b in zip(alone, apart)) > 1e-3, "ranks on their own should differ"


def check_unequal_micro_batches(command):
    """A rank without samples in some micro-batch takes part; sharded masters and gradients have the same bits."""
    write_deck(command, residual(**OVER_RANKS))
    options = ["data.batch=33", "run.steps=4"]
    command.must("train", "deck.toml", "run.folder=uneven", *options, "data.micro_batch=16", ranks=2)
    command.must("train", "deck.toml", "run.folder=uneven-state", *options, "data.micro_batch=16", "optimizer.shard=state", ranks=2)
    compare_runs(command, "uneven", "uneven-state", "optimizer.shard = state")
    small = ["run.steps=4", "communication.bucket=1 KiB"]
    command.must("train", "deck.toml", "run.folder=plain", *small, ranks=3)
    command.must("train", "deck.toml", "run.folder=cut", *small, "optimizer.shard=gradients", ranks=3)
    compare_runs(command, "plain", "cut", "optimizer.shard = gradients")


def check_recompute(command, full):
    write_deck(command, residual(dropout=0.2, **OVER_RANKS), "bf16")
    plans = {"none": "none", "all": "all", "groups": "[[0, 2], [3, 6]]"} | ({"every": "every 2"} if full else {})
    for name, recompute in plans.items():
        command.must("train", "deck.toml", f"run.folder=recompute-{name}", f"memory.recompute={recompute}", ranks=2)
    for name in list(plans)[1:]:
        count = compare_runs(command, "recompute-none", f"recompute-{name}", name)
    print(f"recompute: {count} datasets equal in {len(plans)} plans", flush=True)


def check_starting_from(command):
    """Running statistics go with the weights, by way of a checkpoint and of safetensors: the same evaluation."""
    write_deck(command, residual(), "bf16")
    command.must("train", "deck.toml", "run.folder=base")
    expected = command.must("eval", "base").stdout
    command.must("convert", "base", "base.safetensors")
    write_deck(command, residual(norm_momentum=1e-7), "bf16")
    for source in ("base.safetensors", last_checkpoint(command, "base")):
        folder = f"from-{pathlib.Path(source).suffix[1:]}"
        command.must("train", "deck.toml", f"run.folder={folder}", f"run.initial={source}", "run.steps=1", "optimizer.lr=1e-30")
        for name, values in buffers(command, folder).items():
            numpy.testing.assert_allclose(values, buffers(command, "base")[name], rtol=1e-5, atol=1e-5, err_msg=name)
        found = command.must("eval", folder).stdout
        assert [float(number) for number in re.findall(r"\d+\.\d+", found)] == [
            float(number) for number in re.findall(r"\d+\.\d+", expected)], f"{found} is not {expected}"


def check_refused(command):
    write_deck(command, vectors())
    command.must_refuse(["train", "deck.toml", "run.folder=refused", "data.micro_batch=1"], "too-little-data", "'first.norm'",
                        "data.micro_batch")
    # Micro-batches of 2 and 1; ranks with 2, 1 and 1; of one rank 3 and 1, of the others 3.
    for ranks, batch, micro_batch, cure in ((1, 3, 2, "data.micro_batch = 3"), (3, 4, 0, "data.batch = 6"),
                                            (3, 10, 3, "data.micro_batch = 4")):
        options = ["run.folder=few", f"data.batch={batch}", f"data.micro_batch={micro_batch}", "run.steps=1"]
        for over in ({}, OVER_RANKS):
            write_deck(command, vectors(**over))
            if over and batch == 4:
                command.must("train", "deck.toml", *options, ranks=ranks)
                shutil.rmtree(command.folder / "few")
                continue
            for check in ([], ["--check"]) if ranks == 1 else ([],):
                command.must_refuse(["train", "deck.toml", *options, *check], "too-little-data", "'first.norm'", cure, ranks=ranks)
            assert not (command.folder / "few" / "checkpoints").exists()
    write_deck(command, vectors())
    for more in ([], ["memory.on_oom=shrink"]):
        command.must_refuse(["train", "deck.toml", "run.folder=refused", "memory.budget=20 MiB", *more], "does-not-fit",
                            "20 MiB", "memory.budget = ", code=3)
    write_deck(command, residual())
    command.must_refuse(["train", "deck.toml", "run.folder=refused", "run.reproducible=true", "data.micro_batch=8"], "not-reproducible",
                        "run.reproducible", "groupnorm")
    write_deck(command, residual(skip=layer("add", skip_from="stem", activation="relu")))
    result = command.must("train", "deck.toml", "run.folder=refused", code=2)
    assert "an addition needs the same" in result.stderr, result.stderr
    write_deck(command, residual(skip=layer("activation", activation="relu")))
    result = command.must("train", "deck.toml", "run.folder=refused", code=2)
    assert "'shortcut.norm' has an output that no layer reads" in result.stderr, result.stderr
    write_deck(command, residual(norm_groups=4))
    result = command.must("train", "deck.toml", "run.folder=refused", code=2)
    assert "which only norm = \"groupnorm\" has" in result.stderr, result.stderr


run_cases(check_are_those_of_the_samples, check_skipped_steps_move_nothing, check_learns, check_restart, check_ranks_together,
          check_unequal_micro_batches, check_recompute, check_starting_from, check_refused)
