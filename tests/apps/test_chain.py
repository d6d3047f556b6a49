"""Networks that the deck lists layer by layer: they learn, restart bit for bit on any rank count, and are told what does not
fit."""
import re
import tempfile

import h5py
import numpy

from chain_comparison import compare_run
from random_chains import Deck
from support.cases import run_cases
from support.command import Command
from support.data_files import read_data, write_data, write_idx
from support.decks import deck_text, layer
from support.run_folders import compare_runs, last_checkpoint

RESIDUAL = [layer("conv", name="stem", outputs=8, kernel=3, activation="relu"),
            layer("conv", name="middle", outputs=8, kernel=3, norm="layernorm", activation="gelu", dropout=0.1, repeat=2),
            layer("add", skip_from="stem", activation="relu"), layer("conv", outputs=16, kernel=[3, 3], stride=[2, 2]), layer("dense")]


def chain(layers, compute="bf16", model=None):
    return deck_text(run=dict(name="chain", steps=60, evaluate_every=60),
                     data=dict(train="train.h5", test="test.h5", batch=48, normalize="standard"), model=model or dict(type="chain"),
                     layers=layers, precision=dict(compute=compute), optimizer=dict(lr=5e-3),
                     checkpoint=dict(every=30, keep_last=0))


def prepare_bars(command, name, samples, seed):
    """Images of a bright bar among noise, upright or lying: a class for each of two places of either."""
    source = numpy.random.default_rng(seed)
    images = source.integers(0, 100, (samples, 10, 12), dtype=numpy.uint8)
    labels = source.integers(0, 4, samples).astype(numpy.uint8)
    for image, label in zip(images, labels):
        place = 2 + 4 * (label % 2) + source.integers(0, 2)
        if label < 2:
            image[place, :] = 200
        else:
            image[:, place] = 200
    write_idx(command.folder / "images.gz", images)
    write_idx(command.folder / "labels.gz", labels)
    command.must("prepare", "idx", "images.gz", "labels.gz", "--out", f"{name}.h5")


def write_deck(command, layers=RESIDUAL, compute="bf16"):
    command.write("deck.toml", chain(layers, compute))


def check_learns(command):
    for compute in ("fp32", "bf16", "fp16"):
        write_deck(command, compute=compute)
        command.must("train", "deck.toml", f"run.folder=learn-{compute}")
        output = command.must("eval", f"learn-{compute}").stdout
        accuracy = float(re.search(r"accuracy[ :=]+([0-9.]+)", output).group(1))
        assert accuracy > 0.9, f"{compute}: {output}"
        print(f"{compute}: accuracy {accuracy}", flush=True)


def check_restart(command, full):
    write_deck(command)
    for ranks in (1, 2, 3, 4) if full else (1, 3):
        whole, parts = f"whole-{ranks}", f"parts-{ranks}"
        command.must("train", "deck.toml", f"run.folder={whole}", "run.steps=40", ranks=ranks)
        command.must("train", "deck.toml", f"run.folder={parts}", "run.steps=40", "--stop-after", 30, ranks=ranks, code=85)
        command.must("train", "deck.toml", f"run.folder={parts}", "run.steps=40", "--restart", "latest", ranks=ranks)
        count = compare_runs(command, whole, parts, f"{ranks} ranks")
        print(f"restart on {ranks} ranks: {count} datasets equal", flush=True)
    command.must("train", "deck.toml", "run.folder=parts-1", "run.steps=45", "--restart", "latest", ranks=3)


def check_names(command):
    with h5py.File(last_checkpoint(command, "whole-1")) as file:
        names = set(file["model"])
    assert {"stem", "middle.1", "middle.1.norm", "middle.2", "middle.2.norm", "conv4", "dense5"} <= names, names
    resolved = command.text("whole-1/resolved.toml")
    command.write("again.toml", resolved)
    command.must("train", "again.toml", "run.folder=again", "run.steps=40")
    compare_runs(command, "whole-1", "again", "the resolved deck")


