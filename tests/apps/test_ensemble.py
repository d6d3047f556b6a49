"""Mean and standard deviation of ensembles and of dropout masks, by NumPy from the members' own predictions, on any number of
ranks; what eval says of them; and what is no ensemble."""
import re

import h5py
import numpy

import rollout_fields
import uncertain_data
from small_problem import DECK, prepare
from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint
from uncertain_data import measures_by_numpy, write

SAMPLES = 2300  # three batches: ranks have one, two or none
DROPOUT = 0.3
LINEAR = deck_text(run=dict(name="linear", epochs=2), data=dict(train="linear.h5", batch=20), model=dict(type="chain", loss="mse"),
                   layers=[layer("activation", dropout=DROPOUT), layer("dense")], precision=dict(compute="fp32"))


def read(path):
    names = ("outputs", "standard_deviation", "members", "lower")
    with h5py.File(path) as file:
        return {name: file[name][:].astype("f8") for name in names if name in file}


def predicted(command, *words, output="out.h5", ranks=1, data="test.h5"):
    said = command.must("predict", *words, data, output, ranks=ranks).stdout
    return read(command.folder / output), said


def same_on_any_ranks(command, full, *words, data="test.h5"):
    expected, said = predicted(command, *words, data=data)
    for ranks in ranks_of(full):
        found, _ = predicted(command, *words, data=data, ranks=ranks)
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            assert numpy.array_equal(values, found[name]), (words, name, ranks)
    return expected, said


def ranks_of(full):
    """Those whose answers are compared with what one rank says."""
    return (2, 3, 4) if full else (3,)


def runs(of, count=3):
    return [f"runs/{of}{i}" for i in range(count)]


def set_up(command):
    for name, samples, seed in (("train.h5", 400, 1), ("test.h5", SAMPLES, 2)):
        write(command.folder, name, samples, seed)
    for loss in ("mse", "gaussian"):
        command.write(f"{loss}.toml", uncertain_data.network(loss, loss, epochs=3, dropout=0.1))
        for i, run in enumerate(runs(loss)):
            command.must("train", f"{loss}.toml", f"run.seed={i + 1}", f"run.folder={run}")


def check_regression(command, full):
    own = numpy.array([predicted(command, run)[0]["outputs"] for run in runs("mse")])
    found, said = same_on_any_ranks(command, full, "--ensemble", "--members", *runs("mse"))
    words = "mean and standard deviation of an ensemble of 3 networks"
    assert said.splitlines(keepends=True)[-1] == f"out.h5: {words} of {SAMPLES} samples, [{SAMPLES}, 2]\n", said
    spread = own.std(axis=(0, 1))
    assert numpy.abs(own[0] - own[1]).max() > 0.01  # they are three networks
    for name, expected in (("outputs", own.mean(axis=0)), ("standard_deviation", own.std(axis=0, ddof=1)), ("members", own)):
        assert numpy.abs((found[name] - expected) / spread).max() < 1e-5, name
    files = [str(last_checkpoint(command, run)) for run in runs("mse")]
    alike, _ = predicted(command, "--ensemble", *files)
    assert "members" not in alike and numpy.array_equal(alike["standard_deviation"], found["standard_deviation"])


def check_table(command):
    expected, _ = predicted(command, "--ensemble", "--members", *runs("mse", 2))
    for ranks in (1, 3):
        command.must("predict", "--ensemble", "--members", *runs("mse", 2), "test.h5", "out.csv", ranks=ranks)
        lines = command.text("out.csv").splitlines()
        assert lines[0] == ",".join(f"{name}{end}" for name in ("lift", "drag") for end in ("", "_sd", "_member_0", "_member_1"))
        table = numpy.array([line.split(",") for line in lines[1:]], "f4").astype("f8").reshape(SAMPLES, 2, 4)
        assert numpy.array_equal(table[:, :, 0], expected["outputs"])
        assert numpy.array_equal(table[:, :, 1], expected["standard_deviation"])
        assert numpy.array_equal(table[:, :, 2:].transpose(2, 0, 1), expected["members"])


