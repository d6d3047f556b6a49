"""Climatologies by day of the year, with which rollouts are compared: of training files, over February 29 and the end of the year, of
files by xarray's axis dayofyear; errors are NumPy's. What is refused.

usage: test_climatologies.py MYLOS
"""
import datetime

import h5py
import numpy

from support.cases import run_cases
from support.decks import deck_text, layer

GRID, BESIDE, STEPS = (2, 3), 15, 12
DECK = deck_text(run=dict(name="daily", steps=1), data=dict(train=["a.h5", "b.h5"], batch=4, normalize="channel"),
                 data__arrays=dict(inputs=["/u"], targets=["/u"], axes="time y x"), model=dict(type="chain", loss="mse"),
                 precision=dict(compute="fp32"), layers=[layer("conv", outputs=1)])
LONGEST = [datetime.date(2000, 1, 1) + datetime.timedelta(days=i) for i in range(366)]
NUMBER = {(day.month, day.day): i for i, day in enumerate(LONGEST)}  # of days of all years


def dates_of(first, levels):
    return [first + datetime.timedelta(days=i) for i in range(levels)]


def write(path, first, levels, seed, units=None, calendar="standard", times=None):
    """Daily levels with a season, from a date on; the units differ by file."""
    random = numpy.random.default_rng(seed)
    begin = first.timetuple().tm_yday if first else times[0]
    season = 5 * numpy.sin(2 * numpy.pi * (begin + numpy.arange(levels)) / 365)[:, None, None]
    u = (season + random.standard_normal((levels, *GRID))).astype("f4")
    with h5py.File(path, "w") as file:
        file["u"] = u
        file["time"] = numpy.arange(levels) if times is None else times
        file["time"].attrs["units"] = units or f"days since {first}"
        file["time"].attrs["calendar"] = calendar
        file["time"].make_scale("time")
        file["u"].dims[0].attach_scale(file["time"])
    return u.astype("f8")


def by_day(levels, days, length=366):
    """[day, y, x] of levels of days 0 ... length - 1: means over 15 days on both sides; NaN where there are none."""
    sums, counts = numpy.zeros((length, *GRID)), numpy.zeros(length)
    numpy.add.at(sums, days, levels)
    numpy.add.at(counts, days, 1)
    around = (numpy.arange(length)[:, None] + numpy.arange(-BESIDE, BESIDE + 1)) % length
    with numpy.errstate(invalid="ignore"):
        return (sums[around].sum(1) / counts[around].sum(1)[:, None, None]).astype("f4").astype("f8")


def scores(command, climatology, starts, run="runs/daily", start="test.h5", out="out.h5", ranks=1):
    command.must("rollout", run, start, "--steps", STEPS, "--start", ",".join(map(str, starts)), "--out", out, "--truth", start,
                 "--climatology", climatology, ranks=ranks)
    with h5py.File(command.folder / out.replace(".h5", ".errors.nc")) as file:
        found = {name: file[name][()][:, 0] for name in ("acc", "persistence_acc", "climatology_rmse", "climatology_bias")}
    with h5py.File(command.folder / out) as file:
        states = file["u"][()].reshape(len(starts), STEPS + 1, *GRID).astype("f8")
    return found, states


def require(found, states, truth, usual, starts):
    """`usual`: the climatology at each level of the truth."""
    def correlation(field, level):
        a, b = field - usual[level], truth[level] - usual[level]
        return (a * b).sum() / numpy.sqrt((a * a).sum() * (b * b).sum())

    for step in range(1, STEPS + 1):
        levels = [start + step for start in starts]
        errors = [usual[level] - truth[level] for level in levels]
        expected = dict(acc=numpy.mean([correlation(states[i, step], level) for i, level in enumerate(levels)]),
                        persistence_acc=numpy.mean([correlation(truth[start], start + step) for start in starts]),
                        climatology_rmse=numpy.sqrt(numpy.mean(numpy.square(errors))), climatology_bias=numpy.mean(errors))
        for name, value in expected.items():
            assert abs(found[name][step - 1] - value) < 1e-6 * max(1, abs(value)), (name, step, found[name][step - 1], value)


STARTS = (0, 3, 310)  # from February 20 over the 29th; from December 26 over the end of the year


def check_training_days(command):
    for calendar in ("standard", "proleptic_gregorian"):
        truth = write(command.folder / "test.h5", datetime.date(2004, 2, 20), 340, 9, units="hours since 2004-02-20", calendar=calendar, times=24 * numpy.arange(340))
        usual = by_day(numpy.concatenate(command.levels), command.days)
        usual = usual[[NUMBER[day.month, day.day] for day in dates_of(datetime.date(2004, 2, 20), 340)]]
        found, states = scores(command, "training-day", STARTS)
        require(found, states, truth, usual, STARTS)
    before = (command.folder / "out.errors.nc").read_bytes()
    scores(command, "training-day", STARTS, ranks=3)
    assert (command.folder / "out.errors.nc").read_bytes() == before
    constant, _ = scores(command, "training", STARTS)
    assert (constant["climatology_rmse"] > 1.2 * found["climatology_rmse"]).all()  # the season counts


