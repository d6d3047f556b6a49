"""Encodings of times and places as inputs: losses, predictions and rollouts are NumPy's, with times by Python's datetime and by the
closed form of years of 365 days; beyond the last level of a file too. What is refused.

usage: test_encodings.py MYLOS
"""
import datetime

import h5py
import numpy

from support.cases import run_cases
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint, losses_of

LEVELS, GRID, HOURS = 10, (3, 4), 6
LATITUDES, LONGITUDES = numpy.array([-60.0, 10, 45]), numpy.array([0.0, 90, 180, 270])
ENCODINGS = ["day_of_year", "hour", "latitude", "longitude"]
ARRAYS = dict(inputs=["/u"], targets=["/u"], constants=["/height"], axes="time lat lon", encodings=ENCODINGS)
NAMES = ["u", "sin(day_of_year)", "cos(day_of_year)", "sin(hour)", "cos(hour)", "height", "sin(latitude)", "sin(longitude)", "cos(longitude)"]
FIRST = datetime.datetime(1999, 12, 30, 6)  # the levels pass the end of the year, of a leap year next


def deck(arrays=None, **sections):
    sections.setdefault("run", dict(name="encoded", steps=1))
    sections.setdefault("data", dict(train="train.h5", batch=2, normalize="channel"))
    return deck_text(data__arrays=ARRAYS | (arrays or {}), model=dict(type="chain", loss="mse"), precision=dict(compute="fp32"),
                     optimizer=dict(type="sgd", lr=1e-12), layers=[layer("conv", outputs=1)], **sections)


def write(path, seed, levels=LEVELS, first=FIRST, calendar="standard", units=None, lat_units="degrees_north", times=None):
    """Times count in days from the first one, as xarray writes them, where `units` are not given."""
    random = numpy.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        file["u"] = random.standard_normal((levels, *GRID)) * 3 + 7
        file["height"] = random.standard_normal(GRID)
        values = dict(time=HOURS / 24 * numpy.arange(levels) if times is None else times, lat=LATITUDES, lon=LONGITUDES)
        for axis, text in dict(time=units or f"days since {first}", lat=lat_units, lon="degrees_east").items():
            file[axis] = values[axis]
            file[axis].attrs["units"] = text
            file[axis].make_scale(axis)
            for name in ("u", "height"):
                scales = ["time", "lat", "lon"][-file[name].ndim:]
                if axis in scales:
                    file[name].dims[scales.index(axis)].attach_scale(file[axis])
        if calendar:
            file["time"].attrs["calendar"] = calendar


def fractions(levels, calendar, first=FIRST):
    """Of the year and of the day, of levels from the first one on."""
    found = []
    for i in range(levels):
        if calendar == "noleap":
            hours = (first - datetime.datetime(first.year, 1, 1)).total_seconds() / 3600 + HOURS * i  # 1999 is no leap year
            found.append((hours % (365 * 24) / (365 * 24), hours % 24 / 24))
            continue
        at = first + datetime.timedelta(hours=HOURS * i)
        begin, end = datetime.datetime(at.year, 1, 1), datetime.datetime(at.year + 1, 1, 1)
        found.append(((at - begin) / (end - begin), at.hour / 24))
    return numpy.array(found)


def inputs_of(path, count=None, calendar="standard"):
    """[level, points, channels]; of `count` levels, of which those beyond the file have no u."""
    with h5py.File(path) as file:
        u, height = (file[name][()].astype("f4").astype("f8") for name in ("u", "height"))
    count = count or len(u)
    year, day = 2 * numpy.pi * fractions(count, calendar).T[:, :, None, None]
    lat, lon = numpy.radians(LATITUDES)[:, None], numpy.radians(LONGITUDES)[None, :]
    known = numpy.full((count, *GRID), numpy.nan)
    known[:len(u)] = u[:count]
    fields = [known, numpy.sin(year), numpy.cos(year), numpy.sin(day), numpy.cos(day), height, numpy.sin(lat), numpy.sin(lon), numpy.cos(lon)]
    return numpy.stack([numpy.broadcast_to(field, (count, *GRID)) for field in fields], axis=-1).reshape(count, 12, -1)


def network_of(path):
    with h5py.File(path) as file:
        one, = file["model"].values()
        weight, bias = one["weight"][()].astype("f8").reshape(1, -1), one["bias"][()].astype("f8")
        (shift, scale), (of_target, scale_of_target) = ([file[f"data/normalization/{of}/{name}"][()].reshape(-1, channels)[0] for name in ("shift", "scale")]
                                                        for of, channels in (("inputs", weight.shape[1]), ("targets", 1)))
        assert file["samples/input_names"][()].decode().split("\n") == NAMES or weight.shape[1] != len(NAMES)
    return lambda inputs: ((inputs - shift) * scale @ weight.T + bias) / scale_of_target + of_target, scale_of_target, (shift, scale)