def check_mixture(command, full):
    own = [predicted(command, run)[0] for run in runs("gaussian")]
    means = numpy.array([one["outputs"] for one in own])
    variances = numpy.array([one["standard_deviation"] for one in own]) ** 2
    found, _ = same_on_any_ranks(command, full, "--ensemble", *runs("gaussian"))
    deviation = numpy.sqrt(variances.mean(axis=0) + means.var(axis=0))
    assert numpy.abs((found["outputs"] - means.mean(axis=0)) / deviation).max() < 1e-5
    assert numpy.allclose(found["standard_deviation"], deviation, rtol=1e-5)


def answers(command):
    return read_data(command.folder / "test.h5", "targets").astype("f8")


def loss_of(said):
    return float(re.search(r"mean: loss (-?[\d.e+-]+)", said).group(1))


def check_eval_of_regression(command, full):
    targets = answers(command)
    scale = read_data(last_checkpoint(command, "runs/mse0"), "data/normalization/targets/scale")
    for loss in ("mse", "gaussian"):
        found, _ = predicted(command, "--ensemble", *runs(loss))
        errors = (found["outputs"] - targets) * scale
        deviations = found["standard_deviation"] * scale
        said = command.must("eval", "--ensemble", *runs(loss), "--metrics", "r2").stdout
        expected = ((errors ** 2).mean() if loss == "mse" else
                    (numpy.log(deviations) + (errors / deviations) ** 2 / 2).mean(axis=1).mean())
        if loss == "gaussian":  # half the mean of log variance and squared error, without the constant
            assert min(abs(loss_of(said) - value) for value in (expected, expected + numpy.log(2 * numpy.pi) / 2)) < 1e-4, said
        else:
            assert abs(loss_of(said) / expected - 1) < 1e-4, said
        r2 = 1 - (errors ** 2).sum(axis=0) / ((targets - targets.mean(axis=0)) ** 2 * scale ** 2).sum(axis=0)
        assert abs(float(re.search(r"R2 ([\d.-]+)", said).group(1)) - r2.mean()) < 1e-4, said
        measures = measures_by_numpy(found["outputs"].ravel(), found["standard_deviation"].ravel(), targets.ravel())
        for name, words in (("calibration_error", "calibration error"), ("sharpness", "sharpness"), ("crps", "CRPS")):
            printed = float(re.search(rf"{words} ([\d.e+-]+)", said).group(1))
            assert abs(printed - measures[name]) < 1e-3 * max(1, measures[name]), (name, printed, measures[name])
        for ranks in ranks_of(full):
            assert command.must("eval", "--ensemble", *runs(loss), "--metrics", "r2", ranks=ranks).stdout == said, ranks
    members = [float(re.search(r"loss ([\d.]+)", command.must("eval", run).stdout).group(1)) for run in runs("mse")]
    assert loss_of(command.must("eval", "--ensemble", *runs("mse")).stdout) < numpy.mean(members)  # Jensen


def check_classes(command, full):
    for name in ("train.h5", "test.h5"):  # of the arrays before, which are not replaced
        (command.folder / name).unlink(missing_ok=True)
    prepare(command, DECK)
    for i, run in enumerate(runs("class")):
        command.must("train", "deck.toml", f"run.seed={i + 1}", f"run.folder={run}")
    own = numpy.array([predicted(command, run)[0]["outputs"] for run in runs("class")])
    found, _ = same_on_any_ranks(command, full, "--ensemble", *runs("class"))
    assert numpy.allclose(found["outputs"], own.mean(axis=0), atol=1e-3)  # bf16: batches of other sizes
    assert numpy.allclose(found["outputs"].sum(axis=1), 1, atol=1e-6)
    assert numpy.allclose(found["standard_deviation"], own.std(axis=0, ddof=1), atol=1e-3)
    labels = read_data(command.folder / "test.h5", "labels")
    of_label = found["outputs"][numpy.arange(len(labels)), labels]
    said = command.must("eval", "--ensemble", *runs("class"), "--metrics", "top5,confusion").stdout
    accuracy = (found["outputs"].argmax(axis=1) == labels).mean()
    assert f"mean: loss {-numpy.log(of_label).mean():.4f}, accuracy {accuracy:.4f} (100 samples)\n" in said, said
    assert "coverage" not in said


