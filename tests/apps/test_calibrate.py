"""Conformal intervals of held-out samples: their quantiles, the bounds of predictions and what eval says of them, by NumPy, on
any number of ranks; and what cannot be calibrated."""
import re

import h5py
import numpy

import uncertain_data
from small_problem import DECK, prepare
from support import checkpoint_block
from support.cases import run_cases
from support.changed_checkpoints import replace_signed, signed_changes
from support.data_files import read_data
from support.run_folders import last_checkpoint
from uncertain_data import measured, measures_by_numpy, quantile, require_measures, write

COVERAGES = ("0.9", "0.5", "0.8", "0.99")
HELD_OUT = 200  # of the training samples: 0.25 of 800


def predicted(command, network, data, output="out.h5", ranks=1):
    command.must("predict", network, data, output, ranks=ranks)
    with h5py.File(command.folder / output) as file:
        return {name: file[name][:].astype("f8") for name in ("outputs", "standard_deviation", "lower", "upper") if name in file}


def stored(command, name):
    with h5py.File(command.folder / name) as file:
        return {key: item[()] for key, item in file["calibration"].items()}


def set_up(command, loss):
    for name, samples, seed in (("train.h5", 800, 1), ("test.h5", 300, 2), ("fresh.h5", 2000, 3)):
        write(command.folder, name, samples, seed)
    command.write("deck.toml", uncertain_data.network(loss, loss, epochs=8))
    command.must("train", "deck.toml")


def targets_of(command, data):
    return read_data(command.folder / data, "targets").astype("f8")


def scores_of(command, run, data):
    found = predicted(command, run, data)
    errors = numpy.abs(found["outputs"] - targets_of(command, data))
    return errors / found["standard_deviation"] if "standard_deviation" in found else errors


def check_quantiles(command, run, score):
    for split, data, first in (("validation", "train.h5", 800 - HELD_OUT), ("test", "test.h5", 0)):
        scores = scores_of(command, run, data)[first:]
        for coverage in COVERAGES:
            command.must("calibrate", run, "--split", split, "--coverage", coverage, "--out", "model.h5")
            found = stored(command, "model.h5")
            assert found["coverage"] == float(coverage) and found["samples"] == len(scores), found
            assert found["split"] == split.encode() and found["score"] == score.encode(), found
            assert numpy.allclose(found["quantiles"], quantile(scores, coverage), rtol=2e-5), (coverage, found)
    command.must("calibrate", run, "--data", "test.h5", "--coverage", "0.8", "--out", "data.h5")
    command.must("calibrate", run, "--split", "test", "--coverage", "0.8", "--out", "test-split.h5")
    of_file, of_split = stored(command, "data.h5"), stored(command, "test-split.h5")
    assert of_file["split"] == b"data" and numpy.array_equal(of_file["quantiles"], of_split["quantiles"]), of_file


def check_ranks(command, run):
    for ranks in (1, 2, 3, 4):
        command.must("calibrate", run, "--out", f"ranks-{ranks}.h5", ranks=ranks)
    one = stored(command, "ranks-1.h5")
    for ranks in (2, 3, 4):
        found = stored(command, f"ranks-{ranks}.h5")
        assert found["samples"] == one["samples"] == HELD_OUT
        assert numpy.allclose(found["quantiles"], one["quantiles"], rtol=1e-5), (ranks, found, one)


