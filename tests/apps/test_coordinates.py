"""Files whose coordinates differ in one way from those of the training: the numbers of a file without coordinates, or refused; none is
computed with in silence.

usage: test_coordinates.py MYLOS [--full]     --full: every change in every place
"""
import shutil

import h5py
import numpy

from coordinate_changes import ALL, CHANGES, COORDINATES, DECK_AXES, UNITS, id_of_refusal, write
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.decks import deck_text, layer
from support.refusal import ids_of
from support.run_folders import last_checkpoint, losses_of, weights_of

DECK = deck_text(run=dict(name="maps", steps=2),
                 data=dict(train="train.h5", batch=2, normalize="channel"),
                 data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], axes=DECK_AXES),
                 model=dict(type="chain", loss="mse"), layers=[layer("conv", kernel=3, outputs=4)])


class Places:
    """Where another file meets those of the training. Each has the command's arguments, and what finds the results of a
    command that has finished."""

    def __init__(self, command):
        self.command = command

    def training(self):
        return ["train", "maps.toml", 'data.train=["train.h5", "other.h5"]', "run.folder=runs/new"], self.trained

    def tuned(self):
        weights = last_checkpoint(self.command, "runs/maps")
        return ["train", "maps.toml", "data.train=other.h5", f"run.initial={weights}", "run.folder=runs/new"], self.trained

    def test(self):
        return ["train", "maps.toml", "data.test=other.h5", "run.evaluate_every=1", "run.folder=runs/new"], self.evaluated

    def predict(self):
        return ["predict", "runs/maps", "other.h5", "new.h5"], self.fields

    def rollout(self):
        return ["rollout", "runs/maps", "other.h5", "--steps", 2, "--out", "new.h5"], self.fields

    def truth(self):
        return ["rollout", "runs/maps", "train.h5", "--steps", 4, "--truth", "other.h5", "--out", "new.h5"], self.errors

    def climatology(self):
        return ["rollout", "runs/maps", "train.h5", "--steps", 2, "--truth", "train.h5", "--climatology", "other.h5", "--out", "new.h5"], self.errors

    def evaluation(self):
        return ["eval", "runs/maps", "--data", "other.h5"], self.printed

    def trained(self, _):
        weights = weights_of(last_checkpoint(self.command, "runs/new"))
        return [losses_of(self.command, "runs/new"), *(weights[name] for name in sorted(weights))]

    def evaluated(self, _):
        return [[value for key, value in row.items() if not key.endswith("_s")] for row in self.command.rows("runs/new/evaluations.csv")]

    def fields(self, _):
        with h5py.File(self.command.folder / "new.h5") as file:
            return [file[name][()] for name in ("u", "v")]

    def errors(self, _):
        return [list(row.values()) for row in self.command.rows("new.errors.csv")]

    @staticmethod
    def printed(result):
        return [line for line in result.stdout.splitlines() if "other.h5" not in line]


def remove_outputs(command):
    shutil.rmtree(command.folder / "runs/new", ignore_errors=True)
    for path in command.folder.glob("new*"):
        path.unlink()


def equal(found, expected):
    return len(found) == len(expected) and all(numpy.array_equal(one, other, equal_nan=numpy.asarray(one).dtype.kind == "f")
                                               for one, other in zip(found, expected))


def outcome(command, place, name, twin=False):
    """What comes out with the file of a change; the id of the error if it is refused."""
    remove_outputs(command)
    write(command.folder / "other.h5", name, twin)
    arguments, results = getattr(Places(command), place)()
    run = command.run(*arguments)
    if run.returncode == 0:
        return results(run)
    assert "other.h5" in run.stderr or ids_of(run.stderr) != ["data-mismatch"], (name, place, run.stderr)
    assert not list(command.folder.glob("new*")), (name, place)
    return ids_of(run.stderr)


def check_changes(command, full):
    """Of every change in every place, or of some in one place each."""
    twins, wrong = {}, []
    for i, name in enumerate(CHANGES if full else list(CHANGES)[::7]):
        for place in ALL if full else [ALL[i % len(ALL)]]:
            found = outcome(command, place, name)
            expected = id_of_refusal(name, place)
            if expected:
                if found != [expected]:
                    wrong.append((name, place, "should be refused", found))
                continue
            part = str(CHANGES[name][1].get("part"))
            if (place, part) not in twins:
                twins[place, part] = outcome(command, place, name, twin=True)
            if not equal(found, twins[place, part]):
                wrong.append((name, place, "should be as without coordinates", found))
    assert not wrong, "\n".join(map(str, wrong))


def u_in(path):
    with h5py.File(path) as file:
        return file["u"][()]


