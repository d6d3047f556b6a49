"""Missing numbers (data.arrays.missing) together with encodings, differences of some targets, ensembles of rollouts, climatologies by
day and calibrated rollouts: each is NumPy's of the known numbers, on any number of ranks. What is refused.

usage: test_missing_together.py MYLOS
"""
import csv
import datetime

import h5py
import numpy

from support.cases import run_cases
from support.decks import layer
from support.refusal import require_refusal
from support.run_folders import last_checkpoint, losses_of
from test_missing import GRID, LEVELS, MASK, POINTS, deck, fields, h1_norms, loss_of_sample, network_of, scaling_of, still, write

SEEDS = {"train.h5": 1, "test.h5": 2, "held.h5": 5}
FIRST, HOURS = datetime.datetime(1999, 12, 30), 6
STARTS, STEPS = (0, 3, 9), 4  # /chl has no value at the second and third of these levels


def prepare(command):
    for name, seed in SEEDS.items():
        write(command.folder / name, seed)
        with h5py.File(command.folder / name, "r+") as file:
            file["time"] = HOURS * numpy.arange(LEVELS)
            file["time"].attrs["units"] = f"hours since {FIRST}"
            file["time"].make_scale("time")
            for array in ("sst", "chl", "wind"):
                file[array].dims[0].attach_scale(file["time"])


def known_in(level, channel):
    return ~numpy.isnan(level[:, channel]) & MASK[:, channel]


def check_losses(command):
    """Of a network with encodings whose first target is a difference, through one application and three."""
    times = [FIRST + datetime.timedelta(hours=HOURS * i) for i in range(LEVELS)]
    years = [(at - datetime.datetime(at.year, 1, 1)) / (datetime.datetime(at.year + 1, 1, 1) - datetime.datetime(at.year, 1, 1)) for at in times]
    angles = 2 * numpy.pi * numpy.array([years, [at.hour / 24 for at in times]])
    encoded = numpy.stack([of(angle) for angle in angles for of in (numpy.sin, numpy.cos)], axis=-1)
    levels = fields(1)
    for steps in (1, 3):
        found, path = still(command, f"together-{steps}", steps=steps, arrays=dict(encodings=["day_of_year", "hour"], differences=["/sst"]))
        network, _, (shift, scale) = network_of(path)
        of_inputs = scaling_of(path)["inputs"]

        def normalised(level, i):
            inputs = numpy.concatenate([level, numpy.broadcast_to(encoded[i], (POINTS, 4))], axis=1)
            return numpy.nan_to_num((inputs - of_inputs[0]) * of_inputs[1])
        total = 0
        for first in range(LEVELS - steps):
            state = normalised(levels[first], first)
            for i in range(first + 1, first + 1 + steps):
                outputs, target = network(state), levels[i, :, :2].copy()
                target[:, 0] -= levels[i - 1, :, 0]
                total += loss_of_sample("mse", outputs, (target - shift) * scale) / steps
                values = outputs / scale + shift
                values[:, 0] += state[:, 0] / numpy.where(MASK[:, 0], of_inputs[1][:, 0], 1) + of_inputs[0][:, 0]
                state = normalised(numpy.concatenate([values, levels[i, :, 2:]], axis=1), i)
                state[:, :2][~MASK] = 0
        assert numpy.isclose(found, total / (LEVELS - steps), rtol=1e-6), (steps, found, total / (LEVELS - steps))


def check_terms(command):
    """A loss of terms, each of one variable; spectral derivatives are refused there too."""
    terms = '[[model.terms]]\nloss = "relative_h1"\nvariables = ["chl"]\n[[model.terms]]\nloss = "l1"\nweight = 2.0\nvariables = ["sst"]\n'
    text = deck(1, run=dict(name="terms", steps=1), optimizer=dict(type="sgd", lr=1e-12), data=dict(batch=LEVELS - 1), model=dict(type="chain", loss="sum")) + terms
    command.write("terms.toml", text)
    command.must("train", "terms.toml")
    network, normalised, (shift, scale) = network_of(last_checkpoint(command, "runs/terms"))
    expected = []
    for before, after in zip(fields(1), fields(1)[1:]):
        outputs, target = network(normalised(before)), (after[:, :2] - shift) * scale
        known = ~numpy.isnan(target) & MASK
        filled = numpy.where(known, target, 0)
        error = numpy.where(known, outputs - filled, 0)
        norms = [h1_norms(of, known)[1] for of in (error, filled)]  # MASK leaves out nothing of /chl, and weights cancel
        expected.append((numpy.sqrt(norms[0] / norms[1]) if norms[1] > 0 else 0) + 2 * abs(error[:, 0]).sum() * 2 / MASK.sum())
    found, = losses_of(command, "runs/terms")
    assert numpy.isclose(found, numpy.mean(expected), rtol=1e-6), (found, numpy.mean(expected))
    command.write("terms.toml", text.replace('["chl"]', '["chl"]\nderivative = "spectral"'))
    command.must_refuse(["train", "terms.toml"], "keys-conflict", "spectral", "term 1")


