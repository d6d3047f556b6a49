"""Missing numbers (data.arrays.missing) enter nothing: statistics, losses, metrics, rollouts and calibrations are NumPy's of the
known ones, whatever the files have in place of the others, on any number of ranks and over a restart.

usage: test_missing.py MYLOS [--full]     --full: ranks and restarts of single steps too, not only of rollouts
"""
import csv
import math

import h5py
import numpy

from support.cases import run_cases
from support.command import Command
from support.decks import deck_text, layer
from support.run_folders import compare_runs, last_checkpoint, losses_of, weights_of

LEVELS, GRID = 16, (5, 6)
POINTS = 30
SEA = (numpy.arange(POINTS) % 7 != 3).reshape(GRID)  # the mask of /sst
ARRAYS = dict(inputs=["/sst", "/chl", "/wind"], targets=["/sst", "/chl"], axes="time y x", mask={"/sst": "/sea"},
              missing=["/sst", "/chl"])
MASK = numpy.stack([SEA.ravel(), numpy.ones(POINTS, bool)], axis=-1)
FILL = numpy.float32(9.96921e36)


def deck(kernel=3, data=None, arrays=None, **sections):
    sections.setdefault("run", dict(name="gaps", steps=4, evaluate_every=4, metrics=["relative_l2", "r2", "rollout2"]))
    return deck_text(data=dict(train="train.h5", test="test.h5", batch=4, normalize="channel") | (data or {}),
                     data__arrays=ARRAYS | (arrays or {}), precision=dict(compute="fp32"),
                     **dict(model=dict(type="chain", loss="mse"), layers=[layer("conv", kernel=kernel, outputs=2)]) | sections)


def fields(seed):
    """Levels [time, points, 3] in double, NaN where a number is missing: /sst under clouds that move, /chl at some levels only, and
    there at some points."""
    random = numpy.random.default_rng(seed)
    sst, chl, wind = random.standard_normal((3, LEVELS, POINTS)).astype("f4")
    sst = (280 + 3 * sst).astype("f4")
    clouds, seen = random.uniform(size=(LEVELS, POINTS)) < 0.3, random.uniform(size=(LEVELS, POINTS)) < 0.6
    seen[[2, 3, 9]] = False
    levels = numpy.stack([numpy.where(clouds, numpy.nan, sst), numpy.where(seen, chl, numpy.nan), wind], axis=-1).astype("f8")
    levels[:, ~SEA.ravel(), 0] = 0
    return levels


def write(path, seed, stored=numpy.nan, land=0.0, complete=False):
    """`stored`: what stands for a missing number, packed by a scale and an offset unless it is NaN."""
    levels = fields(seed)
    if complete:
        levels = numpy.nan_to_num(levels, nan=0.5)
    with h5py.File(path, "w") as file:
        file["sea"] = SEA.astype("i1")
        for i, name in enumerate(("sst", "chl", "wind")):
            values = levels[..., i].reshape(LEVELS, *GRID)
            if name == "sst":
                values = numpy.where(SEA, values, land)
            if numpy.isnan(stored):
                file[name] = values.astype("f4")
                continue
            file[name] = numpy.where(numpy.isnan(values), stored, (values - 1) * 2)
            file[name].attrs.update(_FillValue=stored, scale_factor=0.5, add_offset=1.0)


def scaling_of(path):
    with h5py.File(path) as file:
        return {of: [file[f"data/normalization/{of}/{name}"][()].reshape(POINTS, -1) for name in ("shift", "scale")] for of in ("inputs", "targets")}


def network_of(path):
    """The one layer of kernel 1 of a checkpoint: normalised outputs of normalised inputs, of which missing ones are 0."""
    with h5py.File(path) as file:
        one, = file["model"].values()
        bias = one["bias"][()].astype("f8")
        weight = one["weight"][()].astype("f8").reshape(len(bias), -1)
    scaling = scaling_of(path)

    def normalised(level):
        return numpy.nan_to_num((level - scaling["inputs"][0]) * scaling["inputs"][1], nan=0.0)
    return (lambda inputs: inputs @ weight.T + bias), normalised, scaling["targets"]


