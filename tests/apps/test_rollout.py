"""mylos rollout and predict on arrays: a linear network against powers of its matrix, fields against NumPy's errors and
spectra, the layout of the files, any number of ranks, and what is refused."""
import re

import h5py
import numpy

from rollout_fields import (
    HIGH, LEVELS, SAMPLES, WIDE, errors, fields_deck, fields_of, linear_deck, spectrum, write_fields, write_linear)
from support.cases import run_cases
from support.data_files import read_data
from support.run_folders import last_checkpoint
from support.tables import rows_of


def table(path):
    return [{name: float(value) if value else numpy.nan for name, value in row.items()} for row in rows_of(path)]


def column(rows, name):
    return numpy.array([row[name] for row in rows])


def close(found, expected, tolerance):
    difference = numpy.abs(numpy.asarray(found) - expected).max()
    scale = numpy.abs(expected).max()
    assert difference <= tolerance * scale, (difference, scale)


def scaling(file, of):
    group = f"data/normalization/{of}"
    return (file[f"{group}/shift"][:], file[f"{group}/scale"][:]) if f"{group}/shift" in file else (0.0, 1.0)


def matrix_rollout(checkpoint, window, forcings, differences, steps):
    """In float64: window [sample, history, 6] of u, g, f; the network's outputs are g, u. differences: 1 for each channel of u and g that is
    one, else 0; or one number for all."""
    with h5py.File(checkpoint) as file:
        weight, bias = file["model/head/weight"][:].astype("f8"), file["model/head/bias"][:].astype("f8")
        (shift, scale), (target_shift, target_scale) = scaling(file, "inputs"), scaling(file, "targets")
    states = []
    for step in range(steps):
        inputs = (window.reshape(len(window), -1) - shift) * scale
        output = (inputs @ weight.T + bias) / target_scale + target_shift
        newest = numpy.concatenate([output[:, 2:], output[:, :2]], axis=1)
        newest = newest + differences * window[:, -1, :5]
        states.append(newest)
        if step + 1 < steps:
            level = numpy.concatenate([newest, forcings[:, step]], axis=1)
            window = numpy.concatenate([window[:, 1:], level[:, None]], axis=1)
    return numpy.stack(states, 1)


SOME = numpy.array([0, 0, 0, 1, 1])  # g, not u


def check_linear(command):
    """The rollout is a power of one matrix; the metric of the run is that of the command."""
    write_linear(command.folder / "linear.h5")
    with h5py.File(command.folder / "linear.h5") as file:
        data = numpy.concatenate([file[name][:].astype("f4").astype("f8") for name in ("u", "g", "f")], axis=-1)
    for history, targets_are, normalize, some in ((1, "state", "standard", None), (2, "difference", "standard", None), (3, "state", "none", None),
                                                  (2, "state", "standard", ["/g"])):
        name = "some" if some else f"{targets_are}{history}"
        command.write("linear.toml", linear_deck(history, targets_are, normalize, differences=some))
        differences = SOME if some else targets_are == "difference"
        trained = command.must("train", "linear.toml", f"run.folder={name}").stdout
        command.must("rollout", name, "linear.h5", "--steps", 6, "--out", f"{name}.h5", "--truth", "linear.h5")
        states = matrix_rollout(last_checkpoint(command, name), data[:, :history], data[:, history:, 5:], differences, 6)
        with h5py.File(command.folder / f"{name}.h5") as file:
            assert file["u"].shape == (SAMPLES, 7, 3) and file["g"].shape == (SAMPLES, 7, 2)
            assert file["u"].dtype == "f8" and file["g"].dtype == "f4" and "f" not in file
            found = numpy.concatenate([file["u"][:], file["g"][:]], axis=-1)
        assert (found[:, 0] == data[:, history - 1, :5]).all()
        close(found[:, 1:], states, 2e-5)
        rows = table(command.folder / f"{name}.errors.csv")
        order = [3, 4, 0, 1, 2]
        for step, row in enumerate(rows, 1):
            truth = data[:, history - 1 + step, :5]
            each = numpy.array([errors(found[i, step][None, order], truth[i][None, order])[:2] for i in range(SAMPLES)])
            close([row["relative_l2"], row["nrmse"]], each.mean(0), 1e-6)
        metric = [float(row["rollout"]) for row in command.rows(f"{name}/evaluations.csv") if row["part"] == "test"]
        assert len(metric) == 3
        # Of the last evaluation: rollouts of 3 steps that follow each other.
        starts = range(0, LEVELS - history - 2, 3)
        command.must("rollout", name, "linear.h5", "--steps", 3, "--out", "three.h5", "--truth", "linear.h5", "--start", ",".join(map(str, starts)))
        last = column(table(command.folder / "three.errors.csv"), "nrmse").mean()
        assert abs(last - metric[-1]) < 1e-6 * last, (last, metric)
        document = command.document(f"{name}/evaluation.rollout.json")
        assert abs(document["mean_nrmse"] - metric[-1]) < 1e-12 and len(document["members"]) == SAMPLES * len(starts)
        best = min(range(3), key=metric.__getitem__)
        assert f"test.rollout3 {metric[best]:.6g} at step {10 * (best + 1)}" in trained, trained