def check_calibrated_rollouts(command):
    """A rollout whose truth lacks a variable after a step has no score of it; too few scores are refused."""
    _, path = still(command, "plain")
    network, normalised, (shift, scale) = network_of(path)
    levels, scores = fields(SEEDS["held.h5"]), {}
    for start in range(LEVELS - 3):
        state = levels[start]
        for step in range(3):
            truth = levels[start + step + 1]
            outputs = network(normalised(state)) / scale + shift
            for channel in range(2):
                known = known_in(truth, channel)
                if known.any():
                    scores.setdefault((step, channel), []).append(abs(outputs - truth[:, :2])[known, channel].max())
            state = numpy.where(numpy.arange(3) < 2, numpy.pad(numpy.where(MASK, outputs, 0), ((0, 0), (0, 1))), truth)
    command.must("calibrate", "runs/plain", "--data", "held.h5", "--coverage", 0.6, "--rollout", 3, "--out", "one.h5")
    command.must("calibrate", "runs/plain", "--data", "held.h5", "--coverage", 0.6, "--rollout", 3, "--out", "two.h5", ranks=2)
    found = []
    for name in ("one.h5", "two.h5"):
        with h5py.File(command.folder / name) as file:
            found.append(file["rollout_calibration/quantiles"][()])
    assert numpy.array_equal(*found)
    for (step, channel), of in scores.items():
        rank = int(numpy.ceil((len(of) + 1) * 0.6 * (1 - 1e-12)))
        assert numpy.isclose(found[0][step, channel], sorted(of)[rank - 1], rtol=1e-5), (step, channel)
    assert min(map(len, scores.values())) < LEVELS - 3, "no rollout without truth of a variable"
    write(command.folder / "few.h5", 7)
    with h5py.File(command.folder / "few.h5", "r+") as file:
        file["chl"][6:] = numpy.nan  # after the first step of three rollouts it is known, after the third of two
    command.must("calibrate", "runs/plain", "--data", "few.h5", "--coverage", 0.7, "--rollout", 1, "--out", "no.h5")
    command.must_refuse(["calibrate", "runs/plain", "--data", "few.h5", "--coverage", 0.7, "--rollout", 3, "--out", "no.h5"], "too-little-data", "few.h5", ranks=2)


def check_energies(command):
    """Missing numbers count as the mean of the others of their channel; a truth without one of the variables has no energy, and is
    compared in the others."""
    with h5py.File(command.folder / "half.h5", "w") as file:
        file["sea"] = numpy.ones(GRID, "i1")
        for name, value in (("sst", 4), ("chl", 2), ("wind", 0)):
            file[name] = numpy.full((LEVELS, *GRID), value, "f4")
        file["sst"][:, 0], file["chl"][:, :2], file["chl"][2] = numpy.nan, numpy.nan, numpy.nan
    still(command, "energy", arrays=dict(mask=None))
    command.must("rollout", "runs/energy", "half.h5", "--steps", 3, "--truth", "half.h5", "--out", "half-out.h5")
    rows = list(csv.DictReader(command.text("half-out.errors.csv").splitlines()))
    with h5py.File(command.folder / "half-out.h5") as file:
        states = numpy.stack([file[name][()] for name in ("sst", "chl")], axis=-1).reshape(-1, POINTS, 2)
    for step, row in enumerate(rows, start=1):
        energy = (states[step].astype("f8") ** 2).mean(axis=0).sum()
        assert numpy.isclose(float(row["energy"]), energy, rtol=1e-6), (row, energy)
        assert numpy.isclose(float(row["energy_drift"]), energy / 20 - 1, rtol=1e-6), (row, energy)
        assert row["truth_energy"] == ("" if step == 2 else "20") and row["relative_l2"] != "", row


def rollouts(command, *words, ranks=1):
    """The measures of variables of rollouts, [step, channel], and the states [start, member, step, point, channel]."""
    command.must("rollout", "runs/dropping", "test.h5", "--steps", STEPS, "--truth", "test.h5", "--out", "out.h5", "--start", ",".join(map(str, STARTS)),
                 *words, ranks=ranks)
    with h5py.File(command.folder / "out.errors.nc") as file:
        found = {name: file[name][()] for name in file if file[name].dtype.kind == "f"}
    with h5py.File(command.folder / "out.h5") as file:
        states = numpy.stack([file[name][()] for name in ("sst", "chl")], axis=-1).astype("f8")
    return found, states.reshape(-1, len(STARTS), STEPS + 1, POINTS, 2).swapaxes(0, 1)