def check_refused(command):
    def expect(error_id, layers, *parts, extra=()):
        write_deck(command, layers)
        command.must_refuse(["train", "deck.toml", "run.folder=refused", *extra], error_id, *parts)

    dense = layer("dense")
    stem = layer("conv", name="stem", outputs=8, kernel=3)
    expect("missing-key", [], "deck.toml", "[[model.layers]]")
    expect("bad-value", [layer("convolution"), dense], "deck.toml:13", "convolution", "layer 1 with kind")
    expect("unknown-key", [stem, layer("conv", kernl=3), dense], "layer 2 with 'kernl'", "'kernel'")
    expect("key-without-effect", [stem, layer("dense", kernel=3)],
           "'kernel', which only kind = \"conv\", \"max_pool\" or \"average_pool\" has")
    expect("missing-key", [layer("conv", kernel=3), dense], "layer 'conv1' needs 'outputs'")
    expect("duplicate-key", [stem, stem, dense], "layers 1 and 2", "'stem'")
    expect("bad-layer", [layer("conv", outputs=8, kernel=13, padding=0), dense], "layer 'conv1' cannot convolve", "10 x 12")
    expect("bad-layer", [layer("conv", outputs=6, groups=4), dense], "layer 'conv1' cannot convolve", "group")
    expect("unknown-name", [stem, layer("add", skip_from="later"), dense], "layer 'add2'", "'later'")
    expect("bad-layer", [stem, layer("add", skip_from="stem"), dense], "its input 'stem'")
    expect("bad-layer", [stem, layer("conv", outputs=4), layer("add", skip_from="stem"), dense], "an addition needs the same")
    expect("missing-key", [dense, stem, dense], "layer 'dense1' needs 'outputs'")
    expect("bad-layer", [layer("dense", outputs=9), stem, dense], "layer 'stem'", "a vector of 9")
    expect("bad-layer", [stem, layer("dense", outputs=5)], "5 outputs", "4 classes")
    expect("data-mismatch", [stem, dense], "data.shape", "120", extra=["data.shape=[7, 7, 2]"])
    expect("bad-value", [stem, dense], "'data.shape' must be a list of 2 to 4", extra=["data.shape=[120]"])
    with h5py.File(command.folder / "train.h5", "r+") as file:
        file.attrs["shape"] = "10 13"
    expect("bad-dataset", [stem, dense], "attribute 'shape' of / is '10 13'", "120")


def check_other_answers(command):
    """Of data that ask for other outputs than the last layer says itself."""
    write_deck(command, [layer("dense", outputs=4)])
    command.must("train", "deck.toml", "run.folder=four", "run.steps=2")
    with h5py.File(command.folder / "test.h5") as file:
        inputs, labels, shape = file["inputs"][()], file["labels"][()], file.attrs["shape"]
    write_data(command.folder / "nine.h5", inputs=inputs, labels=labels, shape=shape, classes=9)
    for metrics in [], ["--metrics", "confusion"]:
        command.must_refuse(["eval", "four", "--data", "nine.h5", *metrics], "bad-layer", "'dense1', has 4", "9 classes")


def check_other_grid(command):
    """Images that lie the other way have as many pixels: no MLP can go by that, nor a network with a dense layer on the grid."""
    write_deck(command, [layer("conv", outputs=4), layer("dense")])
    with h5py.File(command.folder / "test.h5") as file:
        inputs, labels, classes = file["inputs"][()], file["labels"][()], file.attrs["classes"]
    for name, shape in (("turned", "12 10 1"), ("upright", "10 12"), ("mute", "")):
        with h5py.File(command.folder / f"{name}.h5", "w") as file:
            file["inputs"], file["labels"], file.attrs["classes"] = inputs, labels, classes
            if shape:
                file.attrs["shape"] = shape
    command.write("mlp.toml", chain([], model=dict(hidden=[8])))
    for deck, folder in (("deck.toml", "lies"), ("mlp.toml", "lies-flat")):
        for ranks in (1, 2):
            command.must_refuse(["train", deck, "run.folder=refused", "data.test=turned.h5"], "data-mismatch", "turned.h5: ",
                                "12 x 10 x 1, those of train.h5", "10 x 12 x 1", ranks=ranks)
        command.must("train", deck, f"run.folder={folder}", "run.steps=2", "data.test=upright.h5")
        for words in (["eval", folder, "--data", "turned.h5"], ["predict", folder, "turned.h5", "out.h5"]):
            for ranks in (1, 2):
                command.must_refuse(words, "data-mismatch", "turned.h5: ", f"{folder}/checkpoints/step-", "12 x 10 x 1", "10 x 12 x 1",
                                    ranks=ranks)
        assert not (command.folder / "out.h5").exists()
        command.must("eval", folder, "--data", "upright.h5")
    command.must("predict", "lies-flat", "mute.h5", "out.h5")
    (command.folder / "train.h5").rename(command.folder / "moved.h5")
    command.must_refuse(["eval", "lies", "--data", "turned.h5"], "data-mismatch", "turned.h5", "10 x 12 x 1")
    (command.folder / "moved.h5").rename(command.folder / "train.h5")
    # The deck's own grid is in the checkpoint, wherever the training data have gone.
    command.must("train", "deck.toml", "run.folder=own", "run.steps=2", "data.train=mute.h5", "data.test=upright.h5",
                 "data.shape=[10, 12, 1]")
    (command.folder / "mute.h5").unlink()
    command.must_refuse(["predict", "own", "turned.h5", "out.h5"], "data-mismatch", "turned.h5", "10 x 12 x 1")
    command.must("predict", "own", "upright.h5", "out.h5")