def check_statistics(command):
    """Mean, deviation and range of the known numbers of the training levels."""
    path = last_checkpoint(command, "runs/gaps")
    scaling, levels = scaling_of(path), fields(1)
    levels[:, ~SEA.ravel(), 0] = numpy.nan
    with h5py.File(path) as file:
        least, largest = (file[f"input_range/{name}"][()] for name in ("min", "max"))
    for channel in range(3):
        used = levels[..., channel][~numpy.isnan(levels[..., channel])]
        shift, scale = (part[1, channel] for part in scaling["inputs"])
        assert numpy.isclose(shift, used.mean(), rtol=1e-6) and numpy.isclose(scale, 1 / used.std(), rtol=1e-6), channel
        assert numpy.isclose(least[channel], used.min()) and numpy.isclose(largest[channel], used.max()), channel
    text = command.must("data", "gaps.toml").stdout
    known = 100 * numpy.mean(~numpy.isnan(fields(1)[..., 1]))
    assert "missing in /chl" in text and f"{100 - known:.1f} %" in text, text


def still(command, name, kernel=1, steps=1, run=None, **sections):
    """A step over all windows that learns nothing; its loss, and its checkpoint."""
    windows = LEVELS - steps
    command.write("still.toml", deck(kernel, run=dict(name=name, steps=1) | (run or {}), optimizer=dict(type="sgd", lr=1e-12),
                                     rollout=dict(steps=steps) if steps > 1 else None,
                                     **dict(data=dict(batch=windows)) | sections))
    command.must("train", "still.toml")
    found, = losses_of(command, f"runs/{name}")
    return found, last_checkpoint(command, f"runs/{name}")


def huber(error):
    return numpy.where(abs(error) <= 1, error ** 2 / 2, abs(error) - 0.5)


def h1_norms(values, known):
    """Squares of the norms [channels] of values [points, channels] of which `known` count, with periodic differences."""
    total = numpy.where(known, values, 0) ** 2
    total = (total * (POINTS * 2 / MASK.sum())).sum(axis=0)
    on_grid, counts = (of.reshape(*GRID, 2) for of in (values, known))
    for axis in (0, 1):
        slope = (numpy.roll(on_grid, -1, axis) - numpy.roll(on_grid, 1, axis)) * GRID[axis] / 2
        used = counts & numpy.roll(counts, -1, axis) & numpy.roll(counts, 1, axis)
        total = total + (numpy.where(used, slope, 0) ** 2).sum(axis=(0, 1)) * (POINTS * 2 / MASK.sum())
    return total


def loss_of_sample(kind, outputs, target):
    """Of normalised numbers; means divide by the numbers that the mask lets count, missing ones included."""
    known = ~numpy.isnan(target) & MASK
    mean = outputs[:, :2]
    error = numpy.where(known, mean - numpy.where(known, target, 0), 0)
    filled = numpy.where(known, target, 0)
    if kind == "relative_l2":
        return numpy.sqrt((error ** 2).sum() / (filled ** 2).sum())
    if kind == "relative_h1":
        return numpy.sqrt(h1_norms(error, known).sum() / h1_norms(filled, known).sum())
    if kind == "gaussian":
        log_variance = outputs[:, 2:]
        of = (log_variance + error ** 2 * numpy.exp(-log_variance) + numpy.log(2 * numpy.pi)) / 2
    else:
        of = {"mse": error ** 2, "l1": abs(error), "huber": huber(error)}[kind]
    return numpy.where(known, of, 0).sum() / MASK.sum()


