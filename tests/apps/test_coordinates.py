"""Files whose coordinates differ in one way from those of the training: the same bits, or refused; none is computed with in silence.

usage: test_coordinates.py MYLOS [--full]     --full: every change in every place
"""
import h5py
import numpy

from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.decks import deck_text, layer

LEVELS, LATITUDES, LONGITUDES = 6, 6, 8
COORDINATES = {"time": 6.0 * numpy.arange(LEVELS), "lat": numpy.linspace(-75, 75, LATITUDES), "lon": 45.0 * numpy.arange(LONGITUDES)}
UNITS = {"time": "hours since 2000-01-01", "lat": "degrees_north", "lon": "degrees_east"}
DECK = deck_text(run=dict(name="maps", steps=2),
                 data=dict(train="train.h5", batch=2, normalize="channel"),
                 data__arrays=dict(inputs=["/u"], targets=["/u"], axes="time lat lon"),
                 model=dict(type="chain", loss="mse"), layers=[layer("conv", kernel=3, outputs=1)])

# What files state instead of COORDINATES and UNITS: {axis: values}, {axis: units}, and other parameters of write(). None: the file
# states nothing.
SAME = {
    "nothing": ({}, {}),
    "rounded": ({"lat": COORDINATES["lat"].astype("f4") + 1e-5}, {}),
    "centred longitudes": ({"lon": (COORDINATES["lon"] + 180) % 360 - 180}, {}),
    "another turn": ({"lon": COORDINATES["lon"] + 360}, {}),
    "other words for degrees": ({}, {"lat": "degree_N", "lon": "degreesE"}),
    "no units": ({}, {"lat": None, "lon": None, "time": None}),
    "no latitudes": ({"lat": None}, {}),
    "no times": ({"time": None}, {}),
    "later": ({"time": COORDINATES["time"] + 1000}, {}),
    "of another century": ({}, {"time": "hours since 1900-01-01"}),
    "in days": ({"time": COORDINATES["time"] / 24}, {"time": "days since 2000-01-01"}),
    "in seconds": ({"time": COORDINATES["time"] * 3600}, {"time": "seconds since 2000-01-01T00:00:00Z"}),
    "from the day before": ({"time": COORDINATES["time"] + 24}, {"time": "hours since 1999-12-31"}),
    "from a century before": ({"time": (COORDINATES["time"] / 24 + 36524).astype("f4")}, {"time": "days since 1900-01-01 00:00"}),
    "whole hours": ({"time": COORDINATES["time"].astype("i2")}, {}),
    "no date": ({}, {"time": "hours"}),
    "no known date": ({}, {"time": "hours since the start"}),
    "gregorian": ({}, {}, {"calendar": "gregorian"}),
    "proleptic": ({}, {}, {"calendar": "proleptic_gregorian"}),
    "standard": ({}, {}, {"calendar": "Standard"}),
    "other names": ({}, {}, {"names": {"lat": "latitude", "lon": "longitude", "time": "valid_time"}}),
    "packed": ({"lat": COORDINATES["lat"].astype("i2")}, {}),
    "almost": ({"lon": COORDINATES["lon"] + 0.01}, {}),
}
# Not as the truth of a rollout: it is of other times.
OTHER_TIMES = ("later", "of another century")
REFUSED = {
    "from the north": ({"lat": COORDINATES["lat"][::-1]}, {}),
    "from the east": ({"lon": COORDINATES["lon"][::-1]}, {}),
    "another band": ({"lat": numpy.linspace(0, 75, LATITUDES)}, {}),
    "half a cell further": ({"lon": COORDINATES["lon"] + 22.5}, {}),
    "another first meridian": ({"lon": COORDINATES["lon"] - 180}, {}),
    "one point elsewhere": ({"lat": COORDINATES["lat"] + 5 * (numpy.arange(LATITUDES) == 3)}, {}),
    "in radians": ({"lat": numpy.radians(COORDINATES["lat"])}, {"lat": "radians"}),
    "other units": ({}, {"lat": "m"}),
    "hourly": ({"time": COORDINATES["time"] / 6}, {}),
    "daily": ({"time": COORDINATES["time"]}, {"time": "days since 2000-01-01"}),
    "a gap": ({"time": COORDINATES["time"] + 6 * (numpy.arange(LEVELS) > 2)}, {}),
    "a level twice": ({"time": numpy.where(numpy.arange(LEVELS) > 2, COORDINATES["time"] - 6, COORDINATES["time"])}, {}),
    "backwards": ({"time": COORDINATES["time"][::-1]}, {}),
    "out of order": ({"time": COORDINATES["time"][[0, 1, 3, 2, 4, 5]]}, {}),
    "every second level": ({"time": 2 * COORDINATES["time"]}, {}),
    "minutes": ({}, {"time": "minutes since 2000-01-01"}),
    "no leap years": ({}, {}, {"calendar": "noleap"}),
    "years of 365 days in days": ({"time": COORDINATES["time"] / 24}, {"time": "days since 2000-01-01"}, {"calendar": "365_day"}),
    "months of 30 days": ({}, {}, {"calendar": "360_day"}),
    "leap years only": ({}, {}, {"calendar": "all_leap"}),
    "julian": ({}, {}, {"calendar": "julian"}),
    "rolled": ({"lon": numpy.roll(COORDINATES["lon"], 4)}, {}),
    "twice as fine": ({"lat": COORDINATES["lat"] / 2}, {}),
    "not equidistant": ({"lat": 75 * numpy.sin(numpy.linspace(-numpy.pi / 2, numpy.pi / 2, LATITUDES))}, {}),
    "a point twice": ({"lat": COORDINATES["lat"][[0, 1, 2, 2, 4, 5]]}, {}),
    "a point nowhere": ({"lat": numpy.where(numpy.arange(LATITUDES) == 2, numpy.nan, COORDINATES["lat"])}, {}),
    "two points exchanged": ({"lon": COORDINATES["lon"][[0, 1, 2, 4, 3, 5, 6, 7]]}, {}),
    "longitudes as latitudes": ({}, {"lat": "degrees_east"}),
    "axes in another order": ({}, {}, {"order": ("time", "lon", "lat")}),
}
# A rollout begins with one level, and reads no other; a mean over levels has no times.
OF_LEVELS = ("a gap", "a level twice", "out of order")
OF_TIMES = (*OF_LEVELS, "backwards", "hourly", "daily", "minutes", "every second level")


