"""Intervals of rollouts by lead time: their half widths, their ends in the files of rollouts, and their coverage and width, by NumPy
from the files alone; on any number of ranks; and what is refused.

usage: test_rollout_intervals.py MYLOS [--full]     --full: 2, 3 and 4 ranks, not 3
"""
import h5py
import numpy

from support import checkpoint_block
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.data_files import write_data
from support.decks import deck_text, layer
from uncertain_data import quantile

HIGH, WIDE, STEPS, COVERAGE = 4, 6, 3, "0.8"
SEA = numpy.random.default_rng(4).uniform(size=(HIGH, WIDE)) > 0.3
HELD = {"held-a.h5": 9, "held-b.h5": 12, "held-c.h5": 3}  # levels: the last has no rollout of STEPS steps
FILL = numpy.float32(9.96921e36)


def deck(every=None, arrays=None, **data):
    return deck_text(run=dict(name="sea", steps=8),
                     data=dict(train="train.h5", batch=4, normalize="channel") | data,
                     data__arrays=dict(inputs=["/sst", "/wind"], targets=["/sst", "/heat"], constants=["/depth"], axes="time y x",
                                       mask={"/sst": "/sea"}, every=every) | (arrays or {}),
                     data__weights=dict(file="areas.h5", array="/area"),
                     model=dict(type="chain", loss="mse"),
                     layers=[layer("conv", outputs=4, kernel=3, edges="periodic", activation="gelu"), layer("conv", outputs=2, kernel=3)],
                     precision=dict(compute="fp32"))


def write_levels(path, levels, seed, wide=WIDE):
    source = numpy.random.default_rng(seed)
    sea = SEA if wide == WIDE else numpy.ones((HIGH, wide), bool)
    draw = [source.normal(size=(levels, HIGH, wide)).astype("f4") for _ in range(3)]
    write_data(path, sst=numpy.where(sea, draw[0], 7), wind=draw[1], heat=10 * draw[2], sea=sea.astype("i1"),
               depth=source.normal(size=(HIGH, wide)).astype("f4"))


def points_deck():
    """Each point is a sample of its own, with two levels of its past."""
    return deck_text(run=dict(name="points", steps=8), data=dict(train="train.h5", batch=40, normalize="standard"),
                     data__arrays=dict(inputs=["/sst", "/wind"], targets=["/heat", "/sst"], axes="time y x", history=2, points_are_samples=True),
                     model=dict(type="mlp", hidden=[4], loss="mse"), precision=dict(compute="fp32"))


def set_up(command):
    areas = numpy.random.default_rng(5).uniform(0.5, 2, (HIGH, WIDE))
    areas[1, :2] = 0  # these points do not count
    write_data(command.folder / "areas.h5", area=areas)
    write_levels(command.folder / "train.h5", 20, 1)
    write_levels(command.folder / "fresh.h5", 14, 2)
    for seed, (name, levels) in enumerate(HELD.items(), start=10):
        write_levels(command.folder / name, levels, seed)
    command.write("sea.toml", deck())
    command.must("train", "sea.toml")
    command.must("calibrate", "runs/sea", "--data", "held-*.h5", "--coverage", COVERAGE, "--rollout", STEPS, "--out", "model.h5")


def rollout(command, run, data, starts, *words, out="flow.h5", ranks=1):
    """`starts`: the number of first levels with which rollouts begin, or a list of levels."""
    levels = f"0:{starts}" if isinstance(starts, int) else ",".join(map(str, starts))
    command.must("rollout", run, data, "--steps", STEPS, "--start", levels, "--out", out, "--truth", data, *words, ranks=ranks)


def fields_of(command, suffix="", name="flow.h5"):
    """[start, step, channel, y, x]"""
    with h5py.File(command.folder / name) as file:
        return numpy.stack([file[channel + suffix][:] for channel in ("sst", "heat")], axis=2)