def check_losses(command):
    """Of one step over all windows, and of a step through three applications."""
    levels = fields(1)
    for kind in ("mse", "l1", "huber", "relative_l2", "relative_h1", "gaussian"):
        found, path = still(command, f"one-{kind}", model=dict(type="chain", loss=kind))
        network, normalised, (shift, scale) = network_of(path)
        expected = numpy.mean([loss_of_sample(kind, network(normalised(levels[i])), (levels[i + 1, :, :2] - shift) * scale) for i in range(LEVELS - 1)])
        assert numpy.isclose(found, expected, rtol=1e-6), (kind, found, expected)
    for differences in (False, True):
        found, path = still(command, f"three-{differences}", steps=3, arrays=dict(targets_are="difference" if differences else "state"))
        network, normalised, (shift, scale) = network_of(path)
        with h5py.File(path) as file:
            inputs = [file[f"data/normalization/inputs/{name}"][()].reshape(POINTS, -1) for name in ("shift", "scale")]
        total = 0
        for first in range(LEVELS - 3):
            state = normalised(levels[first])
            for step in range(1, 4):
                outputs = network(state)
                target = levels[first + step, :, :2] - (levels[first + step - 1, :, :2] if differences else 0)
                total += loss_of_sample("mse", outputs, (target - shift) * scale) / 3
                values = outputs / scale + shift
                if differences:
                    values = values + state[:, :2] / numpy.where(MASK, inputs[1][:, :2], 1) + inputs[0][:, :2]
                state = normalised(numpy.where(numpy.arange(3) < 2, numpy.pad(values, ((0, 0), (0, 1))), levels[first + step]))
                state[:, :2][~MASK] = 0
        assert numpy.isclose(found, total / (LEVELS - 3), rtol=1e-6), (differences, found, total / (LEVELS - 3))


def check_metrics(command):
    """Of evaluations: loss, relative norms, R2, errors of variables, those of rollouts."""
    run = dict(evaluate_every=1, metrics=["relative_l2", "relative_h1", "r2", "rollout2"])
    _, path = still(command, "measured", run=run)
    network, normalised, (shift, scale) = network_of(path)
    levels = fields(2)
    row = command.rows("runs/measured/evaluations.csv")[-1]
    predicted = numpy.stack([network(normalised(level)) for level in levels[:-1]])
    truth = levels[1:, :, :2]
    known = ~numpy.isnan(truth) & MASK
    values, filled = predicted / scale + shift, numpy.where(known, truth, 0)
    error = numpy.where(known, values - filled, 0)
    loss = numpy.mean([loss_of_sample("mse", p, (t - shift) * scale) for p, t in zip(predicted, truth)])
    l2 = numpy.mean(numpy.sqrt((error ** 2).sum(axis=(1, 2)) / (filled ** 2).sum(axis=(1, 2))))
    h1 = numpy.mean([numpy.sqrt(h1_norms(e, k).sum() / h1_norms(f, k).sum()) for e, f, k in zip(error, filled, known)])
    r2 = []
    for point, channel in zip(*numpy.nonzero(MASK)):
        used = known[:, point, channel]
        of_truth = filled[used, point, channel]
        r2.append(1 - (error[used, point, channel] ** 2).sum() / ((of_truth - of_truth.mean()) ** 2).sum())
    for name, expected in (("loss", loss), ("relative_l2", l2), ("relative_h1", h1), ("r2", numpy.mean(r2))):
        found = float(row[name])
        assert numpy.isclose(found, expected, rtol=1e-5), (name, found, expected, row)
    _, path = still(command, "likely", run=dict(evaluate_every=1, metrics=["crps"]), model=dict(type="chain", loss="gaussian"))
    network, normalised, (shift, scale) = network_of(path)
    outputs = numpy.stack([network(normalised(level)) for level in levels[:-1]])
    deviation = numpy.exp(outputs[..., 2:] / 2) / scale
    z = (filled - (outputs[..., :2] / scale + shift)) / deviation
    score = deviation * (z * numpy.vectorize(math.erf)(z / 2 ** 0.5) + 2 * numpy.exp(-z ** 2 / 2) / (2 * numpy.pi) ** 0.5 - numpy.pi ** -0.5)
    found = float(command.rows("runs/likely/evaluations.csv")[-1]["crps"])
    assert numpy.isclose(found, score[known].mean(), rtol=1e-5), (found, score[known].mean())


def same_but_time(rows):
    return [{key: value for key, value in row.items() if not key.endswith("_s")} for row in rows]