def check_scaling(command):
    """Encoded channels are read as they are."""
    _, _, (shift, scale) = network_of(last_checkpoint(command, "runs/encoded"))
    u = inputs_of(command.folder / "train.h5")[..., 0]
    assert numpy.isclose(shift[0], u.mean()) and numpy.isclose(scale[0], 1 / u.std())
    encoded = [i for i, name in enumerate(NAMES) if "(" in name]
    assert not shift[encoded].any() and (scale[encoded] == 1).all()


def check_losses(command):
    for calendar in ("standard", "noleap"):
        write(command.folder / "other.h5", 3, calendar=calendar)
        inputs = inputs_of(command.folder / "other.h5", calendar=calendar)
        for steps in (1, 3):
            windows, run = LEVELS - steps, f"runs/{calendar}{steps}"
            command.write("still.toml", deck(data=dict(train="other.h5", batch=windows, normalize="channel"), rollout=dict(steps=steps) if steps > 1 else None))
            command.must("train", "still.toml", f"run.folder={run}", ranks=steps)
            network, scale, _ = network_of(last_checkpoint(command, run))
            total = 0
            for first in range(windows):
                level = inputs[first]
                for step in range(1, steps + 1):
                    outputs = network(level)
                    total += (((outputs[:, 0] - inputs[first + step, :, 0]) * scale) ** 2).mean() / steps / windows
                    level = inputs[first + step].copy()
                    level[:, 0] = outputs[:, 0]
            found, = losses_of(command, run)
            assert numpy.isclose(found, total, rtol=1e-5), (calendar, steps, found, total)


def check_rollouts(command):
    """From a file of one level the times go on by the distance of levels of the training; from one of several by its own."""
    network, _, _ = network_of(last_checkpoint(command, "runs/encoded"))
    for levels, steps, ranks in ((1, 7, 1), (3, 7, 3), (LEVELS, 5, 1)):
        write(command.folder / "start.h5", 5, levels=levels)
        command.must("rollout", "runs/encoded", "start.h5", "--steps", steps, "--out", "traj.h5", ranks=ranks)
        inputs = inputs_of(command.folder / "start.h5", count=steps + 1)
        with h5py.File(command.folder / "traj.h5") as file:
            found = file["u"][()].reshape(steps + 1, -1)
            assert numpy.allclose(file["time"][()], HOURS / 24 * numpy.arange(steps + 1)), (levels, file["time"][()])
        level = inputs[0]
        for step in range(1, steps + 1):
            outputs = network(level)
            assert numpy.allclose(found[step], outputs[:, 0], rtol=1e-5, atol=1e-5), (levels, step)
            level = inputs[step].copy()
            level[:, 0] = outputs[:, 0]


def check_gaps(command):
    """Steps count levels: a gap on their way has no time for them."""
    write(command.folder / "gap.h5", 5, levels=4, times=HOURS / 24 * numpy.array([0, 1, 3, 4]))
    rollout = ["rollout", "runs/encoded", "gap.h5", "--out", "traj.h5", "--steps"]
    command.must(*rollout, 2)
    command.must_refuse([*rollout, 3], "data-mismatch", "gap.h5")
    command.must(*rollout, 9, "--start", 2)


def check_predictions(command):
    """Of files whose units are others, and of a network of two levels."""
    write(command.folder / "hours.h5", 7, units="hours since 1900-01-01", times=(FIRST - datetime.datetime(1900, 1, 1)).total_seconds() / 3600 + HOURS * numpy.arange(LEVELS))
    inputs = inputs_of(command.folder / "hours.h5")
    network, _, _ = network_of(last_checkpoint(command, "runs/encoded"))
    command.must("predict", "runs/encoded", "hours.h5", "predicted.h5")
    with h5py.File(command.folder / "predicted.h5") as file:
        assert numpy.allclose(file["u"][()].reshape(LEVELS - 1, -1), network(inputs)[:-1, :, 0], rtol=1e-5, atol=1e-5)
    command.must("eval", "runs/encoded", "--data", "hours.h5")
    command.write("two.toml", deck(dict(history=2, encodings=["hour", "latitude"])))
    command.must("train", "two.toml", "run.folder=runs/two")
    with h5py.File(last_checkpoint(command, "runs/two")) as file:
        names = file["samples/input_names"][()].decode().split("\n")
    assert names == ["u(t-1)", "sin(hour)(t-1)", "cos(hour)(t-1)", "u(t)", "sin(hour)(t)", "cos(hour)(t)", "height", "sin(latitude)"], names
    network, _, _ = network_of(last_checkpoint(command, "runs/two"))
    command.must("predict", "runs/two", "hours.h5", "predicted.h5")
    pairs = numpy.concatenate([inputs[:-2][..., [0, 3, 4]], inputs[1:-1][..., [0, 3, 4, 5, 6]]], axis=-1)
    with h5py.File(command.folder / "predicted.h5") as file:
        assert numpy.allclose(file["u"][()].reshape(LEVELS - 2, -1), network(pairs)[..., 0], rtol=1e-5, atol=1e-5)


