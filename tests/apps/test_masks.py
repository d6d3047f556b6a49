"""Masked points (data.arrays.mask) enter nothing: statistics, losses, metrics, rollouts and calibrations are NumPy's of the
other points, and what the files have at masked points changes no bit.

usage: test_masks.py MYLOS [--full]     --full: ranks and restarts of single steps too, not only of rollouts
"""
import csv
import pathlib

import h5py
import numpy

from support.cases import run_cases
from support.command import Command
from support.decks import deck_text, layer
from support.refusal import require_refusal
from support.run_folders import compare_runs, last_checkpoint, losses_of

LEVELS, GRID = 16, (5, 6)
POINTS = numpy.arange(30).reshape(GRID)
SEA = POINTS % 7 != 3       # of /sst, an array of the files
ICE = POINTS % 11 < 5       # of /ice, its missing values
ARRAYS = dict(inputs=["/sst", "/ice", "/wind"], targets=["/sst", "/ice"], axes="time y x",
              mask={"/sst": "/sea", "/ice": "fill"})


def deck(kernel=3, data=None, arrays=None, **sections):
    sections.setdefault("run", dict(name="sea", steps=4, evaluate_every=4, metrics=["relative_l2", "rollout2"]))
    return deck_text(data=dict(train="train.h5", test="test.h5", batch=4, normalize="channel") | (data or {}),
                     data__arrays=ARRAYS | (arrays or {}), precision=dict(compute="fp32"),
                     **dict(model=dict(type="chain", loss="mse"), layers=[layer("conv", kernel=kernel, outputs=2)]) | sections)


def fields(seed):
    random = numpy.random.default_rng(seed)
    sst, ice, wind = random.standard_normal((3, LEVELS, *GRID)).astype("f4")
    return 280 + 3 * sst, ice, wind


def write(path, seed, land=0.0, missing=numpy.nan):
    """`land`: what /sst has where there is no sea; `missing`: what /ice has where there is no value."""
    sst, ice, wind = fields(seed)
    with h5py.File(path, "w") as file:
        file["sst"], file["wind"], file["sea"] = numpy.where(SEA, sst, land), wind, SEA.astype("i1")
        file["ice"] = numpy.where(ICE, ice, missing).astype("f4")
        if not numpy.isnan(missing):
            file["ice"].attrs["_FillValue"] = numpy.float32(missing)


def counted(values, mask):
    return values[..., mask].astype("f8").ravel()


def weight_mask():
    return numpy.stack([SEA, ICE], axis=-1).reshape(-1, 2)


def network_of(path):
    """The one layer of kernel 1 of a checkpoint with its scaling: outputs of levels [points, 3], in units of the data."""
    with h5py.File(path) as file:
        one, = file["model"].values()
        weight, bias = one["weight"][()].astype("f8").reshape(2, -1), one["bias"][()].astype("f8")
        scaling = {of: [file[f"data/normalization/{of}/{name}"][()].reshape(30, -1) for name in ("shift", "scale")] for of in ("inputs", "targets")}
    shift, scale = scaling["targets"]

    def apply(level):
        return ((level - scaling["inputs"][0]) * scaling["inputs"][1] @ weight.T + bias) / scale + shift
    return apply, scaling


def levels_of(seed):
    sst, ice, wind = fields(seed)
    levels = numpy.stack([numpy.where(SEA, sst, 0), numpy.where(ICE, ice, 0), wind], axis=-1)
    return levels.reshape(LEVELS, 30, 3).astype("f8")


def check_statistics(command):
    """Mean and deviation of the points that count; masked inputs have the scale 0."""
    _, scaling = network_of(last_checkpoint(command, "runs/sea"))
    sst, ice, wind = (values for values in fields(1))
    everywhere = numpy.ones(GRID, bool)
    for channel, (values, mask) in enumerate(((sst, SEA), (ice, ICE), (wind, everywhere))):
        used = counted(values, mask)
        shift, scale = (part[:, channel] for part in scaling["inputs"])
        assert numpy.allclose(shift[mask.ravel()], used.mean(), rtol=1e-6, atol=1e-7), channel
        assert numpy.allclose(scale[mask.ravel()], 1 / used.std(), rtol=1e-6), channel
        assert not scale[~mask.ravel()].any() and not shift[~mask.ravel()].any(), channel


def check_losses(command):
    """The loss of one step over all windows, and of a step through three applications, without learning."""
    for steps in (1, 3):
        windows = LEVELS - steps
        command.write("still.toml", deck(1, run=dict(name="still", steps=1), optimizer=dict(type="sgd", lr=1e-12),
                                         data=dict(batch=windows), rollout=dict(steps=steps) if steps > 1 else None))
        command.must("train", "still.toml", f"run.folder=runs/still{steps}")
        network, scaling = network_of(last_checkpoint(command, f"runs/still{steps}"))
        levels, mask = levels_of(1), weight_mask()
        total = 0
        for first in range(windows):
            state = levels[first]
            for step in range(1, steps + 1):
                outputs = network(state)
                error = (outputs - levels[first + step][:, :2]) * scaling["targets"][1]
                total += (error[mask] ** 2).mean() / steps
                state = levels[first + step].copy()
                state[:, :2] = numpy.where(mask, outputs, 0)
        found, = losses_of(command, f"runs/still{steps}")
        assert numpy.isclose(found, total / windows, rtol=1e-6), (steps, found, total / windows)


