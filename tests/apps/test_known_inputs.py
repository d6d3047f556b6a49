"""Channels that say where inputs are known (data.arrays.known_inputs): losses, predictions and rollouts are NumPy's, of states whose
gaps move, of a mask, and of a forcing with gaps of its own, on two levels of history. What is refused.

usage: test_known_inputs.py MYLOS
"""
import h5py
import numpy

from support.cases import run_cases
from support.decks import layer
from support.run_folders import last_checkpoint
from test_missing import LEVELS, MASK, POINTS, deck, fields, loss_of_sample, network_of, scaling_of, still, write

ALL = numpy.concatenate([MASK, numpy.ones((POINTS, 1), bool)], axis=1)
ARRAYS = dict(missing=["/sst", "/chl", "/wind"], known_inputs=True, history=2)
NAMES = [f"{name}(t{age})" for age in ("-1", "") for name in ("sst", "chl", "wind", "known(sst)", "known(chl)", "known(wind)")]


def levels_of(seed):
    levels = fields(seed)
    levels[numpy.random.default_rng(seed + 50).uniform(size=(LEVELS, POINTS)) < 0.25, 2] = numpy.nan
    return levels


def prepare(command):
    for name, seed in (("train.h5", 1), ("test.h5", 2)):
        write(command.folder / name, seed)
        with h5py.File(command.folder / name, "r+") as file:
            file["wind"][...] = levels_of(seed)[..., 2].reshape(file["wind"].shape)


def inputs_of(path):
    """The function that gives the network's inputs [point, channel] of two levels, and the newest states of inputs; of predictions
    NaN stands for nothing."""
    shift, scale = (of[:, :3] for of in scaling_of(path)["inputs"])

    def one(level):
        known = ALL & ~numpy.isnan(level)
        return numpy.concatenate([numpy.where(known, numpy.nan_to_num(level - shift) * scale, 0), known], axis=1)
    return lambda levels: numpy.concatenate([one(level) for level in levels], axis=1)


def continued(levels, step, predicted):
    """The two levels that a rollout reads next: `predicted` states, and the forcing of level `step`."""
    return levels[1], numpy.concatenate([predicted, step[:, 2:]], axis=1)


def check_names_and_scaling(command):
    for method in ("channel", "standard", "minmax"):
        _, path = still(command, f"scaled-{method}", steps=1, arrays=ARRAYS, data=dict(batch=LEVELS - 2, normalize=method))
        shift, scale = scaling_of(path)["inputs"]
        for first in (3, 9):
            assert (shift[:, first:first + 3] == 0).all() and (scale[:, first:first + 3] == 1).all(), (method, shift, scale)
    text = command.must("data", "still.toml").stdout
    assert all(name in text for name in NAMES), text


def check_losses(command):
    levels = levels_of(1)
    for steps in (1, 3):
        windows = LEVELS - 1 - steps
        found, path = still(command, f"known-{steps}", steps=steps, arrays=ARRAYS, data=dict(batch=windows))
        network, _, (shift, scale) = network_of(path)
        inputs, total = inputs_of(path), 0
        for first in range(windows):
            read = levels[first:first + 2]
            for level in levels[first + 2:first + 2 + steps]:
                outputs = network(inputs(read))
                total += loss_of_sample("mse", outputs, (level[:, :2] - shift) * scale) / steps
                read = continued(read, level, outputs / scale + shift)
        assert numpy.isclose(found, total / windows, rtol=1e-6), (steps, found, total / windows)


def check_predictions_and_rollouts(command):
    levels = levels_of(2)
    path = last_checkpoint(command, "runs/known-1")
    network, _, (shift, scale) = network_of(path)
    inputs = inputs_of(path)
    command.must("predict", "runs/known-1", "test.h5", "predicted.h5")
    with h5py.File(command.folder / "predicted.h5") as file:
        found = file["chl"][()].reshape(-1, POINTS)
    expected = [(network(inputs(levels[i:i + 2])) / scale + shift)[:, 1] for i in range(len(found))]
    assert len(found) == LEVELS - 2 and numpy.allclose(found, expected, rtol=1e-5, atol=1e-5)
    states = []
    for ranks in (1, 2):
        command.must("rollout", "runs/known-1", "test.h5", "--steps", 4, "--start", "0,5", "--truth", "test.h5", "--out", f"flow{ranks}.h5", ranks=ranks)
        with h5py.File(command.folder / f"flow{ranks}.h5") as file:
            states.append(numpy.stack([file[name][()] for name in ("sst", "chl")], axis=-1).reshape(2, 5, POINTS, 2))
    assert numpy.array_equal(*states)
    for start, of in zip((0, 5), states[0]):
        read = levels[start:start + 2]
        for step in range(1, 5):
            outputs = network(inputs(read)) / scale + shift
            assert numpy.allclose(of[step][MASK], outputs[MASK], rtol=1e-5, atol=1e-5), (start, step)
            read = continued(read, levels[start + 1 + step], outputs)


def check_without_forcing(command):
    """States alone: rollouts pass the end of the file. Of evaluations, rollouts and restarts."""
    arrays = dict(inputs=["/sst", "/chl"], missing=["/chl"], mask=None, known_inputs=True)
    write(command.folder / "complete.h5", 3)
    with h5py.File(command.folder / "complete.h5", "r+") as file:
        file["sst"][...] = numpy.nan_to_num(file["sst"][()], nan=280)
    for name, steps in (("one", 1), ("two", 3)):
        command.write("states.toml", deck(run=dict(name=name, steps=6, evaluate_every=3, metrics=["rollout3"]), arrays=arrays, rollout=dict(steps=steps) if steps > 1 else None,
                                          data=dict(train="complete.h5", test="complete.h5"), checkpoint=dict(every=3), layers=[layer("conv", kernel=3, outputs=2)]))
        command.must("train", "states.toml", ranks=2)
        command.must("rollout", f"runs/{name}", "complete.h5", "--steps", 4, "--start", str(LEVELS - 1), "--out", f"{name}.h5")
    result = command.run("train", "states.toml", "data.arrays.known_inputs=false", "--restart", "latest")
    assert result.returncode == 2, result.stderr
    command.must_refuse(["predict", "runs/one", "test.h5", "no.h5"], "not-finite", "/sst[")


def check_refusals(command):
    command.write("bad.toml", deck(arrays=dict(missing=None, known_inputs=True)))
    command.must_refuse(["train", "bad.toml"], "key-without-effect", "data.arrays.known_inputs")
    command.write("bad.toml", deck(arrays=dict(missing=["/chl"], inputs=["/sst", "/wind"], known_inputs=True)))
    command.must_refuse(["train", "bad.toml"], "key-without-effect", "data.arrays.known_inputs")


if __name__ == "__main__":
    run_cases(prepare, check_names_and_scaling, check_losses, check_predictions_and_rollouts, check_without_forcing, check_refusals)