def check_windows(command):
    """A network of windows whose targets lie several levels after them predicts states; it has no rollouts."""
    with h5py.File(command.folder / "linear.h5") as file:
        data = numpy.concatenate([file[name][:].astype("f4").astype("f8") for name in ("u", "g", "f")], axis=-1)
    for folder, differences, keys in (("some-windows", SOME, dict(differences=["/g"])), ("windows", 1, dict(targets_are="difference"))):
        command.write("windows.toml", linear_deck(2, rolls_out=False, ahead=3, every=2, **keys))
        command.must("train", "windows.toml", f"run.folder={folder}")
        command.must("predict", folder, "linear.h5", "windows.h5")
        begins = range(0, LEVELS - 4, 2)
        states = [matrix_rollout(last_checkpoint(command, folder), data[:, begin:begin + 2], None, differences, 1)[:, 0] for begin in begins]
        with h5py.File(command.folder / "windows.h5") as file:
            assert file["u"].shape == (SAMPLES, len(begins), 3)
            close(numpy.concatenate([file["u"][:], file["g"][:]], axis=-1), numpy.stack(states, 1), 2e-5)
    command.must_refuse(["rollout", "windows", "linear.h5", "--steps", 1, "--out", "no.h5"], "data-mismatch", "history = 2 and ahead = 3")


def train_fields(command, name, **changes):
    command.write("fields.toml", fields_deck(**changes))
    command.must("train", "fields.toml", f"run.folder={name}")