def check_ensembles(command):
    """Members by masks of dropout and by perturbed starts."""
    still(command, "dropping", layers=[layer("conv", kernel=1, outputs=8, activation="gelu", dropout=0.3), layer("conv", kernel=1, outputs=2)])
    levels = fields(SEEDS["test.h5"])
    for words in (("--mc-dropout", 4), ("--perturb", 0.3, "--members", 3)):
        found, states = rollouts(command, *words)
        before = (command.folder / "out.errors.nc").read_bytes()
        rollouts(command, *words, ranks=3)
        assert (command.folder / "out.errors.nc").read_bytes() == before, words
        members = states.shape[1]
        for step in range(1, STEPS + 1):
            for channel in range(2):
                measures = []
                for i, start in enumerate(STARTS):
                    known = known_in(levels[start + step], channel)
                    truth, of = levels[start + step, known, channel], states[i, :, step, known, channel].T
                    between = abs(of[:, None] - of).sum(axis=(0, 1)) / (2 * members * (members - 1))
                    if known.any():
                        measures.append([((of.mean(axis=0) - truth) ** 2).mean(), (abs(of - truth).mean(axis=0) - between).mean(),
                                         (members + 1) / members * of.var(axis=0, ddof=1).mean()])
                error, crps, variance = numpy.mean(measures, axis=0)
                for name, expected in (("rmse", error ** 0.5), ("crps", crps), ("spread", variance ** 0.5)):
                    assert numpy.isclose(found[name][step - 1, channel], expected, rtol=1e-5), (words, name, step, channel)


def check_climatology(command):
    """By day of the training levels, which all lie within 15 days: of the known values at each point."""
    found, _ = rollouts(command, "--climatology", "training-day")
    usual, levels = numpy.nanmean(fields(SEEDS["train.h5"])[..., :2], axis=0), fields(SEEDS["test.h5"])
    for step in range(1, STEPS + 1):
        for channel in range(2):
            errors = [(usual - levels[start + step, :, :2])[known_in(levels[start + step], channel), channel] for start in STARTS]
            expected = numpy.sqrt(numpy.mean([(of ** 2).mean() for of in errors if of.size]))
            assert numpy.isclose(found["climatology_rmse"][step - 1, channel], expected, rtol=1e-5), (step, channel)


def check_refusals(command):
    def refused(error_id, *parts, arrays=None, data=None, file="train.h5", **sections):
        command.write("bad.toml", deck(arrays=arrays, data=(data or {}) | dict(train=file), **sections))
        require_refusal(command.run("train", "bad.toml", "run.folder=runs/bad"), error_id, *parts)

    refused("not-finite", "/chl[", "data.arrays.missing", arrays=dict(missing=["/sst"]))
    refused("key-without-effect", "bad.toml", "/rain", arrays=dict(missing=["/rain"]))
    refused("keys-conflict", "/chl", arrays=dict(mask={"/chl": "fill"}))
    refused("keys-conflict", "data.fill", data=dict(fill=0))
    refused("keys-conflict", "spectral", model=dict(type="chain", loss="relative_h1", derivative="spectral"), arrays=dict(mask=None),
            data=dict(test=None), run=dict(name="bad", steps=1))
    with h5py.File(command.folder / "shares.h5", "w") as file:
        file["sst"] = numpy.random.default_rng(3).uniform(0, 1, (LEVELS, *GRID))
    refused("keys-conflict", "binary_cross_entropy", file="shares.h5", run=dict(name="bad", steps=1), data=dict(normalize="none", test=None),
            arrays=dict(inputs=["/sst"], targets=["/sst"], mask=None, missing=["/sst"]), model=dict(type="chain", loss="binary_cross_entropy"),
            layers=[layer("conv", outputs=1)])
    write(command.folder / "never.h5", 1)
    with h5py.File(command.folder / "never.h5", "r+") as file:
        file["chl"][...] = numpy.nan
    refused("too-little-data", "/chl", "never.h5", file="never.h5")
    with h5py.File(command.folder / "never.h5", "r+") as file:
        file["chl"][3, 2, 1] = numpy.inf
    refused("not-finite", "/chl[3, 2, 1]", file="never.h5")
    command.write("gaps.toml", deck())
    command.must("train", "gaps.toml")
    command.write("gaps.toml", deck(arrays=dict(missing=["/chl", "/sst"])))
    result = command.run("train", "gaps.toml", "run.steps=6", "--restart", "latest")
    assert result.returncode != 0, "a restart with other data options"


def check_refused_layers(command):
    """Sums over all points have no meaning where inputs lack some."""
    for arrays in (dict(inputs=["/sst", "/chl"], mask=None), dict(inputs=["/sst", "/chl"], mask=None, missing=["/chl"])):
        command.write("sums.toml", deck(arrays=arrays, layers=[layer("conv", kernel=3, outputs=2), layer("conserve", skip_from="input")]))
        command.must_refuse(["train", "sums.toml"], "keys-conflict", "data.arrays.missing", "conserve")


if __name__ == "__main__":
    run_cases(prepare, check_losses, check_terms, check_calibrated_rollouts, check_energies, check_ensembles, check_climatology, check_refusals, check_refused_layers)