def check_same_bits(command, full):
    """Nothing that a run writes depends on what stands for missing numbers, on the number of ranks or on a restart; without missing
    numbers it does not depend on the key."""
    for name, stored, land in (("huge", 1e30, 1e30), ("small", -999.0, 7.0)):
        folder = command.folder / name
        folder.mkdir()
        for file, seed in (("train.h5", 1), ("test.h5", 2)):
            write(folder / file, seed, stored, land)
        other = Command(command.program, folder)
        other.write("gaps.toml", deck())
        other.must("train", "gaps.toml")
        require_same_weights(command, "runs/gaps", other, "runs/gaps")
        tables = [same_but_time(one.rows("runs/gaps/evaluations.csv")) for one in (command, other)]
        assert tables[0] == tables[1], tables
    write(command.folder / "complete.h5", 1, complete=True)
    for name, missing in (("with", ARRAYS["missing"]), ("without", None)):
        command.write("complete.toml", deck(arrays=dict(missing=missing), data=dict(train="complete.h5", test="complete.h5"),
                                            run=dict(name=name, steps=3, evaluate_every=3, metrics=["relative_l2", "r2", "rollout2"])))
        command.must("train", "complete.toml")
    require_same_weights(command, "runs/with", command, "runs/without")
    assert same_but_time(command.rows("runs/with/evaluations.csv")) == same_but_time(command.rows("runs/without/evaluations.csv"))
    kinds = [("rollout", dict(rollout=dict(steps=3, noise=0.1)))] + [("one", {})] * full
    for kind, sections in kinds:
        command.write("ranks.toml", deck(run=dict(name="ranks", steps=6), checkpoint=dict(every=3), memory=dict(recompute="all"),
                                         optimizer=dict(shard="state", average=0.9), **sections))
        for ranks in (1, 2, 3):
            command.must("train", "ranks.toml", f"run.folder=runs/{kind}{ranks}", ranks=ranks)
        command.must("train", "ranks.toml", f"run.folder=runs/{kind}4", "run.steps=3", ranks=2)
        command.must("train", "ranks.toml", f"run.folder=runs/{kind}4", "--restart", "latest", ranks=2)
        compare_runs(command, f"runs/{kind}2", f"runs/{kind}4")
        for ranks in (2, 3):
            first, other = (losses_of(command, f"runs/{kind}{n}") for n in (1, ranks))
            assert numpy.allclose(first, other, rtol=1e-5), (kind, ranks)
    for ranks in (1, 2):
        command.must("train", "gaps.toml", "run.reproducible=true", "data.micro_batch=1", f"run.folder=runs/exact{ranks}", ranks=ranks)
    require_same_weights(command, "runs/exact1", command, "runs/exact2")


def require_same_weights(one, folder, other, other_folder):
    found = [weights_of(last_checkpoint(command, where), ("model", "optimizer")) for command, where in ((one, folder), (other, other_folder))]
    assert found[0].keys() == found[1].keys()
    for name, value in found[0].items():
        assert numpy.asarray(value).tobytes() == numpy.asarray(found[1][name]).tobytes(), (other_folder, name)


def check_rollouts(command):
    """What is missing at the start reads as the mean, predictions are fed back, errors are of the numbers that the truth has."""
    for differences in (False, True):
        name = f"point-{differences}"
        _, path = still(command, name, arrays=dict(targets_are="difference" if differences else "state"))
        network, normalised, (shift, scale) = network_of(path)
        with h5py.File(path) as file:
            mean = file["data/normalization/inputs/shift"][()].reshape(POINTS, -1)[:, :2]
        levels, tables = fields(2), []
        for stored, land, out in ((numpy.nan, 0.0, f"{name}-nan"), (1e30, 1e30, f"{name}-huge")):
            write(command.folder / "start.h5", 2, stored, land)
            command.must("rollout", f"runs/{name}", "start.h5", "--steps", 4, "--truth", "start.h5", "--out", f"{out}.h5", ranks=2)
            tables.append(list(csv.DictReader(command.text(f"{out}.errors.csv").splitlines())))
        assert tables[0] == tables[1]
        state = levels[0]
        with h5py.File(command.folder / f"{name}-huge.h5") as file:
            found = numpy.stack([file["sst"][()], file["chl"][()]], axis=-1).reshape(5, POINTS, 2)
        start = numpy.where(MASK, levels[0, :, :2], numpy.nan)
        assert numpy.allclose(found[0], numpy.nan_to_num(start, nan=FILL), rtol=1e-6)
        for step in range(1, 5):
            outputs = network(normalised(state)) / scale + shift
            if differences:
                outputs = outputs + numpy.where(numpy.isnan(state[:, :2]), mean, state[:, :2])
            state = levels[step].copy()
            state[:, :2] = numpy.where(MASK, outputs, 0)
            assert numpy.allclose(found[step][MASK], outputs[MASK], rtol=1e-5, atol=1e-5), (step, differences)
            known = MASK & ~numpy.isnan(levels[step, :, :2])
            truth = levels[step, :, :2]
            row = tables[0][step - 1]
            expected = numpy.sqrt(((outputs - truth)[known] ** 2).sum() / (truth[known] ** 2).sum())
            assert numpy.isclose(float(row["relative_l2"]), expected, rtol=1e-5), (step, row, expected)
            both = known & ~numpy.isnan(levels[0, :, :2])
            persistence = numpy.sqrt(((levels[0, :, :2] - truth)[both] ** 2).sum() / (truth[both] ** 2).sum())
            assert numpy.isclose(float(row["persistence_relative_l2"]), persistence, rtol=1e-5), (step, row, persistence)
        with h5py.File(command.folder / f"{name}-nan.errors.nc") as file:
            for variable, channel in (("sst", 0), ("chl", 1)):
                step = 1
                outputs = found[step][:, channel]
                known = MASK[:, channel] & ~numpy.isnan(levels[step, :, channel])
                expected = numpy.sqrt(((outputs - levels[step, :, channel])[known] ** 2).mean())
                assert numpy.isclose(scores_of(file, "rmse", variable)[step - 1], expected, rtol=1e-5), (variable, expected)


