"""Intervals of the mean of an ensemble, of single predictions and of rollouts by lead time: their half widths, their ends in files
and their coverage, by NumPy from the members alone; on any number of ranks; and what is refused.

usage: test_ensemble_intervals.py MYLOS [--full]     --full: 2, 3 and 4 ranks, not 3
"""
import re

import h5py
import numpy

import test_rollout_intervals as alone
import uncertain_data
from support import checkpoint_block
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from test_rollout_intervals import COVERAGE, HELD, SEA, STEPS, fields_of
from uncertain_data import quantile, write

RUNS = ["runs/sea", "second", "third"]
FILES = [f"ens/member-{i:02}.h5" for i in range(len(RUNS))]
STARTS = 12  # of fresh.h5


def set_up(command):
    alone.set_up(command)
    for seed, run in enumerate(RUNS[1:], start=2):
        command.must("train", "sea.toml", f"run.seed={seed}", f"run.folder={run}")
    said = command.must(*calibration(), "--out", "ens").stdout
    assert "an ensemble of 3 networks" in said and "15 rollouts of 3 steps in 2 trajectories" in said, said


def calibration(coverage=COVERAGE):
    return ["calibrate", "--ensemble", *RUNS, "--data", "held-*.h5", "--coverage", coverage, "--rollout", STEPS]


def truth_of(command, data):
    """[level, channel, y, x], NaN at points that do not count, and after the end."""
    with h5py.File(command.folder / data) as file, h5py.File(command.folder / "areas.h5") as areas:
        truth = numpy.stack([file[channel][:] for channel in ("sst", "heat")], axis=1).astype("f8")
        counts = numpy.stack([SEA, numpy.ones_like(SEA)]) & (areas["area"][:] > 0)
    truth = numpy.where(counts, truth, numpy.nan)
    return numpy.concatenate([truth, numpy.full((STEPS, *truth.shape[1:]), numpy.nan)])


def predictions_of(command, name, suffix=""):
    """[window, channel, y, x]"""
    with h5py.File(command.folder / name) as file:
        return numpy.stack([file[channel + suffix][:] for channel in ("sst", "heat")], axis=1).astype("f8")


def predicted(command, data):
    """The mean of what the runs predict, and its largest errors [window, channel]."""
    means = []
    for run in RUNS:
        command.must("predict", run, data, "single.h5")
        means.append(predictions_of(command, "single.h5"))
    mean = numpy.mean(means, axis=0)
    return mean, numpy.nanmax(abs(mean - truth_of(command, data)[1:1 + len(mean)]), axis=(2, 3))


def rolled(command, data, starts):
    """The mean of the states [start, level, channel, y, x] of the runs' rollouts, and its largest errors [start, step, channel]."""
    states = []
    for run in RUNS:
        alone.rollout(command, run, data, starts)
        states.append(fields_of(command).astype("f8"))
    mean, truth = numpy.mean(states, axis=0), truth_of(command, data)
    errors = [abs(mean[start, 1:] - truth[start + 1:start + 1 + STEPS]) for start in range(starts)]
    return mean, numpy.array([numpy.fmax.reduce(error.reshape(STEPS, 2, -1), axis=2) for error in errors])


def roll_out(command, networks, *words, out="flow.h5", ranks=1, steps=STEPS):
    return command.must("rollout", "--ensemble", *networks, "fresh.h5", "--steps", steps, "--start", f"0:{STARTS}", "--out", out, "--truth",
                        "fresh.h5", *words, ranks=ranks).stdout


def stored(command, name, group):
    with h5py.File(command.folder / name) as file:
        assert "calibration" not in file and "rollout_calibration" not in file
        return {key: item[()] for key, item in file[group].items()}


def check_quantiles(command):
    """Of the largest errors of the mean, of all windows and of all rollouts; the same in the files of all networks."""
    windows = numpy.concatenate([predicted(command, name)[1] for name in HELD])
    rollouts = numpy.concatenate([rolled(command, name, levels - STEPS)[1] for name, levels in HELD.items() if levels > STEPS])
    for name in FILES:
        for group, scores in (("ensemble_calibration", windows), ("ensemble_rollout_calibration", rollouts)):
            found = stored(command, name, group)
            assert found["members"] == 3 and found["samples"] == len(scores) and found["score"] == b"absolute", found
            assert numpy.allclose(found["quantiles"], quantile(scores, COVERAGE), rtol=1e-5), (group, found)


