"""mylos export: model files give the bits of their checkpoints, and hold what NumPy makes of the weights."""
import re

import h5py
import numpy

from model_files import require_model, type_of
from small_problem import DECK, gpt_deck, prepare, prepare_text
from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint
from support.tables import write_table

FIELDS = deck_text(run=dict(name="fields", steps=6), data=dict(train="fields.h5", batch=8, normalize="channel"),
                   model=dict(type="chain", loss="mse"),
                   layers=[layer("conv", outputs=6, kernel=3, norm="batchnorm", activation="relu", name="deep", repeat=2),
                           layer("conv", outputs=2)], precision=dict(compute="fp16", rules={"deep.2": "bf16", "conv2": "fp32"}))


def outputs(command, network, data, ranks=1, options=()):
    command.must("predict", network, data, "outputs.h5", *options, ranks=ranks)
    return read_data(command.folder / "outputs.h5", "outputs").tobytes()


def require_same_outputs(command, run, model, data, options=()):
    for ranks in (1, 2):
        expected = outputs(command, run, data, ranks, options)
        assert outputs(command, model, data, ranks) == expected, (run, model, ranks)


def judged(text):
    return re.sub(r"^\S+ at step \d+(, average of weights,)?", "", text.splitlines()[-1])


def check_types(command):
    """Runs of three types on one and two ranks, with sharded masters: the model file of the run's own type has its bits."""
    for kind in ("fp32", "bf16", "fp16"):
        for ranks in (1, 2):
            run, model = f"{kind}-{ranks}", f"{kind}-{ranks}.h5"
            command.must("train", "deck.toml", f"run.folder={run}", f"run.name=of-{run}", f"precision.compute={kind}",
                         "optimizer.shard=" + ("none" if ranks == 1 else "state"), ranks=ranks)
            said = command.must("export", run, model).stdout
            checkpoint = last_checkpoint(command, run)
            assert said.startswith(f"{model}: model of step 32 in {kind}, 867 weights (") and checkpoint.name in said, said
            source = require_model(command.folder / model, checkpoint, kind)
            assert source["run"] == f"of-{run}" and source["compute"] == kind and source["weights"] == "current", source
            assert source["checkpoint"] == checkpoint.name and source["code_version"], source
            require_same_outputs(command, run, model, "test.h5")
            ours, theirs = (judged(command.must("eval", one, "--data", "test.h5").stdout) for one in (model, run))
            assert ours == theirs, (ours, theirs)
    for kind in ("fp32", "bf16", "fp16"):  # of a run in bf16
        command.must("export", last_checkpoint(command, "bf16-1"), "other.h5", "--type", kind)
        source = require_model(command.folder / "other.h5", last_checkpoint(command, "bf16-1"), kind)
        assert source["compute"] == "bf16", source
        same = outputs(command, "other.h5", "test.h5") == outputs(command, "bf16-1", "test.h5")
        assert same == (kind == "bf16"), kind
    # An fp32 run and a bf16 run that began with its weights, and did not change them, are the same in bf16.
    command.must("export", "fp32-1", "other.h5", "--type", "bf16")
    command.must("train", "deck.toml", "run.folder=still", f"run.initial={last_checkpoint(command, 'fp32-1')}", "run.epochs=1",
                 "optimizer.lr=1e-30", "optimizer.weight_decay=0")
    assert outputs(command, "other.h5", "test.h5") == outputs(command, "still", "test.h5")


def check_average_and_best(command):
    command.must("train", "deck.toml", "run.folder=kept", "optimizer.average=0.9", "data.validation=0.2", "run.evaluate_every=5",
                 "optimizer.lr=0.3", "checkpoint.keep_best=validation.loss")
    folder = command.folder / "kept/checkpoints"
    best = folder / (folder / "best").read_text().strip()
    assert best.name != last_checkpoint(command, "kept").name, "the test shows nothing"
    for options, checkpoint in (([], last_checkpoint(command, "kept")), (["--best"], best)):
        for weights in ("model", "average"):
            flags = options + (["--average"] if weights == "average" else [])
            said = command.must("export", "kept", "kept.h5", *flags).stdout
            assert checkpoint.name in said and ("average" in said) == (weights == "average"), said
            source = require_model(command.folder / "kept.h5", checkpoint, "bf16", weights)
            assert source["weights"] == {"model": "current"}.get(weights, weights), source
            require_same_outputs(command, "kept", "kept.h5", "test.h5", flags)
    command.must_refuse(["predict", "kept.h5", "test.h5", "x.h5", "--average"], "no-average", "kept.h5", "model file")
    command.must_refuse(["predict", "kept.h5", "test.h5", "x.h5", "--best"], "not-a-folder", "kept.h5")
    command.must_refuse(["export", "bf16-1", "x.h5", "--average"], "no-average", "optimizer.average")
    command.must_refuse(["export", "bf16-1", "x.h5", "--best"], "no-checkpoint", "best")
    assert not (command.folder / "x.h5").exists()