def check_fields(command):
    """Errors, energies and spectra are NumPy's; the picture's codes are of the fields in the file."""
    write_fields(command.folder / "fields.h5")
    train_fields(command, "fields")
    output = command.must("rollout", "fields", "fields.h5", "--steps", 5, "--out", "flow.h5", "--truth", "fields.h5").stdout
    assert "nRMSE, mean over the steps" in output and "persistence" in output, output
    found = fields_of(command.folder / "flow.h5")
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2]
    assert found.shape == (6, HIGH, WIDE // 2, 3) and (found[0] == truth[0]).all()
    rows = table(command.folder / "flow.errors.csv")
    for step, row in enumerate(rows, 1):
        close([row["relative_l2"], row["nrmse"], row["correlation"]], errors(found[step], truth[step]), 1e-6)
        close([row[f"persistence_{name}"] for name in ("relative_l2", "nrmse", "correlation")], errors(found[0], truth[step]), 1e-6)
        energy = (found.astype("f8") ** 2).sum(-1).mean((1, 2))
        close([row["energy"], row["energy_drift"]], [energy[step], energy[step] / energy[0] - 1], 1e-6)
        assert row["members_not_finite"] == 0
    spectra = table(command.folder / "flow.spectrum.csv")
    for step in range(6):
        rows = [row for row in spectra if row["step"] == step]
        for name, field in (("network", found[step]), ("truth", truth[step])):
            close(column(rows, name), spectrum(field), 1e-7)
        if step > 0:
            close(column(rows, "error"), spectrum(found[step] - truth[step]), 1e-6)
    document = command.document("flow.rollout.json")
    assert document["errors"]["step"] == [1, 2, 3, 4, 5] and document["spectrum"]["steps"] == [0, 1, 2, 3, 5]
    assert [picture["title"] for picture in document["pictures"][::3]] == [f"from level 0, step {step}" for step in (1, 3, 5)]
    samples = command.document("fields/samples.json")
    assert len(samples["parts"]["test"]) == 6 and samples["step"] == 8


def check_layout(command):
    """Axes, types, attributes, coordinates and units of the data; times that go on; integers unpacked."""
    with h5py.File(command.folder / "flow.h5") as file:
        assert dict(file.attrs)["title"] == "a test" and file.attrs["Conventions"] == "CF-1.8" and b"fields" in file.attrs["checkpoint"]
        u, v = file["u"], file["deep/v"]
        assert u.shape == (6, HIGH, WIDE // 2) and u.dtype == "f8" and v.shape == (WIDE // 2, 6, 2, HIGH) and v.dtype == "f4"
        assert u.attrs["units"] == "m s-1" and list(u.attrs["levels_used"]) == [1, 2]
        assert [dimension[0].name if len(dimension) else None for dimension in v.dims] == ["/x", "/time", None, "/y"]
        assert list(u.dims[0][0][:]) == [10, 10.5, 11, 11.5, 12, 12.5] and file["time"].attrs["units"] == "seconds since 2000-01-01"
        assert list(file["x"][:]) == list(range(0, 60, 6)) and file["x"].dtype.kind == "i" and file["y"].dtype == "f4"
        assert h5py.h5ds.is_scale(file["x"].id) and len(file["x"].attrs["REFERENCE_LIST"]) == 2
    write_fields(command.folder / "short.h5", levels=1, integers=True)  # no levels for forcings after the first step
    command.must("rollout", "fields", "short.h5", "--steps", 1, "--out", "short-out.nc")
    with h5py.File(command.folder / "short-out.nc") as file:
        assert file["u"].dtype == "f4" and "scale_factor" not in file["u"].attrs and file["u"].attrs["units"] == "m s-1"
        assert list(file["time"][:]) == [10, 10.5]  # at the distance of the training: one level has none
    rows = table(command.folder / "short-out.errors.csv")
    assert len(rows) == 1 and numpy.isnan(rows[0]["nrmse"]) and rows[0]["energy"] > 0
    write_fields(command.folder / "short-truth.h5", levels=4)  # ends before the rollout
    output = command.must("rollout", "fields", "fields.h5", "--steps", 5, "--out", "longer.h5", "--truth", "short-truth.h5").stdout
    known = column(table(command.folder / "longer.errors.csv"), "nrmse")[:3]
    stated = re.search(r"nRMSE, mean over the 3 steps that have a truth: (\S+)$", output, re.M)
    close([float(stated.group(1))], [known.mean()], 1e-5)
    command.must("predict", "fields", "fields.h5", "predicted.h5")
    step = fields_of(command.folder / "predicted.h5")
    assert step.shape == (LEVELS - 1, HIGH, WIDE // 2, 3)
    close(step[0], fields_of(command.folder / "flow.h5")[1], 1e-6)
    with h5py.File(command.folder / "predicted.h5") as file:
        assert file["time"][0] == 10.5 and file["time"][-1] == 10 + 0.5 * (LEVELS - 1) and file["u"].attrs["units"] == "m s-1"
        assert file["deep/v"].shape == (WIDE // 2, LEVELS - 1, 2, HIGH)
    command.must("predict", "fields", "fields.h5", "predicted.csv")
    rows = numpy.loadtxt(command.folder / "predicted.csv", delimiter=",", skiprows=1)
    close(rows.reshape(step.shape), step, 1e-6)


def check_slices(command):
    """The step of the time slice is that of the levels; its beginning is the user's."""
    train_fields(command, "strided", time="2::2", targets_are="difference")
    command.must("rollout", "strided", "fields.h5", "--steps", 3, "--start", "1", "--out", "strided.h5", "--truth", "fields.h5")
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2]
    found = fields_of(command.folder / "strided.h5")
    assert (found[0] == truth[2]).all()
    rows = table(command.folder / "strided.errors.csv")
    for step, row in enumerate(rows, 1):
        close([row["nrmse"]], [errors(found[step], truth[2 + 2 * step])[1]], 1e-6)
    command.must("predict", "strided", "fields.h5", "predicted.h5")
    predicted = fields_of(command.folder / "predicted.h5")  # states, though the network predicts differences
    assert len(predicted) == 4
    close(predicted[0], found[1], 1e-6)
    assert list(read_data(command.folder / "predicted.h5", "time")) == [12, 13, 14, 15]


def check_ranks(command):
    """The same levels and errors on any number of ranks; several members have an axis of their own."""
    names = ("members.h5", "members.errors.csv")
    for ranks in (1, 2, 3):
        command.must("rollout", "fields", "fields.h5", "--steps", 4, "--start", "0:6", "--out", "members.h5", "--truth", "fields.h5", ranks=ranks)
        contents = [(command.folder / name).read_bytes() for name in names]
        if ranks == 1:
            first = contents
            with h5py.File(command.folder / "members.h5") as file:
                assert file["u"].shape == (6, 5, HIGH, WIDE // 2) and "time" not in file and len(file["u"].dims[1]) == 0
                assert (file["u"][:, 0] == fields_of(command.folder / "fields.h5")[:6, :, ::2, 0]).all()
        assert contents == first, ranks
    with h5py.File(command.folder / "broken.h5", "w") as broken, h5py.File(command.folder / "fields.h5") as whole:
        for name in ("u", "deep/v", "f", "mask"):
            broken[name] = whole[name][:]
        broken["f"][5] = numpy.nan  # a rank meets it on its way
    before = (command.folder / "members.h5").read_bytes()
    command.must_refuse(["rollout", "fields", "broken.h5", "--steps", 4, "--start", "0:6", "--out", "members.h5"], "not-finite", "broken.h5", "/f", ranks=2)
    assert (command.folder / "members.h5").read_bytes() == before and not (command.folder / "members.h5.tmp").exists()


def check_points(command):
    """Points as samples: fields are put together from them, also where ranks divide a field."""
    command.write("points.toml", fields_deck(points=True, targets_are="difference"))
    command.must("train", "points.toml", "run.folder=points")
    command.must("rollout", "points", "fields.h5", "--steps", 3, "--out", "points.h5", "--truth", "fields.h5")
    command.must("predict", "points", "fields.h5", "predicted-points.h5", ranks=2)
    found, predicted = fields_of(command.folder / "points.h5"), fields_of(command.folder / "predicted-points.h5")
    assert found.shape == (4, HIGH, WIDE // 2, 3) and predicted.shape == (LEVELS - 1, HIGH, WIDE // 2, 3)
    close(predicted[0], found[1], 1e-6)
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2]
    for step, row in enumerate(table(command.folder / "points.errors.csv"), 1):
        close([row["nrmse"]], [errors(found[step], truth[step])[1]], 1e-6)


def check_not_finite(command):
    """A rollout that leaves the range of float is written, and the first step is named."""
    with h5py.File(command.folder / "huge.h5", "w") as huge, h5py.File(command.folder / "fields.h5") as whole:
        for name in ("u", "deep/v", "f", "mask"):
            huge[name] = whole[name][:]
        huge["u"][0] = 1e6  # above the largest number of fp16
    command.must("train", "fields.toml", "run.folder=half", "precision.compute=fp16")
    output = command.must("rollout", "half", "huge.h5", "--steps", 3, "--out", "huge-out.h5").stdout
    document = command.document("huge-out.rollout.json")
    step = document["members"][0]["first_step_not_finite"]
    assert step is not None and f"1 of 1 members become inf or NaN, the first (from level 0) at step {step}" in output, output
    with h5py.File(command.folder / "huge-out.h5") as file:
        finite = [bool(numpy.isfinite(file["u"][i]).all() and numpy.isfinite(file["deep/v"][:, i]).all()) for i in range(4)]
    assert finite.index(False) == step


def check_refusals(command):
    rollout = ["rollout", "fields", "fields.h5", "--out", "no.h5", "--steps"]
    for arguments, refusal in (([13], ("too-little-data", "fields.h5", "12 levels", "at most 12 steps")),
                               ([2, "--start", "12"], ("bad-argument", "--start 12", "12 levels")), ([2, "--start", "x"], ("bad-argument", "--start x")),
                               ([2, "--start", "11"], ("too-little-data", "at most 1 steps")), ([2, "--sample", "1"], ("bad-argument", "1 samples")),
                               ([2, "--truth", "no-truth.h5"], ("no-such-file", "no-truth.h5")), ([0], ("bad-argument", "--steps"))):
        command.must_refuse([*rollout, *arguments], *refusal)
    command.must_refuse(["rollout", "fields", "fields.h5", "--steps", 1, "--out", "fields.h5"], "arguments-conflict", "fields.h5")
    command.must_refuse(["rollout", "fields", "linear.h5", "--steps", 1, "--out", "no.h5"], "missing-dataset", "linear.h5", "/deep/v")
    with h5py.File(command.folder / "small.h5", "w") as small, h5py.File(command.folder / "fields.h5") as whole:
        small["u"], small["deep/v"], small["f"], small["mask"] = whole["u"][:, 1:], whole["deep/v"][..., 1:], whole["f"][:, 1:], whole["mask"][1:]
    command.must("rollout", "fields", "small.h5", "--steps", 1, "--out", "small-out.h5")  # convolutions have no grid of their own
    command.write("forced.toml", fields_deck(inputs=["/u", "/deep/v"], targets=["/f"], outputs=1))
    command.must("train", "forced.toml", "run.folder=forced")
    command.must_refuse(["rollout", "forced", "fields.h5", "--steps", 1, "--out", "no.h5"], "data-mismatch", "/f")
    command.must_refuse(["train", "fields.toml", 'run.metrics=["rollout20"]'], "too-little-data", "rollout20", "fields.h5")
    command.must_refuse(["train", "fields.toml", 'run.metrics=["rollout0"]'], "bad-value", "rollout0")
    command.must_refuse(["train", "fields.toml", "checkpoint.keep_best=test.rollout2"], "not-measured", "rollout2")
    assert not list(command.folder.glob("no.*"))


run_cases(check_linear, check_windows, check_fields, check_layout, check_slices, check_points, check_ranks, check_not_finite,
          check_refusals)