def check_bounds(command, run):
    """Bounds are the mean +- the quantile; eval counts what lies within."""
    command.must("calibrate", run)
    network = f"{run}/calibrated.h5"
    quantiles = stored(command, network)["quantiles"]
    plain = predicted(command, run, "fresh.h5")
    for ranks in (1, 3):
        found = predicted(command, network, "fresh.h5", "bounds.h5", ranks)
        assert numpy.allclose(found["outputs"], plain["outputs"], rtol=1e-6)
        half = quantiles * found.get("standard_deviation", 1)
        assert numpy.allclose(found["lower"], found["outputs"] - half, rtol=2e-7), ranks
        assert numpy.allclose(found["upper"], found["outputs"] + half, rtol=2e-7), ranks
    with h5py.File(command.folder / "bounds.h5") as file:
        assert file["lower"].attrs["coverage"] == file["upper"].attrs["coverage"] == 0.9
    command.must("predict", network, "fresh.h5", "bounds.csv")
    lines = command.text("bounds.csv").splitlines()
    assert {"lift", "lift_lower", "lift_upper", "drag", "drag_lower", "drag_upper"} <= set(lines[0].split(",")), lines[0]
    columns = dict(zip(lines[0].split(","), numpy.loadtxt(lines[1:], delimiter=",").T))
    assert numpy.array_equal(columns["drag_upper"].astype("f4"), found["upper"][:, 1].astype("f4"))

    targets = targets_of(command, "fresh.h5")
    inside = (found["lower"] <= targets) & (targets <= found["upper"])
    assert 0.86 < inside.mean() < 0.94, inside.mean()
    for ranks in (1, 2, 4):
        said = command.must("eval", network, "--data", "fresh.h5", ranks=ranks).stdout
        share, width = re.search(r"calibrated intervals: ([0-9.]+) at 0.9, mean width (\S+)", said).groups()
        assert abs(float(share) - inside.mean()) < 1.1e-4 * 2, said
        assert abs(float(width) / (found["upper"] - found["lower"]).mean() - 1) < 1e-5, said
        for name, column in (("lift", 0), ("drag", 1)):
            of_target = re.search(rf"coverage of {name}: ([0-9.]+)", said).group(1)
            assert abs(float(of_target) - inside[:, column].mean()) < 1.1e-4 + 1e-3, said
    assert "calibration" in command.must("info", network).stdout


def check_measures(command, run):
    """What eval says of predicted deviations, on any number of ranks, and leaves in the folder of the run."""
    found = predicted(command, run, "test.h5")
    targets = targets_of(command, "test.h5")
    expected = measures_by_numpy(found["outputs"].ravel(), found["standard_deviation"].ravel(), targets.ravel())
    for ranks in (1, 2, 3, 4):
        document, said = measured(command, run, ranks=ranks)
        assert document["format"] == "mylos-uncertainty" and document["version"] == 1, document
        assert document["split"] == "test" and document["samples"] == len(targets), document
        require_measures(document, expected)
        assert f"sharpness {expected['sharpness']:.3g}"[:13] in said, said
        share = float(re.search(r"predicted standard deviations: .* ([0-9.]+) at 0.9,", said).group(1))
        z = numpy.abs(found["outputs"] - targets) / found["standard_deviation"]
        assert abs(share - (z <= 1.6448536269514722).mean()) < 1e-4 + 1 / targets.size, said
    document, _ = measured(command, run, "--split", "validation")
    assert document["split"] == "validation" and document["samples"] == HELD_OUT, document
    path = command.folder / run / "uncertainty.json"
    before = path.read_bytes()
    command.must("eval", last_checkpoint(command, run))  # of a file, nothing is left
    assert path.read_bytes() == before
    path.unlink()
    path.mkdir()  # where it cannot be written, eval goes on
    (path / "other").touch()
    said = command.must("eval", run)
    assert "uncertainty.json" in said.stderr and "calibration error" in said.stdout, said
    (path / "other").unlink()
    path.rmdir()


