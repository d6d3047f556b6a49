"""Roles of arrays: states that are fed back, forcings that are read at every step, diagnostics that are predicted alone, and arrays
without some axes of the grid, whose values are repeated along them; losses and rollouts are NumPy's.

usage: test_roles.py MYLOS
"""
import csv
import shutil

import h5py
import numpy

from support.cases import run_cases
from support.decks import deck_text, layer
from support.refusal import require_refusal
from support.run_folders import last_checkpoint, losses_of

LEVELS, GRID = 12, (3, 4)
AXES = {"/u": "time y x", "/wind": "x time", "/co2": "time", "/lat": "y", "/rain": "time y x"}
ARRAYS = dict(inputs=["/u", "/wind", "/co2"], targets=["/rain", "/u"], constants=["/lat"], axes=AXES)


def deck(arrays=None, **sections):
    sections.setdefault("run", dict(name="roles", steps=1))
    sections.setdefault("data", dict(train="train.h5", batch=2, normalize="channel"))
    return deck_text(data__arrays=ARRAYS | (arrays or {}), model=dict(type="chain", loss="mse"), precision=dict(compute="fp32"),
                     optimizer=dict(type="sgd", lr=1e-12), layers=[layer("conv", outputs=2)], **sections)


def write(path, seed):
    random = numpy.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        for name, axes in AXES.items():
            extents = dict(time=LEVELS, y=GRID[0], x=GRID[1])
            file[name] = random.standard_normal([extents[axis] for axis in axes.split()]) * 3 + 7


def levels_of(path):
    """Inputs [level, points, channels] and targets [level, points, 2], in float32 as the network reads them."""
    with h5py.File(path) as file:
        u, wind, co2, lat, rain = (file[name][()].astype("f4").astype("f8") for name in AXES)
    whole = (LEVELS, *GRID)
    inputs = [u, numpy.broadcast_to(wind.T[:, None, :], whole), numpy.broadcast_to(co2[:, None, None], whole), numpy.broadcast_to(lat[None, :, None], whole)]
    return (numpy.stack(fields, axis=-1).reshape(LEVELS, 12, -1) for fields in (inputs, [rain, u]))


def network_of(path):
    with h5py.File(path) as file:
        one, = file["model"].values()
        weight, bias = one["weight"][()].astype("f8").reshape(2, 4), one["bias"][()].astype("f8")
        (shift, scale), (of_target, scale_of_target) = ([file[f"data/normalization/{of}/{name}"][()].reshape(12, -1)[0] for name in ("shift", "scale")]
                                                        for of in ("inputs", "targets"))
    return lambda inputs: ((inputs - shift) * scale @ weight.T + bias) / scale_of_target + of_target, scale_of_target, (shift, scale)


def check_statistics(command):
    inputs, _ = levels_of(command.folder / "train.h5")
    command.write("roles.toml", deck())
    command.must("train", "roles.toml")
    _, _, (shift, scale) = network_of(last_checkpoint(command, "runs/roles"))
    assert numpy.allclose(shift, inputs.mean((0, 1)), rtol=1e-6) and numpy.allclose(scale, 1 / inputs.std((0, 1)), rtol=1e-6)


def check_losses(command):
    inputs, targets = levels_of(command.folder / "train.h5")
    for ranks, steps, loss, changing in ((1, 1, None, False), (3, 3, "mean", False), (2, 3, "last", False), (3, 3, [1, 0.5, 0.25], False),
                                         (2, 3, [0, 2, 1], True)):
        windows = LEVELS - steps
        weights = loss if isinstance(loss, list) else [0, 0, 1] if loss == "last" else [1 / steps] * steps
        rollout = dict(steps=steps, loss=loss) if steps > 1 else None
        command.write("still.toml", deck(dict(differences=["/u"]) if changing else None, data=dict(train="train.h5", batch=windows, normalize="channel"), rollout=rollout))
        command.must("train", "still.toml", "run.folder=runs/still", ranks=ranks)
        network, scale, _ = network_of(last_checkpoint(command, "runs/still"))
        total = 0
        for first in range(windows):
            level = inputs[first]
            for step in range(1, steps + 1):
                outputs = network(level)
                # A change is one from the true level, and added to the predicted one.
                truth = targets[first + step] - (targets[first + step - 1] * [0, 1] if changing else 0)
                total += weights[step - 1] * (((outputs - truth) * scale) ** 2).mean() / windows
                past, level = level, inputs[first + step].copy()
                level[:, 0] = outputs[:, 1] + (past[:, 0] if changing else 0)
        found, = losses_of(command, "runs/still")
        assert numpy.isclose(found, total, rtol=1e-6), (steps, loss, changing, found, total)
        shutil.rmtree(command.folder / "runs/still")


