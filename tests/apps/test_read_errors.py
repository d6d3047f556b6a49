"""A read that fails is an error, and never the end of a file or the absence of something in it: each command either says
so, with its exit code, or ends as if nothing had happened.

usage: test_read_errors.py MYLOS FAILING_DISK [--full]
FAILING_DISK: the library of failing_disk.c. A sample of the reads of two commands. --full: every read of every command,
one after another, and all behind it.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import sys
import tempfile
import typing

import h5py
import numpy

import uncertain_data
from rollout_fields import linear_deck, write_linear
from small_problem import DECK, prepare
from support.command import Command
from support.decks import layers
from support.run_folders import datasets, history_without_times, last_checkpoint

BATCH_NORM = DECK.replace("epochs = 3", "steps = 6").replace("every = 9", "every = 3") \
    .replace("lr = 1e-2", "lr = 1e-2\naverage = 0.9").replace('type = "mlp"\nhidden = [32, 16]\ndropout = 0.2\n', "@MODEL@") \
    .replace("@MODEL@", 'type = "chain"\n').replace("[precision]\n", layers(
        'dense name = "one"; outputs = 12; norm = "batchnorm"; activation = "relu"', 'dense name = "two"; outputs = 8; norm = "batchnorm"',
        'dense name = "head"').removeprefix('type = "chain"\n') + "[precision]\n", 1)
# What differs between two runs of the same command: clocks and rates.
CLOCKS = re.compile(r"[-+.e\d]+ (s|ms|min|h|W|J|[kMGT]?i?B/s|[kMGT]?FLOP/s|samples/s|steps/s)\b|\d+-\d+-\d+T?[ \d:Z]*|"
                    r"[-+.e\d]+ (samples|steps|tokens) per second|\b[-+.\de]+ %|\d+ [MKG]iB (of memory|in use)")


def numbers_of(path):
    """All datasets of an HDF5 file apart from clocks; of a checkpoint those that a restart must reproduce."""
    with h5py.File(path) as file:
        if "optimizer" in file:
            return {name: numpy.asarray(value).tobytes() for name, value in datasets(path).items()}
        found = {}
        file.visititems(lambda name, item: found.update({name: numpy.asarray(item[()]).tobytes()}) if hasattr(item, "shape") else None)
        return found


def contents(*names):
    """The results of a command that writes these files."""
    def read(command, result):
        files = {}
        for name in names:
            path = command.folder / name
            files[name] = numbers_of(path) if name.endswith(".h5") else path.read_bytes()
        return files
    return read


def said(command, result):
    """The results of a command that writes to its standard output."""
    return CLOCKS.sub("#", result.stdout)


def nothing(command, result):
    """Of a command whose output has clocks and memory throughout."""
    return None


def newest(run):
    """The results of a run: its last checkpoint and its history."""
    return lambda command, result: (numbers_of(last_checkpoint(command, run)), history_without_times(command, run))


@dataclasses.dataclass
class Case:
    folder: str  # of what the command reads
    arguments: list
    results: typing.Callable


CASES = {
    "train": Case("classes", ["train", "deck.toml", "run.folder=new"], newest("new")),
    "train --restart": Case("classes", ["train", "deck.toml", "run.folder=small", "run.steps=9", "--restart", "latest"], newest("small")),
    "train, initial": Case("classes", ["train", "deck.toml", "run.folder=new", 'run.initial="net.h5"'], newest("new")),
    "convert": Case("classes", ["convert", "net.h5", "net.safetensors"], contents("net.safetensors")),
    "init --from": Case("classes", ["init", "deck.toml", "back.h5", "--from", "tensors.safetensors"], contents("back.h5")),
    "init": Case("classes", ["init", "deck.toml", "start.h5"], contents("start.h5")),
    "export": Case("classes", ["export", "small", "model.h5"], contents("model.h5")),
    "export onnx": Case("classes", ["export", "small", "model.onnx"], contents("model.onnx")),
    "eval": Case("classes", ["eval", "small", "--data", "test.h5"], said),
    "predict": Case("classes", ["predict", "exported.h5", "test.h5", "out.h5"], contents("out.h5")),
    "info": Case("classes", ["info", "net.h5"], said),
    "plan": Case("classes", ["plan", "deck.toml", "memory.times=model"], nothing),
    "data": Case("classes", ["data", "deck.toml"], said),
    "prepare csv": Case("classes", ["prepare", "csv", "train.csv", "--label", "class", "--out", "p.h5"], contents("p.h5")),
    "report": Case("classes", ["report", "small", "--out", "page.html"], nothing),
    "check-precision": Case("classes", ["check-precision", "net.h5"], said),
    "sweep": Case("classes", ["sweep", "deck.toml", "run.steps=3", "optimizer.lr=1e-3,1e-2", "--out", "sweep"],
                  lambda *run: [newest(f"sweep/members/{member:04}")(*run) for member in range(2)]),
    "calibrate": Case("bounds", ["calibrate", "bounds", "--data", "test.h5", "--out", "calibrated.h5"], contents("calibrated.h5")),
    "train arrays": Case("fields", ["train", "linear.toml", "run.folder=new"], newest("new")),
    "eval arrays": Case("fields", ["eval", "linear", "--data", "linear.h5"], said),
    "rollout": Case("fields", ["rollout", "linear", "linear.h5", "--steps", 3, "--truth", "linear.h5", "--out", "r.h5"],
                    contents("r.h5", "r.errors.csv")),
    "predict arrays": Case("fields", ["predict", "linear", "linear.h5", "p.h5"], contents("p.h5")),
}
SAMPLE = {"train --restart": 10, "convert": 6}  # reads of each that fail in an ordinary run


def set_up(program, folder):
    """What the commands read: a folder for each kind of network."""
    for name in ("classes", "bounds", "fields"):
        (folder / name).mkdir()
    classes = Command(program, folder / "classes")
    prepare(classes, BATCH_NORM, samples=120)
    classes.must("train", "deck.toml", "run.folder=small")
    shutil.copy(last_checkpoint(classes, "small"), folder / "classes/net.h5")
    classes.must("export", "small", "exported.h5")
    classes.must("convert", "net.h5", "tensors.safetensors")


def set_up_others(program, folder):
    bounds = Command(program, folder / "bounds")
    for name, samples, seed in (("train.h5", 100, 1), ("test.h5", 60, 2)):
        uncertain_data.write(bounds.folder, name, samples, seed)
    bounds.write("deck.toml", uncertain_data.network("bounds", "mse", epochs=2))
    bounds.must("train", "deck.toml", "run.folder=bounds")
    fields = Command(program, folder / "fields")
    write_linear(fields.folder / "linear.h5")
    with h5py.File(fields.folder / "linear.h5", "a") as file:  # its attributes and scales are read, too
        file["u"].attrs["scale_factor"], file["t"] = 0.5, numpy.arange(file["u"].shape[1], dtype="f8")
        file["t"].make_scale("t")
        file["u"].dims[1].attach_scale(file["t"])
    fields.write("linear.toml", linear_deck())
    fields.must("train", "linear.toml", "run.folder=linear")


class Disk:
    """Runs a case on copies of its folder."""

    def __init__(self, program, library, folder):
        self.program, self.library, self.folder = program, library, folder

    def run(self, case, name, at):
        command = Command(self.program, self.folder / "runs" / name)
        shutil.copytree(self.folder / case.folder, command.folder)
        variables = {"LD_PRELOAD": str(self.library), "FAILING_DISK_KIND": "read", "FAILING_DISK_AT": str(at),
                     "FAILING_DISK_PATH": str(command.folder), "FAILING_DISK_LOG": str(self.folder / f"{name}.log")}
        return command, command.run(*case.arguments, variables=variables, timeout=120)

    def undisturbed(self, case, name):
        """The results, and the paths of the reads."""
        command, result = self.run(case, name, 0)
        assert result.returncode == 0, f"{name}: {result.stdout}\n{result.stderr}"
        results = case.results(command, result)
        shutil.rmtree(command.folder)
        return results, (self.folder / f"{name}.log").read_text(encoding="utf-8").splitlines()

    def judge(self, case, title, number, at, expected, path):
        """Nothing, or what is wrong."""
        name = f"{number}-{at}"
        command, result = self.run(case, name, at)
        what = f"{title}, read {at} ({pathlib.Path(path).name})"
        problem = None
        if result.returncode < 0 or result.returncode >= 128:
            problem = f"{what}: ended by signal, code {result.returncode}\n{result.stderr[-1500:]}"
        elif result.returncode != 0:
            if not re.search(r"^mylos: .*\[[a-z-]+\]$", result.stderr, re.M):
                problem = f"{what}: code {result.returncode} without a message: {result.stderr[-1500:]}"
        elif re.search(r"^member \d+ .*: failed, .*\[[a-z-]+\]$", result.stdout, re.M):
            pass  # a sweep goes on with its other members
        elif case.results(command, result) != expected:
            problem = f"{what}: code 0 with other results\n{result.stdout[-1500:]}\n{result.stderr[-1500:]}"
        shutil.rmtree(command.folder)
        return problem


def chosen(reads, most):
    """Numbers of reads, evenly over all of them."""
    return range(1, reads + 1) if most is None or most >= reads else sorted({1 + i * reads // most for i in range(most)})


def main():
    program, library = map(os.path.abspath, sys.argv[1:3])
    is_full = "--full" in sys.argv
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root)
        (folder / "runs").mkdir()
        set_up(program, folder)
        if is_full:
            set_up_others(program, folder)
        disk = Disk(program, library, folder)
        problems = []
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for number, (title, case) in enumerate(CASES.items()):
                if not is_full and title not in SAMPLE:
                    continue
                expected, paths = disk.undisturbed(case, f"{number}")
                assert paths, f"{title} reads nothing"
                tried = [str(at) for at in chosen(len(paths), None if is_full else SAMPLE[title])]
                if is_full:
                    tried += [f"{at}+" for at in tried]
                found = pool.map(lambda at: disk.judge(case, title, number, at, expected, paths[int(at.rstrip("+")) - 1]), tried)
                found = [problem for problem in found if problem]
                print(f"{title}: {len(paths)} reads, {len(tried)} failures tried, {len(found)} taken for something else", flush=True)
                problems += found
        assert not problems, "\n".join(problems)


if __name__ == "__main__":
    main()