def errors_of(command, run, data, starts):
    """|predicted - true| [start, step, channel, y, x] after each step, and NaN at points that do not count and levels without truth."""
    rollout(command, run, data, starts)
    predicted = fields_of(command)[:, 1:].astype("f8")
    with h5py.File(command.folder / data) as file:
        truth = numpy.stack([file[name][:] for name in ("sst", "heat")], axis=1).astype("f8")
    truth = numpy.concatenate([truth, numpy.full((STEPS, *truth.shape[1:]), numpy.nan)])
    errors = numpy.array([abs(predicted[start] - truth[start + 1:start + 1 + STEPS]) for start in range(starts)])
    with h5py.File(command.folder / "areas.h5") as file:
        area = file["area"][:] > 0
    return numpy.where([SEA & area, area], errors, numpy.nan)


def quantiles_of(command, model="model.h5"):
    with h5py.File(command.folder / model) as file:
        return file["rollout_calibration/quantiles"][:]


def check_quantiles(command):
    """The quantiles of the largest errors of all rollouts, from every level or every other one of each file."""
    with h5py.File(command.folder / "model.h5") as file:
        group = file["rollout_calibration"]
        assert {name: group[name][()] for name in ("samples", "coverage", "split", "score")} == \
            {"samples": 6 + 9, "coverage": float(COVERAGE), "split": b"data", "score": b"absolute"}
        assert file["calibration/samples"][()] == 8 + 11 + 2
    scores = [numpy.nanmax(errors_of(command, "runs/sea", name, levels - STEPS), axis=(3, 4)) for name, levels in HELD.items() if levels > STEPS]
    found = quantiles_of(command)
    assert found.shape == (STEPS, 2) and numpy.allclose(found, quantile(numpy.concatenate(scores), COVERAGE), rtol=1e-6), found
    command.write("every.toml", deck(every=2, test=["held-a.h5", "held-b.h5"]))
    command.must("train", "every.toml", "run.folder=every")
    scores = [numpy.nanmax(errors_of(command, "every", name, HELD[name] - STEPS)[::2], axis=(3, 4)) for name in ("held-a.h5", "held-b.h5")]
    command.must("calibrate", "every", "--split", "test", "--coverage", COVERAGE, "--rollout", STEPS)
    assert numpy.allclose(quantiles_of(command, "every/calibrated.h5"), quantile(numpy.concatenate(scores), COVERAGE), rtol=1e-6)


def check_points(command):
    """Where points are samples a band holds all points of a channel too; rollouts begin with several levels."""
    command.write("points.toml", points_deck())
    command.must("train", "points.toml", "run.folder=points")
    command.must("calibrate", "points", "--data", "held-b.h5", "--coverage", COVERAGE, "--rollout", STEPS, "--out", "points.h5")
    starts = HELD["held-b.h5"] - STEPS - 1
    rollout(command, "points", "held-b.h5", starts)
    with h5py.File(command.folder / "held-b.h5") as file:
        truth = numpy.stack([file[name][:] for name in ("sst", "heat")], axis=1).astype("f8")
    errors = numpy.array([abs(states[1:] - truth[start + 2:start + 2 + STEPS]) for start, states in enumerate(fields_of(command).astype("f8"))])
    found, expected = quantiles_of(command, "points.h5"), quantile(errors.max((3, 4)), COVERAGE)
    assert numpy.allclose(found[:, ::-1], expected, rtol=1e-6), (found, expected)
    with h5py.File(command.folder / "points.h5") as file:
        assert file["calibration/samples"][()] == 10 * HIGH * WIDE and file["rollout_calibration/samples"][()] == starts
    command.must("calibrate", "points", "--data", "held-b.h5", "--coverage", COVERAGE, "--rollout", STEPS, "--out", "ranks.h5", ranks=2)
    assert numpy.array_equal(quantiles_of(command, "ranks.h5"), found)