def check_no_leap_years(command):
    for name, first, seed in (("c.h5", 40, 3), ("test.h5", 365 * 4 + 45, 4)):
        levels = write(command.folder / name, None, 400, seed, units="days since 1999-01-01", calendar="365_day", times=first + numpy.arange(400))
        days = (first + numpy.arange(400)) % 365
        if name == "c.h5":
            usual = by_day(levels, days, 365)
    command.must("train", "daily.toml", "data.train=c.h5", "run.folder=runs/noleap")
    found, states = scores(command, "training-day", (5, 300, 380), run="runs/noleap")
    require(found, states, levels, usual[days], (5, 300, 380))


def write_usual(path, numbers, seed=12):
    """`numbers`: None is an axis without coordinates."""
    usual = numpy.random.default_rng(seed).standard_normal((366 if numbers is None else len(numbers), *GRID)).astype("f4")
    with h5py.File(path, "w") as file:
        file["u"] = usual
        if numbers is None:
            file.create_dataset("dayofyear", len(usual), "f4")
        else:
            file["dayofyear"] = numbers
        file["dayofyear"].make_scale("dayofyear")
        file["u"].dims[0].attach_scale(file["dayofyear"])
    return usual.astype("f8")


def check_numbered_days(command):
    """xarray's groupby("time.dayofyear").mean(): days by their number in each year."""
    first = datetime.date(2004, 2, 20)
    truth = write(command.folder / "test.h5", first, 340, 9)
    days = numpy.array([day.timetuple().tm_yday for day in dates_of(first, 340)])
    for numbers in (numpy.arange(1, 367), numpy.arange(1, 366)):
        usual = write_usual(command.folder / "usual.h5", numbers)
        places = [int(numpy.flatnonzero(numbers == min(day, numbers.max()))[0]) for day in days]
        found, states = scores(command, "usual.h5", STARTS)
        require(found, states, truth, usual[places], STARTS)


def check_refusals(command):
    write(command.folder / "test.h5", datetime.date(2004, 2, 20), 40, 9)
    words = ["rollout", "runs/daily", "test.h5", "--steps", 3, "--out", "no.h5", "--truth", "test.h5", "--climatology"]
    write_usual(command.folder / "usual.h5", numpy.arange(60, 367))
    command.must_refuse([*words, "usual.h5"], "data-mismatch", "usual.h5", "dayofyear", "52", ranks=2)
    write_usual(command.folder / "bare.h5", None)
    command.must_refuse([*words, "bare.h5"], "data-mismatch", "bare.h5", "dayofyear", "coordinates")
    for name in ("usual-a.h5", "usual-b.h5"):
        write_usual(command.folder / name, numpy.arange(1, 367))
    command.must_refuse([*words, "usual-*.h5"], "data-mismatch", "usual-", "2 files")
    write(command.folder / "short.h5", datetime.date(2001, 6, 1), 40, 9)
    command.must("train", "daily.toml", "data.train=short.h5", "run.folder=runs/short")
    command.must_refuse(["rollout", "runs/short", *words[2:], "training-day"], "too-little-data", "short.h5", ranks=2)
    write(command.folder / "test.h5", datetime.date(2004, 2, 20), 40, 9, calendar="noleap")
    command.must_refuse([*words, "training-day"], "data-mismatch", "noleap", "test.h5")
    for units in ("days", "days since the start"):
        write(command.folder / "test.h5", datetime.date(2004, 2, 20), 40, 9, units=units)
        for climatology in ("training-day", "usual.h5"):
            command.must_refuse([*words, climatology], "data-mismatch", "test.h5", climatology)
    write(command.folder / "vague.h5", datetime.date(2001, 6, 1), 400, 9, units="days")
    write(command.folder / "test.h5", datetime.date(2004, 2, 20), 40, 9)
    command.must("train", "daily.toml", "data.train=vague.h5", "run.folder=runs/vague")
    command.must_refuse(["rollout", "runs/vague", *words[2:], "training-day"], "data-mismatch", "vague.h5", ranks=2)
    assert not list(command.folder.glob("no.*"))


def prepare(command):
    command.write("daily.toml", DECK)
    files = (("a.h5", datetime.date(1999, 2, 1), 500), ("b.h5", datetime.date(2001, 1, 10), 420))
    command.levels = [write(command.folder / name, first, levels, i) for i, (name, first, levels) in enumerate(files)]
    command.days = [NUMBER[day.month, day.day] for _, first, levels in files for day in dates_of(first, levels)]
    command.must("train", "daily.toml")


if __name__ == "__main__":
    run_cases(prepare, check_training_days, check_no_leap_years, check_numbered_days, check_refusals)
