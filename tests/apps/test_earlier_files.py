"""Files that earlier builds wrote (tests/apps/earlier_files, a folder per build) are read by this one: data, checkpoints, model
files and decks. Evaluations, predictions and the losses after a restart are the numbers that the earlier build stored, up to the
rounding of another processor; a model file predicts the bits of its checkpoint. Checkpoints of versions that are no longer read
are refused by their number; the data and the decks of these builds are read.

usage: test_earlier_files.py MYLOS
"""
import csv
import gzip
import json
import pathlib
import platform
import re
import shutil
import sys
import tempfile

import numpy

from support.command import Command
from support.tables import rows_of

EARLIER = pathlib.Path(__file__).resolve().parent / "earlier_files"
SKIPPED = 77
VERSION = 3  # of the checkpoints that are read
PEAK = "run.peak_flops=1e12"  # measured otherwise, which takes longer than the steps
# Of sums in another order, over 16 steps; 16-bit ones round at other places then.
TOLERANCE = {"fp32": 2e-4, "bf16": 4e-2, "fp16": 1e-2}


def unpack(source, folder):
    for file in source.iterdir():
        if file.suffix == ".gz":
            with gzip.open(file) as packed, open(folder / file.stem, "wb") as target:
                shutil.copyfileobj(packed, target)
        else:
            shutil.copy(file, folder)


def words_of(deck):
    text = deck.read_text()
    return {key: re.search(rf'^{key} = "(.*)"$', text, re.M).group(1) for key in ("train", "compute")}


def require_near(found, wanted, tolerance, what):
    found, wanted = numpy.asarray(found, float), numpy.asarray(wanted, float)
    assert found.shape == wanted.shape, (what, found.shape, wanted.shape)
    distance = numpy.max(numpy.abs(found - wanted)) / max(1.0, float(numpy.max(numpy.abs(wanted))))
    assert distance <= tolerance, f"{what}: {distance}, {tolerance} is expected at most\n{found}\n{wanted}"


def predicted(command, model, data):
    command.must("predict", model, data, "predicted.csv")
    text = command.text("predicted.csv")
    return text, [[float(cell) for cell in row] for row in list(csv.reader(text.splitlines()))[1:]]


def losses_of(folder, first):
    return [float(row["loss"]) for row in rows_of(folder / "history.csv") if int(row["step"]) >= first]


def version_of(checkpoint):
    """As its first line states it."""
    with open(checkpoint, "rb") as file:
        return int(re.fullmatch(rb"mylos-checkpoint (\d+)\n", file.readline()).group(1))


def check_refused(command, name, data):
    """A checkpoint of a version that this build does not read: every command names both versions, none guesses."""
    checkpoint = f"{name}.h5"
    parts = [checkpoint, f"version {version_of(command.folder / checkpoint)}", f"reads {VERSION}"]
    for words in (["info", checkpoint], ["info", "--verify", checkpoint], ["eval", checkpoint, "--data", data],
                  ["predict", checkpoint, data, "predicted.csv"], ["export", checkpoint, "model.h5"],
                  ["train", f"{name}.toml", "--restart", checkpoint, f"run.folder={name}-restarted"]):
        command.must_refuse(words, "unknown-version", *parts)
    assert not (command.folder / "predicted.csv").exists() and not (command.folder / "model.h5").exists()


def check_first_steps(command, name, numbers, tolerance):
    """Of the deck, begun anew on the data as the earlier build prepared them."""
    wanted = list(numbers["losses"].values())[:4]
    command.must("train", f"{name}.toml", f"run.folder={name}-anew", "run.steps=4", PEAK)
    require_near(losses_of(command.folder / f"{name}-anew", 1), wanted, tolerance, f"first steps of {name}")


def check_deck(command, name, numbers):
    """A deck, its data, its checkpoint of step 8 and perhaps its model file."""
    words = words_of(command.folder / f"{name}.toml")
    tolerance, wanted = TOLERANCE[words["compute"]], list(numbers["losses"].values())
    check_first_steps(command, name, numbers, tolerance)
    if version_of(command.folder / f"{name}.h5") != VERSION:
        check_refused(command, name, words["train"])
        return
    models = [file for file in (f"{name}.h5", f"{name}-model.h5") if (command.folder / file).exists()]
    for file in models:
        command.must("info", "--verify", file)
        assert "step 8" in command.must("info", file).stdout.replace("step  ", "step "), file
        said = command.must("eval", file, "--data", words["train"]).stdout
        require_near(float(re.search(r"loss\s+([0-9.eE+-]+)", said).group(1)), numbers["evaluated"], max(tolerance, 1e-3), file)
    if "predicted" in numbers:
        texts = []
        for file in models:
            text, rows = predicted(command, file, words["train"])
            require_near(rows, numbers["predicted"], tolerance, f"predictions of {file}")
            texts.append(text)
        assert len(set(texts)) == 1, f"{models} predict different numbers"
    command.must("train", f"{name}.toml", "--restart", f"{name}.h5", f"run.folder={name}-restarted", PEAK)
    require_near(losses_of(command.folder / f"{name}-restarted", 9), wanted[8:], tolerance, f"restart from {name}.h5")


def main():
    if platform.machine() not in ("x86_64", "AMD64"):
        print("Skipped: the checkpoints are of x86-64, whose GEMM engines other processors lack.")
        return SKIPPED
    builds = sorted(folder for folder in EARLIER.iterdir() if (folder / "numbers.json").exists())
    assert builds, f"no files in {EARLIER}"
    for build in builds:
        with tempfile.TemporaryDirectory() as folder:
            command = Command(sys.argv[1], pathlib.Path(folder))
            unpack(build, command.folder)
            for name, numbers in json.loads((build / "numbers.json").read_text()).items():
                check_deck(command, name, numbers)
            print(f"{build.name}: read")
    return 0


sys.exit(main())