def check_bounds(command):
    """The ends of the intervals in the file, their coverage and their width."""
    quantiles = quantiles_of(command)
    errors = errors_of(command, "runs/sea", "fresh.h5", 12)  # of the last start the truth ends early
    plain = {name: (command.folder / name).read_bytes() for name in ("flow.errors.csv", "flow.spectrum.csv")}
    states = fields_of(command)
    rollout(command, "model.h5", "fresh.h5", 12)
    assert plain == {name: (command.folder / name).read_bytes() for name in plain}
    assert numpy.array_equal(fields_of(command), states, equal_nan=True)
    for suffix, sign in (("_lower", -1), ("_upper", 1)):
        ends = fields_of(command, suffix)
        assert numpy.array_equal(ends[:, 0], states[:, 0], equal_nan=True)  # where the rollout begins
        expected = (states[:, 1:].astype("f8") + sign * quantiles[:, :, None, None]).astype("f4")
        assert numpy.array_equal(ends[:, 1:, 0][..., SEA], expected[:, :, 0][..., SEA]) and numpy.array_equal(ends[:, 1:, 1], expected[:, :, 1])
        assert (ends[:, :, 0][..., ~SEA] == FILL).all()
        with h5py.File(command.folder / "flow.h5") as file:
            assert file["sst" + suffix].attrs["coverage"] == float(COVERAGE) and file["heat" + suffix].attrs["coverage"] == float(COVERAGE)
    holds = ~(errors > quantiles[:, :, None, None]).any((3, 4))
    with h5py.File(command.folder / "flow.errors.nc") as file:
        found = {name: file[name][:] for name in ("interval_coverage", "interval_width", "starts")}
        assert file["interval_coverage"].attrs["coverage"] == float(COVERAGE)
    assert list(found["starts"]) == [12, 12, 11]
    expected = [[holds[:count, step, channel].mean() for channel in range(2)] for step, count in enumerate(found["starts"])]
    assert numpy.allclose(found["interval_coverage"], expected, rtol=0, atol=1e-6) and 0 < numpy.mean(expected) < 1, (found, expected)
    assert numpy.allclose(found["interval_width"], 2 * quantiles, rtol=1e-6), found
    command.must("rollout", "model.h5", "fresh.h5", "--steps", 2, "--out", "two.h5")  # fewer steps, no truth
    with h5py.File(command.folder / "two.h5") as file:
        assert numpy.allclose((file["heat_upper"][1:] - file["heat_lower"][1:])[:, 0, 0], 2 * quantiles[:2, 1], rtol=1e-5)
    drawn = command.document("flow.rollout.json")["variables"]
    assert numpy.allclose(numpy.transpose(drawn["measures"]["interval_width"]), 2 * quantiles) and drawn["coverage"] == float(COVERAGE)


def check_not_finite(command):
    """A state that is inf or NaN lies in no interval."""
    command.must("train", "sea.toml", "run.folder=half", "precision.compute=fp16")  # numbers above 65504 are inf
    command.must("calibrate", "half", "--data", "held-*.h5", "--coverage", COVERAGE, "--rollout", STEPS, "--out", "half.h5")
    (command.folder / "huge.h5").write_bytes((command.folder / "fresh.h5").read_bytes())
    with h5py.File(command.folder / "huge.h5", "a") as file:
        file["sst"][6] = 1e30
    quantiles = quantiles_of(command, "half.h5")
    holds = ~(errors_of(command, "half", "fresh.h5", 2)[0] > quantiles[:, :, None, None]).any((2, 3))
    for ranks in (1, 2):
        rollout(command, "half.h5", "huge.h5", (0, 6), ranks=ranks)
        with h5py.File(command.folder / "flow.errors.nc") as file:
            assert "rmse" not in file and list(file["starts"]) == [2] * STEPS, sorted(file)
            assert numpy.array_equal(file["interval_coverage"], holds / 2), (ranks, file["interval_coverage"][:], holds)
            assert numpy.allclose(file["interval_width"], 2 * quantiles, rtol=1e-6)