def write(path, change=({}, {})):
    values, units, more = (*change, {})[:3]
    order = more.get("order", tuple(COORDINATES))
    with h5py.File(path, "w") as file:
        u = numpy.random.default_rng(5).standard_normal((LEVELS, LATITUDES, LONGITUDES))
        file["u"] = u.transpose([tuple(COORDINATES).index(axis) for axis in order])
        for i, axis in enumerate(order):
            coordinates = values.get(axis, COORDINATES[axis])
            if coordinates is None:
                continue
            name = more.get("names", {}).get(axis, axis)
            file[name] = coordinates
            if units.get(axis, UNITS[axis]) is not None:
                file[name].attrs["units"] = units.get(axis, UNITS[axis])
            if axis == "time" and "calendar" in more:
                file[name].attrs["calendar"] = more["calendar"]
            file[name].make_scale(name)
            file["u"].dims[i].attach_scale(file[name])


class Places:
    """Where another file meets those of the training. Each returns the command's arguments and the file of fields that it writes."""

    @staticmethod
    def training(number):
        return ["train", "maps.toml", 'data.train=["train.h5", "other.h5"]', f"run.folder=both-{number}"], None

    @staticmethod
    def test(number):
        return ["train", "maps.toml", "data.test=other.h5", "run.evaluate_every=1", f"run.folder=test-{number}"], None

    @staticmethod
    def predict(_):
        return ["predict", "runs/maps", "other.h5", "predicted.h5"], "predicted.h5"

    @staticmethod
    def rollout(_):
        return ["rollout", "runs/maps", "other.h5", "--steps", 2, "--out", "rolled.h5"], "rolled.h5"

    @staticmethod
    def truth(_):
        return ["rollout", "runs/maps", "train.h5", "--steps", 4, "--truth", "other.h5", "--out", "rolled.h5"], "rolled.h5"

    @staticmethod
    def evaluation(_):
        return ["eval", "runs/maps", "--data", "other.h5"], None

    @staticmethod
    def climatology(_):
        return ["rollout", "runs/maps", "train.h5", "--steps", 2, "--truth", "train.h5", "--climatology", "other.h5", "--out", "rolled.h5"], "rolled.h5"

    ALL = ("training", "test", "predict", "rollout", "truth", "evaluation", "climatology")