def check_names(command):
    """Columns with names, in another order: they are found by the names that the model file has."""
    source = numpy.random.default_rng(3)
    rows = source.normal(size=(200, 3))
    for name, columns in (("flow", ["speed", "angle", "drag", "lift"]), ("turned", ["angle", "speed", "lift", "drag"])):
        values = {"speed": rows[:, 0] + 30, "angle": rows[:, 1], "drag": rows[:, 0], "lift": rows[:, 1] * 70}
        write_table(command.folder / f"{name}.csv", columns,
                    ([f"{values[column][i]:.6f}" for column in columns] for i in range(len(rows))))
        command.must("prepare", "csv", f"{name}.csv", "--targets", "drag,lift", "--out", f"{name}.h5")
    command.must("train", "deck.toml", "run.folder=named", "data.train=flow.h5", "data.test=flow.h5", "model.loss=mse")
    command.must("export", "named", "named.h5")
    require_model(command.folder / "named.h5", last_checkpoint(command, "named"), "bf16")
    with h5py.File(command.folder / "named.h5") as file:
        assert file["samples/input_names"][()] == b"speed\nangle" and file["samples/target_names"][()] == b"drag\nlift"
    for data in ("flow.h5", "turned.h5"):
        require_same_outputs(command, "named", "named.h5", data)
    said = command.must("info", "named.h5").stdout
    assert "mylos-model 1, digest verified" in said and "speed" in said and "bfloat16" in said, said
    assert re.search(r"^  run +small$", said, re.M) and 'compute = "bf16"' in said, said
    assert re.search(r"named.h5: valid: .*; step \d+$", command.must("info", "named.h5", "--verify").stdout, re.M)
    write_data(command.folder / "wide.h5", inputs=numpy.zeros((4, 8), numpy.float32))
    command.must_refuse(["predict", "named.h5", "wide.h5", "x.h5"], "data-mismatch", "8 inputs", "named.h5")


def check_fields(command):
    """A chain whose grid the data give, with statistics, and layers in three types."""
    source = numpy.random.default_rng(5)
    with h5py.File(command.folder / "fields.h5", "w") as file:
        file["inputs"] = source.normal(size=(24, 90)).astype("f4")
        file.attrs["shape"] = numpy.bytes_("6 5 3")
        file["targets"] = source.normal(size=(24, 60)).astype("f4")
    command.write("fields.toml", FIELDS)
    command.must("train", "fields.toml")
    command.must("export", "runs/fields", "fields-model.h5")
    require_model(command.folder / "fields-model.h5", last_checkpoint(command, "runs/fields"), "fp16",
                  types={"deep.2": "bf16", "conv2": "fp32"})
    require_same_outputs(command, "runs/fields", "fields-model.h5", "fields.h5")
    deck = read_data(command.folder / "fields-model.h5", "deck").decode()
    assert "shape = [6, 5, 3]" in deck and "inputs = 90" in deck and "outputs = 60" in deck, deck


def check_gpt(command):
    prepare_text(command, "the quick brown fox jumps over the lazy dog. " * 40)
    for name, rules in (("gpt", None), ("float-head", {"head": "fp32"})):
        command.write("gpt.toml", gpt_deck(run=dict(steps=12), data=dict(batch=6), precision=dict(rules=rules)))
        command.must("train", "gpt.toml", f"run.folder={name}")
        command.must("export", name, f"{name}.h5")
        options = ["--prompt", "the fox", "--tokens", 40, "--seed", 5]
        assert command.must("sample", f"{name}.h5", *options).stdout == command.must("sample", name, *options).stdout
        ours, theirs = (judged(command.must("eval", one, "--data", "text.h5").stdout) for one in (f"{name}.h5", name))
        assert ours == theirs, (ours, theirs)
    require_model(command.folder / "gpt.h5", last_checkpoint(command, "gpt"), "bf16")
    with h5py.File(command.folder / "float-head.h5") as file:  # the head reads the embedding's weights as floats
        assert type_of(file["model/embedding/token"]) == "fp32" and type_of(file["model/embedding/position"]) == "bf16"
    command.must_refuse(["predict", "gpt.h5", "text.h5", "x.h5"], "wrong-format", "gpt.h5", "mylos sample")


run_cases((prepare, DECK), check_types, check_average_and_best, check_names, check_fields, check_gpt)