def check_dropout_of_a_linear_layer(command):
    """y = w . (m x / (1 - p)) + b with masks m: its mean is w . x + b and its variance p / (1 - p) sum of (w x)^2."""
    random = numpy.random.default_rng(5)
    inputs = random.normal(size=(60, 6)).astype("f4")
    write_data(command.folder / "linear.h5", inputs=inputs, targets=(inputs @ random.normal(size=(6, 2))).astype("f4"))
    command.write("linear.toml", LINEAR)
    command.must("train", "linear.toml")
    with h5py.File(last_checkpoint(command, "runs/linear")) as file:
        weight, bias = (file[f"model/dense2/{part}"][:].astype("f8") for part in ("weight", "bias"))
    masks = 4000
    found, said = predicted(command, "--mc-dropout", masks, "--members", "runs/linear", data="linear.h5")
    assert f"mean and standard deviation of {masks} dropout masks of runs/linear" in said, said
    x = inputs.astype("f8")
    expected = x @ weight.T + bias
    variance = DROPOUT / (1 - DROPOUT) * (x ** 2) @ (weight.T ** 2)
    distance = (found["outputs"] - expected) / numpy.sqrt(variance / masks)
    assert numpy.abs(distance).max() < 5 and abs(distance.std() - 1) < 0.3, (numpy.abs(distance).max(), distance.std())
    ratio = found["standard_deviation"] ** 2 / variance
    assert abs(ratio.mean() - 1) < 0.01 and numpy.abs(ratio - 1).max() < 0.15, (ratio.mean(), numpy.abs(ratio - 1).max())
    members = found["members"]
    assert members.shape == (masks, 60, 2) and numpy.allclose(members.mean(axis=0), found["outputs"], atol=1e-5)
    assert numpy.allclose(members.std(axis=0, ddof=1), found["standard_deviation"], rtol=1e-4)
    signs = numpy.array(numpy.meshgrid(*[(0, 1)] * 6)).reshape(6, -1).T / (1 - DROPOUT)  # 2^6 masks
    possible = (signs[:, None, :] * x[None, :1, :]) @ weight.T + bias  # of sample 0: [64, 1, 2]
    nearest = numpy.abs(members[:200, None, 0] - possible[None, :, 0]).max(axis=-1).min(axis=-1)
    assert nearest.max() < 1e-5, nearest.max()
    apart = numpy.corrcoef(members[:, 0, 0], members[:, 1, 0])[0, 1]
    assert abs(apart) < 0.1, f"samples share masks: {apart}"


def check_dropout_on_any_ranks(command, full):
    found, _ = same_on_any_ranks(command, full, "--mc-dropout", "5", "--members", "runs/mse0")
    own, _ = predicted(command, "runs/mse0")
    assert 0 < numpy.abs(found["outputs"] - own["outputs"]).max()
    again, _ = predicted(command, "--mc-dropout", "5", "--seed", "1", "runs/mse0")
    assert numpy.array_equal(again["outputs"], found["outputs"]), "the run's seed is 1"
    other, _ = predicted(command, "--mc-dropout", "5", "--seed", "2", "runs/mse0")
    assert not numpy.array_equal(other["outputs"], found["outputs"])
    more, _ = predicted(command, "--mc-dropout", "7", "--members", "runs/mse0")
    assert numpy.array_equal(more["members"][:5], found["members"]), "a mask does not depend on how many there are"
    said = command.must("eval", "--mc-dropout", "5", "runs/mse0").stdout
    assert said == command.must("eval", "--mc-dropout", "5", "runs/mse0", ranks=3).stdout and "CRPS" in said, said
    gaussian, _ = predicted(command, "--mc-dropout", "5", "runs/gaussian0")
    alone, _ = predicted(command, "runs/gaussian0")
    assert 0.8 < numpy.median(gaussian["standard_deviation"] / alone["standard_deviation"]) < 2