def check_same_bits(command, full):
    """Nothing that a run writes depends on masked points of its files, on the number of ranks or on a restart."""
    for name, land, missing in (("nan", numpy.nan, -999.0), ("huge", 1e30, 1e30)):
        folder = command.folder / name
        folder.mkdir()
        for file, seed in (("train.h5", 1), ("test.h5", 2)):
            write(folder / file, seed, land, missing)
        other = Command(command.program, folder)
        other.write("sea.toml", deck())
        other.must("train", "sea.toml")
        for path in (last_checkpoint(other, "runs/sea"),):
            with h5py.File(path) as there, h5py.File(last_checkpoint(command, "runs/sea")) as here:
                for group in ("model", "data/normalization", "input_range", "loss"):
                    here[group].visititems(lambda item, value: same(value, there[group][item]) if hasattr(value, "dtype") else None)
        rows = [[{key: value for key, value in row.items() if not key.endswith("_s")} for row in one.rows("runs/sea/evaluations.csv")]
                for one in (command, other)]
        assert rows[0] == rows[1], rows
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


def same(a, b):
    assert numpy.asarray(a[()]).tobytes() == numpy.asarray(b[()]).tobytes(), a.name


def check_rollouts(command):
    """Masked points stay out of states, errors and files; _FillValue stands for them."""
    command.write("point.toml", deck(1))
    command.must("train", "point.toml", "run.folder=runs/point")
    network, _ = network_of(last_checkpoint(command, "runs/point"))
    levels, mask = levels_of(2), weight_mask()
    tables = []
    for name, land, missing in (("plain", 0.0, numpy.nan), ("huge", 1e30, -999.0)):
        write(command.folder / "start.h5", 2, land, missing)
        command.must("rollout", "runs/point", "start.h5", "--steps", 3, "--truth", "start.h5", "--out", f"{name}.h5", ranks=2)
        tables.append(list(csv.DictReader(command.text(f"{name}.errors.csv").splitlines())))
    assert tables[0] == tables[1]
    state = levels[0]
    with h5py.File(command.folder / "huge.h5") as file:
        found = numpy.stack([file["sst"][()], file["ice"][()]], axis=-1).reshape(4, 30, 2)
        fill = [file[name].attrs["_FillValue"] for name in ("sst", "ice")]
        assert all(value == numpy.float32(9.96921e36) for value in fill) and file["sst"].attrs["_FillValue"].dtype == file["sst"].dtype
    for step in range(1, 4):
        outputs = network(state)
        state = levels[step].copy()
        state[:, :2] = numpy.where(mask, outputs, 0)
        assert numpy.allclose(found[step][mask], outputs[mask], rtol=1e-5), step
        assert (found[step][~mask] == numpy.float32(9.96921e36)).all()
        error, truth = outputs - levels[step][:, :2], levels[step][:, :2]
        expected = numpy.sqrt((error[mask] ** 2).sum() / (truth[mask] ** 2).sum())
        assert numpy.isclose(float(tables[0][step - 1]["relative_l2"]), expected, rtol=1e-5), (step, tables[0][step - 1])
    command.must("predict", "runs/point", "start.h5", "predicted.h5")
    with h5py.File(command.folder / "predicted.h5") as file:
        values = file["sst"][()]
        assert (values[:, ~SEA] == numpy.float32(9.96921e36)).all()
        assert numpy.allclose(values[0][SEA], network(levels[0])[:, 0].reshape(GRID)[SEA], rtol=1e-5)


def check_calibrations(command):
    """Intervals are those of the points that count."""
    quantiles = []
    for land, missing in ((0.0, numpy.nan), (1e6, 1e9)):
        write(command.folder / "held.h5", 4, land, missing)
        command.must("calibrate", "runs/sea", "--data", "held.h5", "--coverage", 0.8, "--out", "calibrated.h5")
        with h5py.File(command.folder / "calibrated.h5") as file:
            quantiles.append(file["calibration/quantiles"][()])
        (command.folder / "calibrated.h5").unlink()
    assert numpy.array_equal(*quantiles), quantiles