def check_rollouts(command):
    inputs, targets = levels_of(command.folder / "test.h5")
    network, _, _ = network_of(last_checkpoint(command, "runs/roles"))
    command.must("rollout", "runs/roles", "test.h5", "--steps", 4, "--truth", "test.h5", "--out", "out.h5")
    rows = list(csv.DictReader(command.text("out.errors.csv").splitlines()))
    with h5py.File(command.folder / "out.h5") as file:
        found = numpy.stack([file[name][()].reshape(5, 12) for name in ("rain", "u")], axis=-1)
    assert numpy.isnan(found[0, :, 0]).all() and numpy.allclose(found[0, :, 1], targets[0, :, 1])
    level = inputs[0]
    for step in range(1, 5):
        outputs = network(level)
        assert numpy.allclose(found[step], outputs, rtol=1e-5), step
        expected = numpy.linalg.norm(outputs - targets[step]) / numpy.linalg.norm(targets[step])
        assert numpy.isclose(float(rows[step - 1]["relative_l2"]), expected, rtol=1e-5), rows[step - 1]
        level = inputs[step].copy()
        level[:, 0] = outputs[:, 1]
    command.write("measured.toml", deck(run=dict(name="measured", steps=2, evaluate_every=2, metrics=["rollout2"]),
                                        data=dict(train="train.h5", test="test.h5", batch=2, normalize="channel")))
    command.must("train", "measured.toml", ranks=2)
    assert numpy.isfinite(float(command.rows("runs/measured/evaluations.csv")[-1]["rollout"]))
    variables = command.document("runs/measured/evaluation.rollout.json")["variables"]
    command.must("rollout", "runs/measured", "test.h5", "--steps", 2, "--start", "0,2,4,6,8", "--truth", "test.h5", "--out", "same.h5")
    with h5py.File(command.folder / "same.errors.nc") as file:
        assert variables["names"] == ["rain", "u"] and variables["levels"] == [1, 2]
        for name in ("rmse", "mae", "bias", "persistence_rmse"):
            if name in variables["measures"] or name in file:
                assert numpy.allclose(numpy.transpose(numpy.array(variables["measures"][name], "f8")), file[name][()], rtol=1e-4, equal_nan=True), name


def check_refusals(command):
    def refused(error_id, *parts, arrays, **sections):
        used = {*(ARRAYS | arrays)["inputs"], *(ARRAYS | arrays)["targets"], "/lat"}
        arrays = arrays | dict(axes={name: axes for name, axes in AXES.items() if name in used})
        command.write("bad.toml", deck(arrays=arrays, **sections))
        require_refusal(command.run("train", "bad.toml", "run.folder=runs/bad"), error_id, *parts)

    refused("keys-conflict", "bad.toml", "/wind", arrays=dict(targets=["/u", "/wind"]))  # a target is on the whole grid
    refused("keys-conflict", "bad.toml", "/u", arrays=dict(inputs=["/co2", "/u"], targets=["/u"]))  # the first input has the grid
    refused("keys-conflict", "/rain", arrays=dict(inputs=["/u"], targets=["/rain"]), rollout=dict(steps=2))  # nothing is fed back
    with h5py.File(command.folder / "test.h5", "r+") as file:
        del file["rain"]
        file["rain"] = numpy.zeros((LEVELS, 3, 40))
    require_refusal(command.run("rollout", "runs/roles", "test.h5", "--steps", 2, "--out", "no.h5"), "data-mismatch", "/rain", "test.h5")
    with h5py.File(command.folder / "test.h5", "r+") as file:
        del file["rain"]
    require_refusal(command.run("rollout", "runs/roles", "test.h5", "--steps", 2, "--out", "no.h5"), "data-mismatch", "/rain", "test.h5")


def prepare(command):
    write(command.folder / "train.h5", 1)
    write(command.folder / "test.h5", 2)


if __name__ == "__main__":
    run_cases(prepare, check_statistics, check_losses, check_rollouts, check_refusals)