def check_ignored(command):
    """A network that was told to ignore coordinates and times knows none."""
    command.must("train", "maps.toml", "run.folder=runs/free", "data.arrays.coordinates=ignore", "data.arrays.gaps=ignore")
    write(command.folder / "other.h5")
    command.must("predict", "runs/free", "other.h5", "plain.h5")
    for name in ("from the north", "a gap", "hourly", "levels from above", "one later"):
        write(command.folder / "other.h5", name)
        command.must("predict", "runs/free", "other.h5", "other-predicted.h5")
        assert numpy.array_equal(u_in(command.folder / "plain.h5"), u_in(command.folder / "other-predicted.h5")), name


def check_breaks(command):
    """Windows of one step lie on both sides of a gap; rollouts count levels, and are compared with none beyond it."""
    write(command.folder / "other.h5", "a gap")
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
    write(command.folder / "train.h5", "no leap years")
    command.must_refuse(more, "data-mismatch", "train.h5", "noleap")
    (command.folder / "train.h5").write_bytes(plain)
    command.must(*more, "data.arrays.gaps=ignore", "data.arrays.coordinates=ignore")


def check_unknown_calendars(command):
    """They are named, unless times mean nothing."""
    write(command.folder / "other.h5")
    with h5py.File(command.folder / "other.h5", "r+") as file:
        file["time"].attrs["calendar"] = "lunar"
    for place in ALL:
        remove_outputs(command)
        command.must_refuse(getattr(Places(command), place)()[0], "bad-dataset", "other.h5", "lunar")
    command.must("train", "maps.toml", "data.train=other.h5", "data.arrays.gaps=ignore", "run.folder=runs/lunar")


def check_unknown_first_file(command):
    """The first file states nothing: the others are compared with each other."""
    write(command.folder / "bare.h5", "no coordinates")
    write(command.folder / "other.h5", "from the north")
    files = 'data.train=["bare.h5", "train.h5", "other.h5"]'
    command.must_refuse(["train", "maps.toml", files, "run.folder=runs/bare"], "data-mismatch", "other.h5", "lat")


def check_weights(command):
    """Weights of points state where they lie, or nothing; their axes may be in another order."""
    weights = numpy.random.default_rng(6).uniform(1, 2, (6, 8))
    start = ["train", "maps.toml", "run.folder=runs/new", "data.weights.file=other.h5", "data.weights.array=/area"]
    losses = []
    for name, refused in (("nothing", False), ("no coordinates", False), ("centred longitudes", False), ("from the north", True), ("half a cell further", True), ("other units", True)):
        write(command.folder / "other.h5", name)
        with h5py.File(command.folder / "other.h5", "r+") as file:
            file["area"] = weights
            for place, axis in enumerate(("lat", "lon")):
                if axis in file:
                    file["area"].dims[place].attach_scale(file[axis])
        remove_outputs(command)
        if refused:
            command.must_refuse(start, "data-mismatch", "other.h5", "/area")
            continue
        command.must(*start)
        losses.append(losses_of(command, "runs/new"))
    assert losses[0] == losses[1] == losses[2], losses


def check_stored(command):
    """The checkpoint, and a model of it, say where points lie; h5py reads it."""
    command.must("export", "runs/maps", "maps.h5")
    for path in (next((command.folder / "runs/maps/checkpoints").glob("step-*.h5")), command.folder / "maps.h5"):
        with h5py.File(path) as file:
            axes, of_arrays = ([line.split("\t") for line in file[f"samples/{name}"][()].decode().split("\n")] for name in ("axes", "array_axes"))
            assert file["samples/level_step"][()].decode() == "6 hours, calendar standard (Gregorian)"
        assert [axis[:2] for axis in axes] == [[name, UNITS[name]] for name in ("lat", "lon")]
        for axis in axes:
            assert numpy.array_equal([float(value) for value in axis[2:]], COORDINATES[axis[0]])
        channels = of_arrays.pop(0)
        assert channels[:2] == ["/u channel", "hPa"] and numpy.array_equal([float(value) for value in channels[2:]], COORDINATES["height"])
        assert of_arrays == [[f"/{array} {axis}", ""] for array in "uv" for axis in ("lat", "lon")], of_arrays


def check_bad_checkpoints(command):
    """Texts of a stranger's file are read with care."""
    weights = next((command.folder / "runs/maps/checkpoints").glob("step-*.h5"))
    write(command.folder / "other.h5")
    for name, text in (("axes", b"lat\tm\tseven"), ("array_axes", b"/u channel\thPa\t1 2"), ("level_step", b"-6 hours")):
        replace_signed(weights, command.folder / "bad.h5", {f"samples/{name}": numpy.bytes_(text)})
        command.must_refuse(["predict", "bad.h5", "other.h5", "never.h5"], "damaged", f"/samples/{name}")


def prepare(command):
    command.write("maps.toml", DECK)
    write(command.folder / "train.h5")
    command.must("train", "maps.toml")


if __name__ == "__main__":
    run_cases(prepare, check_changes, check_ignored, check_breaks, check_restart, check_unknown_calendars, check_unknown_first_file, check_weights, check_stored, check_bad_checkpoints)