def check_refusals(command, run):
    checkpoint = last_checkpoint(command, run)
    before = sorted(path.name for path in command.folder.iterdir())
    to = ["--out", "x.h5"]
    for coverage in ("0", "1", "1.5", "-0.1", "nan"):
        command.must_refuse(["calibrate", run, *to, f"--coverage={coverage}"], "bad-argument", "--coverage")
    command.must_refuse(["calibrate", run, *to, "--coverage", "much"], "bad-argument")
    command.must_refuse(["calibrate", run, *to, "--split", "train"], "bad-argument", "--split")
    command.must_refuse(["calibrate", run, *to, "--split", "other"], "bad-argument", "--split")
    command.must_refuse(["calibrate", run, *to, "--split", "test", "--data", "test.h5"], "arguments-conflict")
    for ranks in (1, 2):
        command.must_refuse(["calibrate", run, *to, "--data", "train.h5"], "data-mismatch", "train.h5", ranks=ranks)
        command.must_refuse(["calibrate", run, *to, "--coverage", "0.999"], "too-little-data", str(HELD_OUT), "999", ranks=ranks)
    command.must_refuse(["calibrate", checkpoint, "--split", "test"], "missing-argument", "--out")
    command.must_refuse(["calibrate", run, "--out", checkpoint], "arguments-conflict", checkpoint.name)
    command.must_refuse(["calibrate", run, "--out", "test.h5", "--split", "test"], "already-exists", "test.h5")
    command.must_refuse(["calibrate", run, "--out", "x.csv"], "bad-argument", "x.csv")
    command.must_refuse(["calibrate", run, "--out", "x.onnx"], "bad-argument", "x.onnx")
    command.must_refuse(["calibrate", f"{run}/calibrated.h5", *to], "weights-only", "calibrated.h5")
    command.must_refuse(["calibrate", "nowhere", *to], "no-such-file", "nowhere")
    command.must_refuse(["calibrate", "nowhere"], "no-such-file", "nowhere")
    assert sorted(path.name for path in command.folder.iterdir()) == before
    # Another file in place of the training data: which of its samples were held out is not known.
    original = (command.folder / "train.h5").read_bytes()
    write(command.folder, "train.h5", 800, 9)
    command.must_refuse(["calibrate", run, *to], "data-mismatch", "train.h5")
    (command.folder / "train.h5").write_bytes(original)


def check_classes(command):
    for name in ("train.h5", "test.h5"):  # of the tables before, which are not replaced
        (command.folder / name).unlink(missing_ok=True)
    prepare(command, DECK)
    command.must("train", "deck.toml", "run.epochs=1")
    command.must_refuse(["calibrate", "runs/small", "--split", "test", "--out", "x.h5"], "not-measured", "cross_entropy")
    command.must_refuse(["calibrate", "runs/small", "--out", "x.h5"], "not-measured")


def check_damage(command, run):
    source, path = command.folder / run / "calibrated.h5", command.folder / "hostile.h5"
    for datasets, expected in (({}, ""),
                               ({"coverage": numpy.float64(1)}, "damaged"), ({"coverage": numpy.float64("nan")}, "damaged"),
                               ({"samples": numpy.int64(8)}, "damaged"), ({"score": numpy.bytes_("signed")}, "damaged"),
                               ({"quantiles": numpy.array([1.0])}, "damaged"),
                               ({"quantiles": numpy.array([1.0, numpy.inf])}, "damaged"),
                               ({"quantiles": numpy.array([1.0, -1.0])}, "damaged"),
                               ({"quantiles": numpy.ones((1, 2))}, "bad-dataset"),
                               ({"quantiles": numpy.ones(2, "f4")}, "restart-mismatch")):
        replace_signed(source, path, {f"/calibration/{name}": value for name, value in datasets.items()}, checkpoint_block.MODEL)
        for arguments in (["predict", path.name, "fresh.h5", "y.h5"], ["eval", path.name, "--data", "fresh.h5"]):
            if expected:
                command.must_refuse(arguments, expected, "calibration")
            else:
                command.must(*arguments)
    replace_signed(source, path, {}, checkpoint_block.MODEL)
    with signed_changes(path, checkpoint_block.MODEL) as file:  # a right digest and a wrong CRC-32
        file["/calibration/quantiles"].attrs["crc32"] = numpy.int64(1)
    command.must_refuse(["predict", path.name, "fresh.h5", "y.h5"], "damaged", "/calibration/quantiles")


run_cases((set_up, "mse"), (check_quantiles, "runs/mse", "absolute"), (check_ranks, "runs/mse"), (check_bounds, "runs/mse"),
          (check_refusals, "runs/mse"), (check_damage, "runs/mse"), (set_up, "gaussian"),
          (check_quantiles, "runs/gaussian", "scaled"), (check_ranks, "runs/gaussian"), (check_bounds, "runs/gaussian"),
          (check_measures, "runs/gaussian"), check_classes)