def check_residual(command, full):
    """The input is added to the output, in float: against NumPy in double, and bit for bit where nothing is added to it."""
    with tempfile.TemporaryDirectory() as folder:
        command, source = Command(command.program, folder), numpy.random.default_rng(4)
        states = source.standard_normal((21, 6, 5, 2)).astype("f4")
        later = (states + 0.05 * numpy.roll(states, 1, axis=1)).astype("f4")
        rows = [array.reshape(len(array), -1) for array in (states, later)]
        test = dict(zip(("inputs", "targets"), (array[14:] for array in rows)))
        deck = Deck({"run": {"steps": 2, "seed": 5, "folder": "run"},
                     "data": {"train": "data.h5", "test": "test.h5", "batch": 6, "micro_batch": 4, "normalize": "standard",
                              "shape": [6, 5, 2]},
                     "model": {"type": "chain", "loss": "mse", "residual": True}, "precision": {"compute": "fp32"},
                     "memory": {"recompute": "none", "times": "model"},
                     "optimizer": {"type": "sgd", "momentum": 0.0, "lr": 0.05, "weight_decay": 0.0},
                     "checkpoint": {"every": 1, "keep_last": 0}},
                    [layer("conv", name="first", outputs=4, kernel=3, activation="gelu"),
                     layer("conv", name="head", outputs=2, kernel=3)],
                    dict(zip(("inputs", "targets"), (array[:14] for array in rows))))
        command.write("deck.toml", deck.text())
        write_data(command.folder / "data.h5", **deck.arrays)
        write_data(command.folder / "test.h5", **test)
        command.must("train", "deck.toml")
        compare_run(command, deck, test)
        for compute in ("fp32", "bf16", "fp16"):
            # Restarted in between and recomputed as well; where these bits differ, --full says which of both it is.
            runs = [f"{compute}-{name}" for name in (("stored", "again", "restarted") if full else ("stored", "restarted"))]
            for run in runs:
                keys = ["memory.recompute=none" if run == runs[0] else "memory.recompute=all"]
                stop = ["--stop-after", 1] if run == runs[-1] else []
                words = ["train", "deck.toml", f"run.folder={run}", f"precision.compute={compute}", *keys]
                command.must(*words, *stop, ranks=2, code=85 if stop else 0)
                if stop:
                    command.must(*words, "--restart", "latest", ranks=2)
            for run in runs[1:]:
                compare_runs(command, runs[0], run)
        command.must("train", "deck.toml", "run.folder=same", "precision.compute=bf16", "data.normalize=none",
                     "optimizer.lr=1e-30", 'model.initialize=[{ match = "head/*", kind = "constant", value = 0.0 }]')
        command.must("predict", "same", "test.h5", "same.h5")
        assert numpy.array_equal(read_data(command.folder / "same.h5", "outputs"), test["inputs"]), "what is added to nothing is not the input"
        assert "residual = true" in command.must("train", "deck.toml", "--check", "run.folder=new").stdout
        assert re.search(r"^ *residual +add ", command.must("plan", "deck.toml").stdout, re.MULTILINE)
        said = command.must("train", "deck.toml", "run.folder=new", "model.loss=binary_cross_entropy", code=2).stderr
        assert "'model.residual'" in said, said
        deck.sections["data"]["shape"] = [6, 10, 1]  # the convolutions take it, and give another one
        deck.layers[1] |= {"outputs": 4, "stride": [2, 2], "padding": 1, "kernel": [3, 3]}
        command.write("other.toml", deck.text())
        command.must_refuse(["train", "other.toml", "run.folder=new"], "bad-layer", "model.residual", "6 x 10 points of 1 channel",
                            "3 x 5 points of 4 channels")


run_cases((prepare_bars, "train", 960, 1), (prepare_bars, "test", 240, 2), check_learns, check_restart, check_names,
          check_other_answers, check_other_grid, check_refused, check_residual)
