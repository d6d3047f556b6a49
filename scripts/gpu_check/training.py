"""Runs `mylos train` on small generated data, and reads its files."""

import array
import csv
import random
import re
import time

from .budget import MIN_STEPS, steps_within
from .report import Failure

REQUEUE = 85
WEIGHTS = "weights.safetensors"


class Training:
    def __init__(self, installation, folder, sample):
        self.installation, self.folder = installation, folder
        self.steps = MIN_STEPS
        self.sample = sample
        self.text = self._prepare("text", installation.inputs / "data" / "tinyshakespeare.txt", name="text.h5")
        self.table = self._prepare("csv", self._table(folder / "table.csv"), "--targets", "lift,drag", name="table.h5")

    def _prepare(self, kind, *arguments, name):
        path = self.folder / name
        process = self.installation.run("mylos", "prepare", kind, *arguments, "--out", path)
        if process.returncode != 0:
            raise SystemExit(f"gpu-check: mylos prepare {kind} failed:\n{process.stdout}")
        return path

    @staticmethod
    def _table(path):
        numbers = random.Random(1)
        with path.open("w") as file:
            file.write("angle,speed,height,lift,drag\n")
            for _ in range(2000):
                angle, speed, height = (numbers.uniform(-1, 1) for _ in range(3))
                file.write(f"{angle},{speed},{height},{angle * speed + height},{speed * speed - angle}\n")
        return path

    def random_tokens(self, vocabulary, count):
        """Random tokens for decks without their text; speeds do not depend on the data."""
        raw = self.folder / "tokens.bin"
        words = array.array("H", random.Random(2).randbytes(2 * count))
        raw.write_bytes(array.array("H", (word % vocabulary for word in words)).tobytes())
        return self._prepare("tokens", raw, "--vocabulary", vocabulary, name="tokens.h5")

    def choose_steps(self, runs):
        """Sets the steps of the section's remaining runs, so that they fit its time."""
        if not self.sample:
            self.steps = steps_within(self.installation.budget.left(), runs, *self.time_a_step("gpt_shakespeare_cpu"))

    def time_a_step(self, deck, *overrides):
        """The seconds of a start, with evaluation and checkpoint, and of the fastest step after the first two."""
        steps = 4
        started = time.monotonic()
        run = self.run(deck, f"timed-{deck}-{started}", f"run.steps={steps}", *overrides)
        whole = time.monotonic() - started
        ends = [float(row["elapsed_s"]) for row in self.history(run)]
        step = min(ends[-1] - ends[-2], ends[-2] - ends[-3])
        return max(0.0, whole - steps * step), step

    def deck(self, name):
        return self.installation.inputs / f"{name}.toml"

    def run(self, deck, run, *overrides, ranks=0, expected=0, timeout=300):
        """Trains and returns the run's folder. `deck`: gpt_shakespeare_cpu, surrogate, or any other with its own data."""
        folder = self.folder / run
        data = {"gpt_shakespeare_cpu": self.text, "gpt_shakespeare": self.text, "surrogate": self.table}.get(deck)
        settings = {"run.folder": folder, "data.validation": 0.0, "run.log_every": 1, "run.steps": self.steps}
        settings |= {"data.train": data} if data else {}
        if 'type = "one_cycle"' not in self.deck(deck).read_text(encoding="utf-8"):
            settings["schedule.warmup"] = 0  # few steps are compared; one_cycle has no such key
        given = {override.split("=")[0] for override in overrides}
        settings = [f"{key}={value}" for key, value in settings.items() if key not in given]
        process = self.installation.run("mylos", "train", self.deck(deck), *settings, *overrides, ranks=ranks,
                                        timeout=timeout)
        if process.returncode != expected:
            tail = "\n".join(process.stdout.strip().splitlines()[-4:])
            raise Failure(f"ended with code {process.returncode}, not {expected}:\n{tail}")
        self.output = process.stdout
        return folder

    def weights(self, run):
        """The float weights of a GPT's run, as bytes."""
        path = run / WEIGHTS
        if not path.exists():
            process = self.installation.run("mylos", "convert", run, path)
            if process.returncode != 0:
                raise Failure(f"mylos convert: {process.stdout.strip()}")
        return path.read_bytes()

    @staticmethod
    def history(run):
        with (run / "history.csv").open() as file:
            return list(csv.DictReader(file))

    def losses(self, run):
        return [row["loss"] for row in self.history(run)]

    def peak_memory(self):
        """The planned bytes of the last run, and the peak of its process."""
        row = re.search(r"peak memory per rank +(\S+ \S+) predicted, (\S+ \S+) at most", self.output)
        units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
        return [float(number) * units[unit] for number, unit in (text.split() for text in row.groups())]


def expect_same(what, first, second):
    if first != second:
        raise Failure(f"{what} differ")