def check_predictions(command):
    half = stored(command, FILES[0], "ensemble_calibration")["quantiles"]
    mean, errors = predicted(command, "fresh.h5")
    said = command.must("predict", "--ensemble", *FILES, "fresh.h5", "predicted.h5").stdout
    assert "without intervals" not in said, said
    for suffix, sign in (("_lower", -1), ("_upper", 1)):
        ends = predictions_of(command, "predicted.h5", suffix)
        assert numpy.allclose(ends[:, 0][:, SEA], mean[:, 0][:, SEA] + sign * half[0], rtol=1e-5, atol=1e-5)
        assert numpy.allclose(ends[:, 1], mean[:, 1] + sign * half[1], rtol=1e-5, atol=1e-4)
    said = command.must("eval", "--ensemble", *FILES, "--data", "fresh.h5").stdout
    share = float(re.search(r"calibrated intervals: ([0-9.]+) at 0.8", said).group(1))
    assert abs(share - (errors <= half).mean()) < 1e-3 and 0 < share < 1, (said, errors)


def check_rollouts(command):
    half = stored(command, FILES[0], "ensemble_rollout_calibration")["quantiles"]
    mean, errors = rolled(command, "fresh.h5", STARTS)
    assert "without intervals" not in roll_out(command, FILES)
    for suffix, sign in (("_lower", -1), ("_upper", 1)):
        ends = fields_of(command, suffix).astype("f8")  # without the axis of the members
        assert ends.shape == mean.shape
        assert numpy.allclose(ends[:, 0][..., SEA], mean[:, 0][..., SEA], rtol=1e-6, atol=1e-6, equal_nan=True)  # where the rollout begins
        expected = mean[:, 1:] + sign * half[:, :, None, None]
        assert numpy.allclose(ends[:, 1:][..., SEA], expected[..., SEA], rtol=1e-5, atol=1e-4)
    with h5py.File(command.folder / "flow.h5") as file:
        assert file["heat"].shape == (3, *file["heat_lower"].shape) and file["heat_upper"].attrs["coverage"] == float(COVERAGE)
    with h5py.File(command.folder / "flow.errors.nc") as file:
        starts, coverage, width = (file[name][:] for name in ("starts", "interval_coverage", "interval_width"))
        assert "spread" in file
    expected = [(errors[:count, step] <= half[step]).mean(0) for step, count in enumerate(starts)]
    assert numpy.allclose(coverage, expected, atol=1e-6) and 0 < numpy.mean(expected) < 1, (coverage, expected)
    assert numpy.allclose(width, 2 * half, rtol=1e-6)


def check_others(command):
    """No intervals of a member alone, of a part of the ensemble, of another one or of starts with noise; bounds of gaussian networks."""
    command.must(*calibration("0.7"), "--out", "other")
    command.must("export", "third", "third.h5")
    for networks, words in ((FILES[:2], []), ([*FILES[:2], "third.h5"], []), ([*FILES[:2], "other/member-02.h5"], []),
                            (FILES, ["--perturb", 0.1, "--members", 2])):
        assert "without intervals" in roll_out(command, networks, *words, out="none.h5"), (networks, words)
        with h5py.File(command.folder / "none.h5") as file, h5py.File(command.folder / "none.errors.nc") as errors:
            assert "sst_lower" not in file and "interval_width" not in errors
    said = command.must("predict", "--ensemble", *FILES[:2], "fresh.h5", "none-predicted.h5").stdout
    assert "without intervals" in said, said
    for arguments, name in ((["predict", FILES[0], "fresh.h5"], "one.h5"), (["rollout", FILES[0], "fresh.h5", "--steps", 2, "--out"], "two.h5")):
        command.must(*arguments, name)
        with h5py.File(command.folder / name) as file:
            assert "sst_lower" not in file


def check_samples(command):
    """Members are measured on the same samples, and on the grid of the data."""
    command.write("held.toml", alone.deck(test="held-a.h5"))
    for seed, (run, test) in enumerate((("held-1", "held-a.h5"), ("held-2", "held-b.h5")), start=1):
        command.must("train", "held.toml", f"run.seed={seed}", f"run.folder={run}", f"data.test={test}")
    command.must_refuse(["calibrate", "--ensemble", "held-1", "held-2", "--split", "test", "--coverage", "0.5", "--out", "no"], "data-mismatch", "held-2")
    alone.write_levels(command.folder / "wide.h5", 14, 21, wide=9)
    command.write("free.toml", re.sub(r"\[data.weights\][^[]*", "", alone.deck(arrays=dict(mask=None))))
    for seed, run in enumerate(("free-1", "free-2"), start=1):
        command.must("train", "free.toml", f"run.seed={seed}", f"run.folder={run}")
    command.must("calibrate", "--ensemble", "free-1", "free-2", "--data", "wide.h5", "--coverage", COVERAGE, "--rollout", STEPS, "--out", "wide")
    command.must("rollout", "--ensemble", "free-1", "free-2", "wide.h5", "--steps", STEPS, "--start", "0:11", "--out", "wide-flow.h5")
    with h5py.File(command.folder / "wide.h5") as file, h5py.File(command.folder / "wide-flow.h5") as flow:
        truth = numpy.stack([file[name][:] for name in ("sst", "heat")], axis=1).astype("f8")
        states = numpy.stack([flow[name][:].astype("f8").mean(0) for name in ("sst", "heat")], axis=2)
    errors = numpy.array([abs(states[start, 1:] - truth[start + 1:start + 1 + STEPS]) for start in range(11)]).max((3, 4))
    found = stored(command, "wide/member-00.h5", "ensemble_rollout_calibration")["quantiles"]
    assert numpy.allclose(found, quantile(errors, COVERAGE), rtol=1e-5), (found, quantile(errors, COVERAGE))