def check_other_networks(command):
    """Predictions of such a file have the interval of one step; files without one of rollouts, and means, have none."""
    command.must("predict", "model.h5", "fresh.h5", "predicted.h5")
    with h5py.File(command.folder / "model.h5") as model, h5py.File(command.folder / "predicted.h5") as file:
        half = model["calibration/quantiles"][:]
        assert numpy.allclose(file["heat_upper"][:] - file["heat"][:], half[1], rtol=1e-4)
    assert "rollout_calibration" in command.must("info", "model.h5").stdout
    command.must("calibrate", "runs/sea", "--data", "held-b.h5", "--coverage", COVERAGE, "--out", "single.h5")
    command.must("train", "sea.toml", "run.seed=2", "run.folder=second")
    command.must("export", "second", "second.h5")
    for words in (["single.h5"], ["--ensemble", "model.h5", "second.h5"], ["model.h5", "--perturb", 0.1, "--members", 2]):
        run = words[:3] if words[0] == "--ensemble" else words[:1]
        said = command.must("rollout", *run, "fresh.h5", *words[len(run):], "--steps", STEPS + 1, "--truth", "fresh.h5", "--out", "none.h5").stdout
        assert ("without intervals" in said) == (words != ["single.h5"]), said
        with h5py.File(command.folder / "none.h5") as file, h5py.File(command.folder / "none.errors.nc") as errors:
            assert "sst_lower" not in file and "interval_width" not in errors
    write_levels(command.folder / "wide.h5", 5, 20, wide=9)  # another grid
    command.write("plain.toml", deck(arrays=dict(mask=None)))
    command.must("train", "plain.toml", "run.folder=plain")
    command.must("calibrate", "plain", "--data", "held-b.h5", "--coverage", COVERAGE, "--rollout", STEPS, "--out", "plain.h5")
    command.must("rollout", "plain.h5", "wide.h5", "--steps", STEPS, "--out", "wide-flow.h5")
    with h5py.File(command.folder / "wide-flow.h5") as file:
        assert numpy.allclose((file["heat_upper"][1:] - file["heat_lower"][1:])[:, 0, 8], 2 * quantiles_of(command, "plain.h5")[:, 1], rtol=1e-5)


def check_ranks(command, full):
    """The same bits on any number of ranks."""
    quantiles = quantiles_of(command)
    rollout(command, "model.h5", "fresh.h5", 7)
    expected = {name: (command.folder / name).read_bytes() for name in ("flow.h5", "flow.errors.nc")}
    for ranks in (2, 3, 4) if full else (3,):
        command.must("calibrate", "runs/sea", "--data", "held-*.h5", "--coverage", COVERAGE, "--rollout", STEPS, "--out", "ranks.h5", ranks=ranks)
        assert numpy.array_equal(quantiles_of(command, "ranks.h5"), quantiles), ranks
        rollout(command, "model.h5", "fresh.h5", 7, ranks=ranks)
        for name, content in expected.items():
            assert (command.folder / name).read_bytes() == content, (name, ranks)


def check_refusals(command):
    to = ["--out", "no.h5"]
    command.must_refuse(["rollout", "model.h5", "fresh.h5", "--steps", STEPS + 1, *to], "bad-argument", "--steps 4", "up to 3", ranks=2)
    held = ["calibrate", "runs/sea", "--data", "held-*.h5", *to]
    command.must_refuse([*held, "--rollout", STEPS, "--coverage", 0.95], "too-little-data", "15 rollouts of 3 steps", "19", ranks=2)
    command.must_refuse([*held, "--rollout", 12], "too-little-data", "0 rollouts of 12 steps", "13 levels")
    command.must_refuse([*held, "--rollout", 0], "bad-argument", "--rollout")
    command.must_refuse(["calibrate", "runs/sea", "--rollout", STEPS, *to], "bad-argument", "--split test")
    command.must_refuse(["calibrate", "runs/sea", "--data", "train.h5", "--rollout", STEPS, *to], "data-mismatch", "train.h5")
    assert not list(command.folder.glob("no.*"))


def check_damage(command):
    path = command.folder / "hostile.h5"
    for datasets, expected in (({}, ""), ({"quantiles": numpy.ones((STEPS, 3))}, "damaged"), ({"quantiles": numpy.ones(2 * STEPS)}, "restart-mismatch"),
                               ({"quantiles": numpy.ones((0, 2))}, "damaged"), ({"quantiles": -numpy.ones((STEPS, 2))}, "damaged"),
                               ({"score": numpy.bytes_("scaled")}, "damaged"), ({"samples": numpy.int64(1)}, "damaged")):
        replace_signed(command.folder / "model.h5", path, {f"/rollout_calibration/{name}": value for name, value in datasets.items()},
                       checkpoint_block.MODEL)
        arguments = ["rollout", path.name, "fresh.h5", "--steps", 2, "--out", "y.h5"]
        if expected:
            command.must_refuse(arguments, expected, "rollout_calibration")
        else:
            command.must(*arguments)


if __name__ == "__main__":
    run_cases(set_up, check_quantiles, check_points, check_bounds, check_not_finite, check_other_networks, check_ranks, check_refusals,
              check_damage)
