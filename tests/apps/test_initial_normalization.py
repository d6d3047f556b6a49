"""initial.normalization: a run that is initialised from weights keeps what scaled the numbers that they expect."""

import h5py
import numpy

from support.cases import run_cases
from support.decks import deck_text
from support.run_folders import last_checkpoint, weights_of

REGRESSION = deck_text(run=dict(name="regression", steps=300),
                       data=dict(train="{0}train.h5", test="{0}test.h5", batch=32, normalize="standard"),
                       model=dict(type="mlp", hidden=[24], activation="tanh", loss="mse"), precision=dict(compute="fp32"),
                       optimizer=dict(lr=2e-2))
ARRAYS = '[data.arrays]\ninputs = ["/a", "/b"]\ntargets = ["/y"]\naxes = "sample y x"\npoints_are_samples = true\n'


def write_regression(command, name, samples, mean, deviation, arrays):
    """y of two variables, whose distribution is given; as samples, or as fields whose points are samples."""
    source = numpy.random.default_rng(samples)
    x = source.normal(mean, deviation, (samples, 2)).astype(numpy.float32)
    y = (numpy.sin(x[:, :1]) + 0.5 * x[:, 1:]).astype(numpy.float32)
    with h5py.File(command.folder / name, "w") as file:
        if not arrays:
            file["inputs"], file["targets"] = x, y
            return
        for path, values in (("a", x[:, 0]), ("b", x[:, 1]), ("y", y)):
            file[path] = values.reshape(-1, 2, 4)


def r2_of(command, checkpoint, data):
    """The part of the variance of the targets that the predictions explain."""
    command.must("predict", checkpoint, data, "predicted.h5")
    with h5py.File(command.folder / "predicted.h5") as found, h5py.File(command.folder / data) as file:
        y, truth = (found["y"][:], file["y"][:]) if "y" in file else (found["outputs"][:], file["targets"][:])
    (command.folder / "predicted.h5").unlink()
    return 1 - ((y.ravel() - truth.ravel()) ** 2).mean() / truth.var()


def normalisation_of(checkpoint):
    return {name: tensor.tobytes() for name, tensor in weights_of(checkpoint, ["data/normalization"]).items()}


def check_differences(command):
    """Weights and scalings of changes are not those of states."""
    source = numpy.random.default_rng(8)
    with h5py.File(command.folder / "steps.h5", "w") as file:
        for name in "uv":
            file[name] = source.normal(3, 1, (9, 4)).cumsum(0).astype("f4")
    deck = deck_text(run=dict(name="steps", steps=2), data=dict(train="steps.h5", batch=8, normalize="standard"),
                     data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], axes="time x", points_are_samples=True, differences=["/u"]),
                     model=dict(type="mlp", hidden=[3], loss="mse"), precision=dict(compute="fp32"))
    command.write("steps.toml", deck)
    command.must("train", "steps.toml", "run.folder=changes")
    base = last_checkpoint(command, "changes")
    for number, (differences, key) in enumerate((("", "data.arrays.differences"), ('differences = ["/v"]', "data.arrays.differences"),
                             ('targets_are = "difference"', "data.arrays.targets_are"))):
        command.write("tune.toml", deck.replace('differences = ["/u"]', differences))
        tune = ["train", "tune.toml", f"run.initial={base}", f"run.folder=tuned-{number}"]
        command.must_refuse(tune, "model-mismatch", key)
        said = command.must(*tune, "initial.ignore=['data.arrays.*']").stdout
        assert "inputs kept" in said and "targets are differences" in said, said
    command.must("train", "steps.toml", f"run.initial={base}", "run.folder=again")


def check_normalisation(command):
    """Fine-tuning on data of another distribution begins with the function of the base: what scales its numbers is kept."""
    for arrays in (False, True):
        kind = "arrays-" if arrays else "samples-"
        write_regression(command, kind + "train.h5", 1600, 2, 1.5, arrays)
        write_regression(command, kind + "test.h5", 480, 2, 1.5, arrays)
        write_regression(command, "tune-" + kind + "train.h5", 800, 3, 0.5, arrays)
        write_regression(command, "tune-" + kind + "test.h5", 400, 3, 0.5, arrays)
        more = ARRAYS if arrays else ""
        command.write("base.toml", REGRESSION.format(kind) + more)
        command.write("tune.toml", REGRESSION.format("tune-" + kind) + more)
        command.must("train", "base.toml", "run.folder=" + kind + "base")
        base = last_checkpoint(command, kind + "base")
        tuned = f"tune-{kind}test.h5"
        before = r2_of(command, base, tuned)
        assert before > 0.8, before
        tune = ["optimizer.lr=1e-9", "checkpoint.every=1"]
        command.must("convert", base, kind + "base.safetensors")
        for ranks, wanted, initial in ((1, "auto", base), (3, "auto", base), (1, "keep", kind + "base.safetensors")):
            folder = f"{kind}{wanted}{ranks}"
            start = [f"run.folder={folder}", *tune, f"run.initial={initial}", f"initial.normalization={wanted}"]
            said = command.must("train", "tune.toml", *start, "run.steps=2", ranks=ranks).stdout
            assert "normalisation: inputs and targets kept from " in said, said
            found = last_checkpoint(command, folder)
            assert normalisation_of(found) == normalisation_of(base), (ranks, wanted)
            assert abs(r2_of(command, found, tuned) - before) < 1e-4, (ranks, wanted)
        said = command.must("train", "tune.toml", *start, "run.steps=4", "--restart", "latest").stdout
        assert "normalisation" not in said, said
        assert normalisation_of(last_checkpoint(command, folder)) == normalisation_of(base)
        command.must("train", "tune.toml", f"run.folder={kind}anew", *tune, "run.steps=2", f"run.initial={base}",
                     "initial.normalization=recompute")
        anew = last_checkpoint(command, f"{kind}anew")
        assert normalisation_of(anew) != normalisation_of(base) and r2_of(command, anew, tuned) < before - 0.05
        command.must("init", "tune.toml", f"{kind}start.h5", "--from", base)
        assert normalisation_of(command.folder / f"{kind}start.h5") == normalisation_of(base)
    command.must_refuse(["train", "tune.toml", "run.folder=refused", f"run.initial={base}", "initial.normalization=keep",
                         "data.normalize=minmax", "initial.ignore=data.normalize"], "model-mismatch", "initial.normalization",
                        "data.normalize")


run_cases(check_differences, check_normalisation)