def check_scaled(command):
    """Of gaussian networks the interval is a number of the mixture's standard deviations."""
    for name, samples, seed in (("train.h5", 200, 1), ("test.h5", 60, 2)):
        write(command.folder, f"gaussian-{name}", samples, seed)
    command.write("gaussian.toml", uncertain_data.network("gaussian", "gaussian", epochs=2).replace('"t', '"gaussian-t'))
    runs = [f"gaussian-{seed}" for seed in (1, 2)]
    for seed, run in enumerate(runs):
        command.must("train", "gaussian.toml", f"run.seed={seed}", f"run.folder={run}")
    command.must("calibrate", "--ensemble", *runs, "--split", "test", "--out", "sure")
    files = ["sure/member-00.h5", "sure/member-01.h5"]
    found = stored(command, files[0], "ensemble_calibration")
    command.must("predict", "--ensemble", *files, "gaussian-test.h5", "sure.h5")
    with h5py.File(command.folder / "sure.h5") as file, h5py.File(command.folder / "gaussian-test.h5") as test:
        mean, deviation, lower, upper = (file[name][:].astype("f8") for name in ("outputs", "standard_deviation", "lower", "upper"))
        scores = abs(test["targets"][:] - mean) / deviation
    assert found["score"] == b"scaled" and numpy.allclose(found["quantiles"], quantile(scores, "0.9"), rtol=2e-5), found
    half = found["quantiles"] * deviation
    assert numpy.allclose(lower, mean - half, rtol=1e-6, atol=1e-5) and numpy.allclose(upper, mean + half, rtol=1e-6, atol=1e-5)


def check_ranks(command, full):
    """The same bits on any number of ranks."""
    roll_out(command, FILES)
    expected = {name: (command.folder / name).read_bytes() for name in ("flow.h5", "flow.errors.nc")}
    for ranks in (2, 3, 4) if full else (3,):
        command.must(*calibration(), "--out", "ranks", ranks=ranks)
        for group in ("ensemble_calibration", "ensemble_rollout_calibration"):
            for name in FILES:
                one, other = (stored(command, path, group)["quantiles"] for path in (name, name.replace("ens", "ranks")))
                assert numpy.array_equal(one, other), (group, ranks, one, other)
        roll_out(command, FILES, ranks=ranks)
        for name, content in expected.items():
            assert (command.folder / name).read_bytes() == content, (name, ranks)


def check_refusals(command):
    command.must_refuse(calibration(), "missing-argument", "--out FOLDER")
    command.must_refuse([*calibration(), "--input-statistics", "--out", "no"], "arguments-conflict", "--input-statistics")
    command.must_refuse(["calibrate", *RUNS, "--out", "no.h5"], "extra-argument", "second", "--ensemble")
    command.must_refuse(["calibrate", "--ensemble", *FILES, "--data", "held-*.h5", "--out", "no"], "weights-only", FILES[0])
    command.must_refuse(["calibrate", "--ensemble", *RUNS, "--data", "train.h5", "--out", "no"], "data-mismatch", "train.h5", ranks=2)
    command.must_refuse([*calibration(0.95), "--out", "no"], "too-little-data", "15 rollouts of 3 steps", ranks=2)
    command.must_refuse(["rollout", "--ensemble", *FILES, "fresh.h5", "--steps", STEPS + 1, "--out", "no.h5"], "bad-argument", "--steps 4")
    replace_signed(command.folder / FILES[1], command.folder / "hostile.h5", {"/ensemble_rollout_calibration/members": numpy.int64(1)},
                   checkpoint_block.MODEL)
    command.must_refuse(["rollout", "--ensemble", FILES[0], "hostile.h5", "fresh.h5", "--steps", 2, "--out", "no.h5"], "damaged", "hostile.h5")
    assert not (command.folder / "no").exists() and not (command.folder / "no.h5").exists()


run_cases(set_up, check_quantiles, check_predictions, check_rollouts, check_others, check_samples, check_scaled, check_ranks, check_refusals)