def check_other_programs(command):
    """Flags of samples, weights with an axis of one point, and initial weights of a run with another mask."""
    command.must("predict", "runs/sea", "train.h5", "flagged.h5", "--flags", "flags.csv")
    flags = list(csv.DictReader(command.text("flags.csv").splitlines()))
    assert len(flags) == LEVELS - 1 and all(float(row["outside"]) == 0 for row in flags), flags
    write(command.folder / "start.h5", 2)
    tables = []
    with h5py.File(command.folder / "areas.h5", "w") as file:
        file["plain"] = file["long"] = numpy.linspace(1, 2, 30).reshape(GRID)
        file["wide"] = numpy.linspace(1, 2, 30).reshape(1, *GRID)
    for name in ("plain", "wide"):
        command.write("area.toml", deck(run=dict(name=name, steps=2), data__weights=dict(file="areas.h5", array=f"/{name}")))
        command.must("train", "area.toml")
        command.must("rollout", f"runs/{name}", "start.h5", "--steps", 2, "--truth", "start.h5", "--out", f"{name}-area.h5")
        tables.append(command.text(f"{name}-area.errors.csv"))
    assert tables[0] == tables[1]
    with h5py.File(command.folder / "full.h5", "w") as file:
        for name, values in zip(("sst", "ice", "wind"), fields(1)):
            file[name] = values
    command.write("from.toml", deck(run=dict(name="from", steps=1, initial="runs/sea"), data=dict(train="full.h5", test=None), arrays=dict(mask=None)))
    result = command.run("train", "from.toml")
    if result.returncode == 0:  # with a scaling of its own
        with h5py.File(last_checkpoint(command, "runs/from")) as file:
            assert file["data/normalization/inputs/scale"][()].all()


def check_refusals(command):
    def refused(error_id, *parts, arrays=None, data=None, file="train.h5", **sections):
        command.write("bad.toml", deck(arrays=arrays, data=(data or {}) | dict(train=file), **sections))
        require_refusal(command.run("train", "bad.toml", "run.folder=runs/bad"), error_id, *parts)

    refused("key-without-effect", "bad.toml", "/rain", arrays=dict(mask={"/rain": "/sea"}))
    refused("keys-conflict", "points_are_samples", arrays=dict(points_are_samples=True))
    refused("keys-conflict", "data.augment", data__augment=dict(shift=2))
    refused("keys-conflict", "data.fill", "/ice", data=dict(fill=0))
    refused("missing-dataset", "/land", arrays=dict(mask="/land"))
    refused("data-mismatch", "/wind", arrays=dict(mask={"/sst": "/wind"}))

    with h5py.File(command.folder / "shares.h5", "w") as file:
        file["sst"], file["sea"] = numpy.random.default_rng(3).uniform(0, 1, (LEVELS, *GRID)), SEA.astype("i1")
    refused("keys-conflict", "binary_cross_entropy", file="shares.h5", run=dict(name="bad", steps=1), data=dict(normalize="none", test=None),
            arrays=dict(inputs=["/sst"], targets=["/sst"], mask="/sea"), model=dict(type="chain", loss="binary_cross_entropy"),
            layers=[layer("conv", outputs=1)])
    refused("keys-conflict", "bad.toml", "data.arrays.mask", layers=[layer("conv", outputs=2), layer("zero_sum")], data=dict(normalize="none"))

    def changed(name, change):
        write(command.folder / "changed.h5", 1)
        with h5py.File(command.folder / "changed.h5", "r+") as file:
            change(file)
        return dict(file="changed.h5") if name == "train" else {}

    def set_sea(values):
        def change(file):
            file["sea"][...] = values
        return change

    def move(file):
        file["ice"][5, 0, 5] = 1.0

    def vanish(file):
        file["ice"][5, 0, 0] = numpy.nan
    refused("bad-value", "changed.h5", "/sst", **changed("train", set_sea(0)))
    refused("data-mismatch", "/ice[5, 0, 5]", **changed("train", move))
    refused("not-finite", "/ice[5, 0, 0]", **changed("train", vanish))

    def overflow(file):
        file["ice"][:, 0, 5] = numpy.inf
    refused("not-finite", "/ice[0, 0, 5]", data=dict(test=None), run=dict(name="bad", steps=1), **changed("train", overflow))
    other = SEA.copy()
    other[0, 0] = False
    changed("test", set_sea(other))
    refused("data-mismatch", "/sst", data=dict(test="changed.h5"))
    refused("data-mismatch", "/sea", file=["train.h5", "changed.h5"])
    for line in (("eval", "runs/sea", "--data", "changed.h5"), ("predict", "runs/sea", "changed.h5", "no.h5"),
                 ("rollout", "runs/sea", "changed.h5", "--steps", 2, "--out", "no.h5")):
        require_refusal(command.run(*line), "data-mismatch", "/sst")
    require_refusal(command.run("rollout", "runs/sea", "test.h5", "--steps", 2, "--truth", "test.h5", "--climatology", "changed.h5", "--out", "no.h5"),
                    "data-mismatch", "/sst", "changed.h5")
    assert not pathlib.Path(command.folder / "no.h5").exists()


def prepare(command):
    command.write("sea.toml", deck())
    write(command.folder / "train.h5", 1)
    write(command.folder / "test.h5", 2)
    command.must("train", "sea.toml")


if __name__ == "__main__":
    run_cases(prepare, check_statistics, check_losses, check_same_bits, check_rollouts, check_calibrations, check_other_programs, check_refusals)
