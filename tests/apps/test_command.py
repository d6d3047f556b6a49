"""The command as a user meets it: train, eval, predict, info, and what it says of bad input.

usage: test_command.py MYLOS
"""
import re
import sys
import tempfile

import h5py
import numpy

from small_problem import DECK, Command, prepare


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


def refuse(command, arguments, message, ranks=1):
    """Exit code 2, the message once, and no run folder."""
    result = command.run(*arguments, ranks=ranks)
    text = result.stderr
    assert result.returncode == 2, f"{arguments}: {result.returncode}\n{result.stdout}\n{text}"
    assert len(re.findall(message, text)) == 1, f"{arguments}: expected once /{message}/ in\n{text}"
    assert not (command.folder / "refused").exists(), f"{arguments} wrote something"


def check_bad_input(command):
    train = ["train", "deck.toml", "run.folder=refused"]
    (command.folder / "typo.toml").write_text(DECK.replace("dropout", "dropuot"), encoding="utf-8")
    refuse(command, ["train", "typo.toml", "run.folder=refused"], r"typo\.toml:\d+: .*model\.dropuot.*model\.dropout")
    (command.folder / "type.toml").write_text(DECK.replace("batch = 48", 'batch = "many"'), encoding="utf-8")
    refuse(command, ["train", "type.toml", "run.folder=refused"], r"type\.toml:\d+: .*data\.batch")
    refuse(command, [*train, "optimizer.lr=-1"], r"command line: .*optimizer\.lr")
    refuse(command, [*train, "data.batch=0"], r"command line: .*data\.batch")
    refuse(command, ["train", "missing.toml"], r"missing\.toml")
    refuse(command, [*train, "data.train=nothing.h5"], r"nothing\.h5")
    refuse(command, [*train, "data.train=deck.toml"], r"deck\.toml.*HDF5")
    refuse(command, [*train, "data.batch=600"], r"600.*500")
    refuse(command, [*train, "data.batch=2"], r"data\.batch = 2.*3 ranks", ranks=3)
    refuse(command, [*train, "model.loss=mse"], r"train\.h5.*cross_entropy")
    refuse(command, [*train, "model.inputs=9"], r"train\.h5: 8 .*model\.inputs")
    refuse(command, [*train, "--restart", "latest"], r"refused")
    refuse(command, [*train, "precision.rules.hidden3=fp32"], r"hidden3.*hidden1 \(linear\), hidden2")
    refuse(command, [*train, "schedule.warmup=100"], r"schedule\.warmup is 100, more than the 3\d steps")
    refuse(command, [*train, "communication.backend=nccl"], r"nccl.*mpi", ranks=2)
    refuse(command, ["train", "deck.toml"], r"runs/small.*--restart")
    restart = ["train", "deck.toml", "--restart", "latest"]
    refuse(command, [*restart, "model.hidden=[32, 8]"], r"/model/hidden2/weight .*\[16, 32\].*\[8, 32\]")
    refuse(command, [*restart, "run.seed=2"], r"run\.seed")
    refuse(command, [*restart, "data.train=test.h5", "data.batch=48"], r"other data")
    refuse(command, ["train"], r"deck")
    refuse(command, ["prepare", "csv", "train.csv", "--out", "x.h5"], r"--targets")


def check_damaged_data(command):
    """A NaN and a label out of range that prepare did not see: every rank stops at that batch."""
    for dataset, row, column, value, message in (("inputs", 17, 3, numpy.nan, r"row 17, column 3"),
                                                 ("labels", 21, None, 7, r"row 21")):
        command.must("prepare", "csv", "train.csv", "--label", "class", "--out", "hurt.h5")
        with h5py.File(command.folder / "hurt.h5", "r+") as file:
            file[dataset][(row, column) if column is not None else row] = value
        result = command.run("train", "deck.toml", "data.train=hurt.h5", "run.folder=hurt-" + dataset, ranks=3)
        assert result.returncode == 2, f"{result.returncode}\n{result.stdout}\n{result.stderr}"
        assert len(re.findall(r"hurt\.h5.*" + message, result.stderr)) == 1, result.stderr


def check_divergence(command):
    result = command.run("train", "deck.toml", "run.folder=diverged", "precision.compute=fp16", "optimizer.lr=100",
                         "optimizer.clip_norm=0", "precision.scaler.max_consecutive_skips=3", "run.epochs=40", ranks=2)
    assert result.returncode == 4, f"{result.returncode}\n{result.stdout}\n{result.stderr}"
    assert len(re.findall(r"diverged at step \d+: .*rank \d, layer \w+, tensor", result.stderr)) == 1, result.stderr


with tempfile.TemporaryDirectory() as directory:
    mylos = Command(sys.argv[1], directory)
    prepare(mylos)
    for check in (check_use, check_bad_input, check_damaged_data, check_divergence):
        check(mylos)
        print(check.__name__, "passed")