def check_arrays(command):
    """Each predicted array has others beside it, of its axes and units; differences are added to means and members alone."""
    rollout_fields.write_fields(command.folder / "fields.h5")
    for name in ("fields", "points"):
        command.write(f"{name}.toml", rollout_fields.fields_deck(points=name == "points", targets_are="difference"))
        for i, run in enumerate(runs(name)):
            command.must("train", f"{name}.toml", f"run.seed={i + 1}", f"run.folder={run}")
        own = []
        for run in runs(name):
            command.must("predict", run, "fields.h5", "own.h5")
            with h5py.File(command.folder / "own.h5") as file:
                own.append({path: file[path][:].astype("f8") for path in ("u", "deep/v")})
        for ranks in (1, 3):
            command.must("predict", "--ensemble", "--members", *runs(name), "fields.h5", "out.nc.h5", ranks=ranks)
            with h5py.File(command.folder / "out.nc.h5") as file:
                for path in ("u", "deep/v"):
                    values = numpy.array([one[path] for one in own])
                    assert numpy.allclose(file[path][:], values.mean(axis=0), atol=1e-5), (name, path)
                    deviation = file[f"{path}_standard_deviation"][:]
                    assert numpy.allclose(deviation, values.std(axis=0, ddof=1), atol=1e-5), (name, path)
                    for member in range(3):
                        assert numpy.allclose(file[f"{path}_member_{member}"][:], values[member], atol=1e-5), (name, path)
                assert file["u_standard_deviation"].attrs["units"] == "m s-1"
                assert file["u_standard_deviation"].dims[0][0].name == "/time"


def check_refusals(command, full):
    ends = ["test.h5", "no.h5"]
    one, two = runs("mse", 2)
    for ranks in (1, 3):
        def refuse(words, error_id, *parts):
            if ranks > 1 and not full and error_id not in ("model-mismatch", "data-mismatch"):
                return  # told before any file is read, by each rank alike
            with command.writes_nothing():
                command.must_refuse(words, error_id, *parts, ranks=ranks)
        refuse(["predict", "--ensemble", one, *ends], "missing-argument", "at least 2")
        refuse(["predict", "--ensemble", one, two, one, *ends], "arguments-conflict", "is given twice")
        refuse(["predict", one, two, *ends], "extra-argument", "--ensemble")
        refuse(["predict", "--members", one, *ends], "arguments-conflict", "--ensemble")
        refuse(["predict", "--mc-dropout", "1", one, *ends], "bad-argument")
        refuse(["predict", "--mc-dropout", "3", "--ensemble", one, two, *ends], "arguments-conflict")
        refuse(["predict", "--seed", "3", one, *ends], "arguments-conflict", "--mc-dropout")
        refuse(["predict", "--ensemble", one, "runs/gaussian0", *ends], "model-mismatch", "model.loss", "gaussian")
        refuse(["predict", "--ensemble", one, "runs/wide", *ends], "model-mismatch", "runs/wide", "model.hidden")
        refuse(["predict", "--ensemble", one, "runs/other", *ends], "data-mismatch", "runs/other", "other data")
        refuse(["predict", "--ensemble", one, "runs/unscaled", *ends], "data-mismatch", "runs/unscaled", "not scaled")
        refuse(["eval", "--ensemble", one, "runs/held", "--data", "test.h5"], "data-mismatch", "runs/held", "data.validation")
        refuse(["predict", "--mc-dropout", "3", "runs/dry", *ends], "not-measured", "no layer with dropout")


def train_what_does_not_fit(command):
    write(command.folder, "other.h5", 400, 9)
    for name, override in (("wide", "model.hidden=[8]"), ("other", "data.train=other.h5"), ("unscaled", "data.normalize=none"),
                           ("held", "data.validation=0.5"), ("dry", "model.dropout=0")):
        command.must("train", "mse.toml", override, f"run.folder=runs/{name}", "run.epochs=1")


run_cases(set_up, check_regression, check_table, check_mixture, check_eval_of_regression, check_dropout_on_any_ranks,
          train_what_does_not_fit, check_refusals, check_dropout_of_a_linear_layer, check_arrays, check_classes)