def fields_in(path):
    with h5py.File(path) as file:
        return file["u"][()]


def pairs(changes, full):
    """(change, place) of every change in every place, or of every second one in one place."""
    for i, name in enumerate(changes if full else list(changes)[::2]):
        for place in Places.ALL if full else [Places.ALL[i % len(Places.ALL)]]:
            yield name, place


def check_same(command, full):
    expected = {}
    for name, place in [("nothing", each) for each in Places.ALL] + list(pairs(SAME, full)):
        write(command.folder / "other.h5", SAME[name])
        arguments, fields = getattr(Places, place)(f"same-{name}".replace(" ", "-"))
        if name == "nothing" and place in expected:
            continue
        if place == "truth" and name in OTHER_TIMES:
            command.must_refuse(arguments, "data-mismatch", "other.h5", "train.h5")
            continue
        command.must(*arguments)
        expected.setdefault(place, None)
        if fields is not None:
            found = fields_in(command.folder / fields)
            first = found if expected[place] is None else expected[place]
            expected[place] = first
            assert numpy.array_equal(found, first), (name, place)


def check_refused(command, full):
    for name, place in pairs(REFUSED, full):
        if (place == "rollout" and name in OF_LEVELS) or (place == "climatology" and name in OF_TIMES):
            continue
        write(command.folder / "other.h5", REFUSED[name])
        arguments, fields = getattr(Places, place)(f"refused-{name}".replace(" ", "-"))
        for path in filter(None, [fields]):
            (command.folder / path).unlink(missing_ok=True)
        command.must_refuse(arguments, "data-mismatch", "other.h5")
        assert fields is None or not (command.folder / fields).exists(), (name, place)


def check_ignored(command):
    """A network that was told to ignore coordinates and times knows none."""
    command.must("train", "maps.toml", "run.folder=runs/free", "data.arrays.coordinates=ignore", "data.arrays.gaps=ignore")
    write(command.folder / "other.h5")
    command.must("predict", "runs/free", "other.h5", "plain.h5")
    for name, change in REFUSED.items():
        if name not in ("from the north", "a gap", "hourly"):
            continue
        write(command.folder / "other.h5", change)
        command.must("predict", "runs/free", "other.h5", "other-predicted.h5")
        assert numpy.array_equal(fields_in(command.folder / "plain.h5"), fields_in(command.folder / "other-predicted.h5")), name


def check_breaks(command):
    """Windows of one step lie on both sides of a gap; rollouts count levels, and are compared with none beyond it."""
    write(command.folder / "other.h5", REFUSED["a gap"])
    for of in ("state", "difference"):
        start = ["train", "maps.toml", "data.train=other.h5", "data.arrays.gaps=break", f"data.arrays.targets_are={of}"]
        command.must(*start, f"run.folder=runs/{of}")
        command.must("predict", f"runs/{of}", "other.h5", f"{of}.h5")
        with h5py.File(command.folder / f"{of}.h5") as file:
            assert list(file["time"][()]) == [6, 12, 30, 36], file["time"][()]
    rollout = ["rollout", "runs/state", "other.h5", "--truth", "other.h5"]
    command.must(*rollout, "--steps", 2, "--out", "before.h5")
    command.must_refuse([*rollout, "--steps", 3, "--out", "never.h5"], "data-mismatch", "other.h5")