def check_points(command):
    """Points that are samples know where they are too."""
    command.write("points.toml", deck_text(run=dict(name="points", steps=2), data=dict(train="train.h5", batch=8, normalize="standard"),
                                           data__arrays=ARRAYS | dict(points_are_samples=True), model=dict(type="mlp", hidden=[], loss="mse"),
                                           precision=dict(compute="fp32")))
    command.must("train", "points.toml")
    network, _, (shift, scale) = network_of(last_checkpoint(command, "runs/points"))
    assert not shift[[1, 2, 3, 4, 6, 7, 8]].any() and (scale[[1, 2, 3, 4, 6, 7, 8]] == 1).all()
    write(command.folder / "start.h5", 5, levels=2)
    command.must("rollout", "runs/points", "start.h5", "--steps", 4, "--out", "traj.h5")
    inputs = inputs_of(command.folder / "start.h5", count=5)
    with h5py.File(command.folder / "traj.h5") as file:
        found = file["u"][()].reshape(5, -1)
    level = inputs[0]
    for step in range(1, 5):
        outputs = network(level)
        assert numpy.allclose(found[step], outputs[:, 0], rtol=1e-5, atol=1e-5), step
        level = inputs[step].copy()
        level[:, 0] = outputs[:, 0]


def check_identity(command):
    """Other times are other data, where the network reads them."""
    command.must("train", "encoded.toml", "run.folder=runs/again")
    write(command.folder / "later.h5", 1, first=FIRST + datetime.timedelta(days=100))
    (command.folder / "kept.h5").write_bytes((command.folder / "train.h5").read_bytes())
    (command.folder / "train.h5").write_bytes((command.folder / "later.h5").read_bytes())
    command.must_refuse(["train", "encoded.toml", "run.folder=runs/again", "run.steps=2", "--restart", "auto"], "restart-mismatch", "other data")
    (command.folder / "train.h5").write_bytes((command.folder / "kept.h5").read_bytes())
    command.must("train", "encoded.toml", "run.folder=runs/again", "run.steps=2", "--restart", "auto")
    command.must_refuse(["train", "encoded.toml", "run.folder=runs/again", "run.steps=3", 'data.arrays.encodings=["hour", "day_of_year", "latitude", "longitude"]', "--restart", "auto"],
                        "restart-mismatch", "data.arrays.encodings")


def check_refusals(command):
    train = ["train", "encoded.toml", "data.train=bad.h5", "run.folder=runs/never"]
    for name, change, words in (("no-cf-times", dict(units="hours"), ("day_of_year", "bad.h5")),
                                ("months", dict(units="months since 2000-01-01"), ("day_of_year", "bad.h5")),
                                ("no-latitude", dict(lat_units="m"), ("latitude", "bad.h5"))):
        write(command.folder / "bad.h5", 1, **change)
        command.must_refuse(train, "data-mismatch", *words)
    write(command.folder / "bad.h5", 1, calendar="lunar")
    command.must_refuse(train, "bad-dataset", "lunar", "bad.h5")
    command.must_refuse([*train, "data.arrays.gaps=ignore"], "bad-dataset", "lunar", "bad.h5")
    write(command.folder / "bad.h5", 1, calendar="360_day")
    both = ["train", "encoded.toml", 'data.train=["train.h5", "bad.h5"]', "run.folder=runs/never"]
    command.must_refuse(both, "data-mismatch", "360_day", "bad.h5", "train.h5")
    command.must_refuse(["train", "encoded.toml", "run.folder=runs/never", "data.arrays.coordinates=ignore"], "keys-conflict", "data.arrays.encodings")
    command.write("still.toml", deck(dict(encodings=["weekday"])))
    command.must_refuse(["train", "still.toml"], "bad-value", "data.arrays.encodings")


def prepare(command):
    write(command.folder / "train.h5", 1)
    command.write("encoded.toml", deck())
    command.must("train", "encoded.toml")


if __name__ == "__main__":
    run_cases(prepare, check_scaling, check_losses, check_rollouts, check_gaps, check_predictions, check_points, check_identity, check_refusals)
