#!/usr/bin/env python3
"""Makes the files that a build leaves for later ones to read: data, checkpoints, model files, and the numbers that belong to
them. Files of builds of the past cannot be made again: commit the folder, compressed as it is.

usage: make.py MYLOS FOLDER     FOLDER is named after the day and the commit of the build: 2026-11-27-2afdbf52
"""
import csv
import gzip
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import h5py

# Keys that builds from 2026-11-23 on know.
DECK = """[run]
name = "{name}"
steps = 16
threads = 1
seed = 7
{run}
[data]
train = "{data}.h5"
batch = 8
{part}
[model]
{model}
[precision]
compute = "{compute}"
[optimizer]
type = "adamw"
lr = 1e-2
[checkpoint]
every = 8
keep_last = 0
"""
DECKS = {
    "vectors": {"data": "table", "part": 'normalize = "standard"', "compute": "fp32",
                "model": 'type = "mlp"\nhidden = [6]\nloss = "mse"'},
    "classes": {"data": "labels", "part": 'normalize = "standard"', "compute": "bf16",
                "model": 'type = "mlp"\nhidden = [6]\nnorm = "layernorm"\nloss = "cross_entropy"'},
    "words": {"data": "text", "part": "", "compute": "fp16",
              "model": 'type = "gpt"\nlayers = 1\nheads = 2\nwidth = 8\ncontext = 8'},
}


class Build:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = os.environ | {"OMP_NUM_THREADS": "1"}

    def __call__(self, *words):
        done = subprocess.run([self.program, *map(str, words)], cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, f"{words}\n{done.stdout}"
        return done.stdout


def write_sources(folder):
    """64 rows of three inputs; the targets and the class are functions of them."""
    numbers = random.Random(1)
    with open(folder / "table.csv", "w") as table, open(folder / "labels.csv", "w") as labels:
        table.write("mach,alpha,chord,lift,drag\n")
        labels.write("mach,alpha,chord,kind\n")
        for _ in range(64):
            mach, alpha, chord = (round(numbers.uniform(-1, 1), 3) for _ in range(3))
            table.write(f"{mach},{alpha},{chord},{mach * alpha:.5f},{math.sin(chord):.5f}\n")
            labels.write(f"{mach},{alpha},{chord},{int(mach > 0) + int(alpha > 0)}\n")
    words = ["mill", "stone", "grain", "flour", "water", "wheel"]
    text = " ".join(numbers.choice(words) for _ in range(60))
    (folder / "text.txt").write_text(text + "\n")


def loss_of(printed):
    return float(re.search(r"loss\s+([0-9.eE+-]+)", printed).group(1))


def predicted(mylos, checkpoint, data):
    """As rows of numbers. Builds of the first days write HDF5 whatever the name of the file."""
    mylos("predict", checkpoint, data, "predicted.csv")
    path = mylos.folder / "predicted.csv"
    if h5py.is_hdf5(path):
        with h5py.File(path) as file:
            return [[float(f"{cell:.9g}") for cell in row] for row in file["outputs"][()]]
    with open(path) as rows:
        return [[float(cell) for cell in row] for row in list(csv.reader(rows))[1:]]


def main():
    program, out = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mylos = Build(program, folder)
        write_sources(folder)
        mylos("prepare", "csv", "table.csv", "--targets", "lift,drag", "--out", "table.h5")
        mylos("prepare", "csv", "labels.csv", "--label", "kind", "--out", "labels.h5")
        mylos("prepare", "text", "text.txt", "--out", "text.h5")
        has_model_files = "export" in mylos("--help")
        numbers, kept = {}, ["table.h5", "labels.h5", "text.h5"]
        for name, words in DECKS.items():
            (folder / f"{name}.toml").write_text(DECK.format(name=name, run="", **words))
            mylos("train", f"{name}.toml", f"run.folder={name}")
            shutil.copy(folder / name / "checkpoints/step-0000000008.h5", folder / f"{name}.h5")
            shutil.copy(folder / f"{name}.toml", out)
            with open(folder / name / "history.csv") as rows:
                losses = {row["step"]: float(row["loss"]) for row in csv.DictReader(rows)}
            data = f"{words['data']}.h5"
            numbers[name] = {"losses": losses, "evaluated": loss_of(mylos("eval", f"{name}.h5", "--data", data))}
            kept.append(f"{name}.h5")
            if has_model_files:
                mylos("export", f"{name}.h5", f"{name}-model.h5")
                kept.append(f"{name}-model.h5")
            if name != "words":
                numbers[name]["predicted"] = predicted(mylos, f"{name}.h5", data)
        for file in kept:
            with open(folder / file, "rb") as source, gzip.GzipFile(out / f"{file}.gz", "wb", 9, mtime=0) as target:
                shutil.copyfileobj(source, target)
        (out / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n")


main()
