"""Points of weight 0 count nowhere: whatever truth or targets have there, no error, interval or metric changes by a bit.
Weights by latitude and by variable are NumPy's.

usage: test_point_weights.py MYLOS
"""
import csv

import h5py
import numpy

from support.cases import run_cases
from support.decks import deck_text, layer
from support.refusal import require_refusal
from support.run_folders import last_checkpoint, losses_of

LEVELS, GRID = 24, (5, 6)
SEA = numpy.arange(30).reshape(GRID) % 7 != 3
DECK = deck_text(run=dict(name="sea", steps=4, evaluate_every=4, metrics=["relative_l2", "rollout3"]),
                 data=dict(train="train.h5", test="test.h5", batch=4, normalize="channel"),
                 data__arrays=dict(inputs=["/u"], targets=["/u"], axes="time y x"),
                 data__weights=dict(file="weights.h5", array="/weight"),
                 model=dict(type="chain", loss="mse"), layers=[layer("conv", kernel=1, outputs=1)])


def write(path, seed, land=None):
    values = numpy.random.default_rng(seed).standard_normal((LEVELS, *GRID))
    if land is not None:
        values[:, ~SEA] = land
    with h5py.File(path, "w") as file:
        file["u"] = values


def fields_of(path):
    with h5py.File(path) as file:
        return file["u"][()].astype("f8")


def check_rollouts(command):
    """Errors of fields that agree on the sea are the same; those of the sea are NumPy's, weighted."""
    tables = []
    for name, land in (("plain", None), ("zero", 0), ("huge", 1e30)):
        write(command.folder / "truth.h5", 2, land)
        write(command.folder / "start.h5", 2)
        command.must("rollout", "runs/sea", "start.h5", "--steps", 3, "--truth", "truth.h5", "--out", f"{name}.h5")
        tables.append(list(csv.DictReader(command.text(f"{name}.errors.csv").splitlines())))
    assert tables[0] == tables[1] == tables[2], tables
    with h5py.File(command.folder / "weights.h5") as file:
        weights = file["weight"][()]
    truth, found = (fields_of(command.folder / name) for name in ("start.h5", "plain.h5"))
    for row in tables[0]:
        t, p = (fields[int(row["step"])] for fields in (truth, found[-4:]))
        expected = numpy.sqrt((weights * (p - t) ** 2).sum() / (weights * t ** 2).sum())
        assert numpy.isclose(float(row["relative_l2"]), expected, rtol=1e-5), (row, expected)


def check_metrics(command):
    """Metrics of test data that agree on the sea, rollouts of the evaluation among them; inputs are the same at each point."""
    rows = []
    for name, land in (("first", 0.5), ("second", 0.5 + 2.0 ** -10)):
        write(command.folder / "test.h5", 3, land)
        command.must("train", "sea.toml", f"run.folder=runs/{name}")
        rows.append([{key: value for key, value in row.items() if not key.endswith("_s")} for row in command.rows(f"runs/{name}/evaluations.csv")])
    assert rows[0] == rows[1], rows


def check_calibrations(command):
    """Half widths are the quantile of the largest error on the sea."""
    quantiles = []
    for land in (0, 1e6):
        write(command.folder / "held.h5", 4, land)
        command.must("calibrate", "runs/sea", "--data", "held.h5", "--coverage", 0.8, "--out", "calibrated.h5")
        with h5py.File(command.folder / "calibrated.h5") as file:
            quantiles.append(file["calibration/quantiles"][()])
        (command.folder / "calibrated.h5").unlink()
    assert numpy.array_equal(*quantiles), quantiles


def check_latitudes_and_variables(command):
    """The loss of a step that learns nothing: cosines of the latitudes of the rows, times the weights of the variables."""
    latitudes, variables = numpy.array([-80.0, -40, 0, 40, 80]), {"/v": 3.0}
    values = numpy.random.default_rng(7).standard_normal((2, LEVELS, *GRID))
    with h5py.File(command.folder / "globe.h5", "w") as file:
        file["u"], file["v"], file["lat"] = *values, latitudes
        file["lat"].attrs["units"] = "degrees_north"
        file["lat"].make_scale("lat")
        for name in ("u", "v"):
            file[name].dims[1].attach_scale(file["lat"])

    def globe(weights, **arrays):
        arrays = dict(inputs=["/u", "/v"], targets=["/u", "/v"], axes="time y x") | arrays
        command.write("globe.toml", deck_text(
            run=dict(name="globe", steps=1), data=dict(train="globe.h5", batch=LEVELS - 1), data__arrays=arrays, data__weights=weights,
            model=dict(type="chain", loss="mse"), layers=[layer("conv", outputs=2)], precision=dict(compute="fp32"),
            optimizer=dict(type="sgd", lr=1e-12)))
        return command.run("train", "globe.toml", "run.folder=runs/globe")

    result = globe(dict(latitude=True, variables=variables))
    assert result.returncode == 0, result.stderr
    with h5py.File(last_checkpoint(command, "runs/globe")) as file:
        one, = file["model"].values()
        weight, bias = one["weight"][()].astype("f8").reshape(2, 2), one["bias"][()].astype("f8")
    weights = numpy.cos(numpy.radians(latitudes))[:, None, None] * numpy.ones((*GRID, 2)) * [1, 3]
    levels = numpy.moveaxis(values, 0, -1)
    squares = (levels[:-1] @ weight.T + bias - levels[1:]) ** 2
    expected = (squares * weights).sum((1, 2, 3)).mean() / weights.sum()
    assert numpy.isclose(losses_of(command, "runs/globe")[0], expected, rtol=1e-6)
    require_refusal(globe(dict(latitude=True), coordinates="ignore"), "data-mismatch", "globe.h5")
    require_refusal(globe(dict(latitude=True, file="weights.h5", array="/weight")), "keys-conflict", "globe.toml")
    require_refusal(globe(dict(variables={"/w": 2})), "key-without-effect", "globe.toml", "/w")


def prepare(command):
    command.write("sea.toml", DECK)
    with h5py.File(command.folder / "weights.h5", "w") as file:
        file["weight"] = numpy.where(SEA, numpy.linspace(0.5, 2, SEA.size).reshape(GRID), 0)
    write(command.folder / "train.h5", 1)
    write(command.folder / "test.h5", 3)
    command.must("train", "sea.toml")


if __name__ == "__main__":
    run_cases(prepare, check_rollouts, check_metrics, check_calibrations, check_latitudes_and_variables)