def scores_of(file, measure, variable):
    names = [name.decode() if isinstance(name, bytes) else name for name in file["variable"][()]]
    values = file[measure][()]
    return values[..., names.index(variable)] if values.shape[-1] == len(names) else values[names.index(variable)]


def check_other_commands(command):
    """Predictions, flags, evaluations, calibrations and pictures of samples with missing numbers."""
    _, path = still(command, "plain")
    network, normalised, (shift, scale) = network_of(path)
    levels = fields(2)
    command.must("predict", "runs/plain", "test.h5", "predicted.h5", "--flags", "flags.csv")
    with h5py.File(command.folder / "predicted.h5") as file:
        found = file["chl"][()].reshape(-1, POINTS)
    expected = numpy.stack([(network(normalised(level)) / scale + shift)[:, 1] for level in levels[:len(found)]])
    assert numpy.allclose(found, expected, rtol=1e-5, atol=1e-5)
    command.must("predict", "runs/plain", "train.h5", "again.h5", "--flags", "train.csv")
    flags = list(csv.DictReader(command.text("train.csv").splitlines()))
    assert all(float(row["outside"]) == 0 for row in flags), flags
    quantiles = []
    for stored in (numpy.nan, 1e30):
        write(command.folder / "held.h5", 4, stored)
        command.must("calibrate", "runs/plain", "--data", "held.h5", "--coverage", 0.6, "--out", "calibrated.h5")
        with h5py.File(command.folder / "calibrated.h5") as file:
            quantiles.append(file["calibration/quantiles"][()])
        (command.folder / "calibrated.h5").unlink()
    assert numpy.array_equal(*quantiles), quantiles
    levels = fields(4)
    truth = levels[1:, :, :2]
    errors = abs(numpy.stack([network(normalised(level)) / scale + shift for level in levels[:-1]]) - truth)
    for channel in range(2):
        known = ~numpy.isnan(truth[..., channel]) & MASK[:, channel]
        largest = sorted(errors[i, known[i], channel].max() for i in range(LEVELS - 1) if known[i].any())
        rank = int(numpy.ceil((len(largest) + 1) * 0.6 * (1 - 1e-12)))
        assert numpy.isclose(quantiles[0][channel], largest[rank - 1], rtol=1e-5), (channel, quantiles, largest)
    command.must("data", "gaps.toml", "--picture", "gaps.svg", "--sample", 2)


def prepare(command):
    command.write("gaps.toml", deck())
    write(command.folder / "train.h5", 1)
    write(command.folder / "test.h5", 2)
    command.must("train", "gaps.toml")


if __name__ == "__main__":
    run_cases(prepare, check_statistics, check_losses, check_metrics, check_same_bits, check_rollouts, check_other_commands)