def check_restart(command):
    """What is compared may change at a restart, which windows there are may not."""
    command.must("train", "maps.toml", "run.folder=runs/again")
    more = ["train", "maps.toml", "run.folder=runs/again", "run.steps=3", "--restart", "auto"]
    command.must_refuse([*more, "data.arrays.gaps=break"], "restart-mismatch", "data.arrays.gaps")
    plain = (command.folder / "train.h5").read_bytes()
    write(command.folder / "train.h5", REFUSED["no leap years"])
    command.must_refuse(more, "data-mismatch", "train.h5", "noleap")
    (command.folder / "train.h5").write_bytes(plain)
    command.must(*more, "data.arrays.gaps=ignore", "data.arrays.coordinates=ignore")


def check_unknown_calendars(command):
    """They are named, unless times mean nothing."""
    write(command.folder / "other.h5", ({}, {}, {"calendar": "lunar"}))
    for i, place in enumerate(Places.ALL):
        command.must_refuse(getattr(Places, place)(f"lunar-{i}")[0], "bad-dataset", "other.h5", "lunar")
    command.must("train", "maps.toml", "data.train=other.h5", "data.arrays.gaps=ignore", "run.folder=runs/lunar")


def check_unknown_first_file(command):
    """The first file states nothing: the others are compared with each other."""
    write(command.folder / "bare.h5", ({axis: None for axis in COORDINATES}, {}))
    write(command.folder / "other.h5", REFUSED["from the north"])
    files = 'data.train=["bare.h5", "train.h5", "other.h5"]'
    command.must_refuse(["train", "maps.toml", files, "run.folder=runs/bare"], "data-mismatch", "other.h5", "lat")


def check_initial_weights(command):
    """Fine-tuning may leave the region, but not turn it over."""
    weights = next((command.folder / "runs/maps/checkpoints").glob("step-*.h5"))
    start = ["train", "maps.toml", "data.train=other.h5", f"run.initial={weights}"]
    write(command.folder / "other.h5", REFUSED["another band"])
    command.must(*start, "run.folder=runs/band")
    write(command.folder / "other.h5", REFUSED["from the north"])
    command.must_refuse([*start, "run.folder=runs/turned"], "data-mismatch", "other.h5", "lat")


def check_stored(command):
    """The checkpoint, and a model of it, say where points lie; h5py reads it."""
    command.must("export", "runs/maps", "maps.h5")
    for path in (next((command.folder / "runs/maps/checkpoints").glob("step-*.h5")), command.folder / "maps.h5"):
        with h5py.File(path) as file:
            axes = [line.split("\t") for line in file["samples/axes"][()].decode().split("\n")]
            assert file["samples/level_step"][()].decode() == "6 hours, calendar gregorian"
        assert [axis[:2] for axis in axes] == [[name, UNITS[name]] for name in ("lat", "lon")]
        for axis in axes:
            assert numpy.array_equal([float(value) for value in axis[2:]], COORDINATES[axis[0]])


def check_bad_checkpoints(command):
    """Texts of a stranger's file are read with care."""
    weights = next((command.folder / "runs/maps/checkpoints").glob("step-*.h5"))
    write(command.folder / "other.h5")
    for name, text in (("axes", b"lat\tm\tseven"), ("level_step", b"-6 hours")):
        replace_signed(weights, command.folder / "bad.h5", {f"samples/{name}": numpy.bytes_(text)})
        command.must_refuse(["predict", "bad.h5", "other.h5", "never.h5"], "damaged", f"/samples/{name}")


def prepare(command):
    command.write("maps.toml", DECK)
    write(command.folder / "train.h5")
    command.must("train", "maps.toml")


if __name__ == "__main__":
    run_cases(prepare, check_same, check_refused, check_ignored, check_breaks, check_restart, check_unknown_calendars, check_unknown_first_file, check_initial_weights, check_stored, check_bad_checkpoints)
