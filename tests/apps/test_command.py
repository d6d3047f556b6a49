"""The command as a user meets it: train, eval, predict, info, and how a run ends that cannot go on."""
import re

import h5py
import numpy

from small_problem import prepare
from support.cases import run_cases
from support.data_files import read_data


def check_use(command):
    result = command.must("train", "deck.toml")
    assert re.search(r"^done$", result.stdout, re.M), result.stdout
    accuracy = float(re.search(r"accuracy ([\d.]+)", command.must("eval", "runs/small").stdout).group(1))
    assert accuracy > 0.8, accuracy
    command.must("predict", "runs/small", "test.h5", "outputs.h5")
    with h5py.File(command.folder / "outputs.h5") as outputs, h5py.File(command.folder / "test.h5") as test:
        probabilities = outputs["outputs"][:]
        assert numpy.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
        assert abs((probabilities.argmax(axis=1) == test["labels"][:]).mean() - accuracy) < 1e-3
    checkpoint = next((command.folder / "runs/small/checkpoints").glob("*33.h5"), None) or \
        sorted((command.folder / "runs/small/checkpoints").glob("*.h5"))[-1]
    assert "hidden1/weight" in command.must("info", checkpoint).stdout
    two_ranks = command.must("eval", "runs/small", ranks=2).stdout
    assert f"accuracy {accuracy:.4f}" in two_ranks, two_ranks
    for ranks in (2, 3):
        command.must("predict", "runs/small", "test.h5", "by-ranks.h5", ranks=ranks)
        assert numpy.allclose(read_data(command.folder / "by-ranks.h5", "outputs"), probabilities, atol=0.01), f"{ranks} ranks"


def check_info(command):
    """Of a folder it shows the newest valid checkpoint, and says which that is."""
    *_, before, newest = sorted((command.folder / "runs/small/checkpoints").glob("step-*.h5"))
    name = "runs/small/checkpoints/{}"
    whole = command.must("info", "runs/small").stdout
    assert re.search(r"text of [\d.]+ (?:bytes|KiB)$", whole, re.MULTILINE) and '"operations"' not in whole, whole
    assert whole.startswith(name.format(newest.name) + ": mylos-checkpoint "), whole
    assert whole == command.must("info", name.format(newest.name)).stdout == command.must("info", "runs/small", ranks=2).stdout
    contents = newest.read_bytes()
    newest.write_bytes(contents[:-1])
    past_damage = command.must("info", "runs/small", ranks=2)
    assert past_damage.stdout.startswith(name.format(before.name) + ": mylos-checkpoint ")
    assert len(re.findall(f"^mylos: skipped .*{newest.name}: ", past_damage.stderr, re.MULTILINE)) == 1, past_damage.stderr
    newest.write_bytes(contents)
    (command.folder / "empty").mkdir()
    for folder in ("runs/small/", "./runs/small", "runs/small/checkpoints", "runs/small/checkpoints/", "runs/small/.",
                   "runs/small/checkpoints/.", command.folder / "runs/small/checkpoints"):
        same = command.must("info", folder).stdout
        assert same.split(": ", 1)[1] == whole.split(": ", 1)[1] and newest.name in same, f"{folder}: {same}"
        verified = command.must("info", folder, "--verify").stdout
        assert re.search(rf"{newest.name}: valid: .*; step {int(newest.stem[5:])}$", verified, re.M), f"{folder}: {verified}"
    assert command.must("eval", "runs/small/checkpoints/").stdout == command.must("eval", "runs/small").stdout
    newest.write_bytes(contents[:-1])
    refuse(command, ["info", "runs/small", "--verify"], "truncated", newest.name)
    newest.write_bytes(contents)
    refuse(command, ["info", "empty", "--verify"], "no-checkpoint", "empty: ", "checkpoints/")
    refuse(command, ["info", "empty"], "no-checkpoint", "empty: ", "checkpoints/")
    refuse(command, ["info", "none.h5"], "no-such-file", "none.h5: ")


def refuse(command, arguments, error_id, *parts, ranks=1):
    """One message, and no run folder."""
    command.must_refuse(arguments, error_id, *parts, ranks=ranks)
    assert not (command.folder / "refused").exists(), f"{arguments} wrote something"


def check_ranks(command):
    """What is right for other ranks than these."""
    train = ["train", "deck.toml", "run.folder=refused"]
    refuse(command, [*train, "data.batch=2"], "wrong-rank-count", "data.batch = 2", "3 ranks", ranks=3)
    for more in ([], ["--check"]):
        refuse(command, [*train, "communication.backend=nccl", *more], "not-in-build", "nccl", "mpi", ranks=2)


def check_damaged_data(command):
    """A NaN and a label out of range that prepare did not see: every rank stops at that batch."""
    for dataset, row, column, value, refusal in (("inputs", 17, 3, numpy.nan, ("not-finite", "row 17, column 3")),
                                                 ("labels", 21, None, 7, ("bad-label", "row 21"))):
        command.must("prepare", "csv", "train.csv", "--label", "class", "--out", "hurt.h5")
        with h5py.File(command.folder / "hurt.h5", "r+") as file:
            file[dataset][(row, column) if column is not None else row] = value
            del file["digests"]  # which would say first that something was changed
        command.must_refuse(["train", "deck.toml", "data.train=hurt.h5", "run.folder=hurt-" + dataset], *refusal, "hurt.h5", ranks=3)


def check_divergence(command):
    result = command.must_refuse(["train", "deck.toml", "run.folder=diverged", "precision.compute=fp16", "optimizer.lr=100",
                                  "optimizer.clip_norm=0", "precision.scaler.max_consecutive_skips=3", "run.epochs=40"],
                                 "diverged", code=4, ranks=2)
    assert len(re.findall(r"diverged at step \d+: .*rank \d, layer \w+, tensor", result.stderr)) == 1, result.stderr


run_cases(prepare, check_use, check_info, check_ranks, check_damaged_data, check_divergence)
