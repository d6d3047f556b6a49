"""Runs `mylos train` on small generated data, and reads its files."""

import random
import re
import time

from harness import runs
from harness.budget import MIN_STEPS, steps_within
from harness.programs import last_lines

from .report import Failure

REQUEUE = 85
WEIGHTS = "weights.safetensors"


class Training:
    def __init__(self, installation, folder, sample):
        self.installation, self.folder = installation, folder
        self.steps = MIN_STEPS
        self.sample = sample
        self.text = self.prepare("text", installation.inputs / "data" / "tinyshakespeare.txt", name="text.h5")
        self.table = self.prepare("csv", self._table(folder / "table.csv"), "--targets", "lift,drag", name="table.h5")

    def prepare(self, kind, *arguments, name):
        """The file of data that `mylos prepare` makes. Raises Failure if it cannot."""
        path = self.folder / name
        self.installation.output_of("mylos", "prepare", kind, *arguments, "--out", path)
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
        runs.write_random_tokens(raw, vocabulary, count)
        return self.prepare("tokens", raw, "--vocabulary", vocabulary, name="tokens.h5")

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
        ends = self.numbers(run, "elapsed_s")
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
            raise Failure(f"ended with code {process.returncode}, not {expected}:\n{last_lines(process.stdout, 4)}")
        self.output = process.stdout
        return folder

    def weights(self, run):
        """The float weights of a GPT's run, as bytes."""
        path = run / WEIGHTS
        if not path.exists():
            self.installation.output_of("mylos", "convert", run, path)
        return path.read_bytes()

    @staticmethod
    def losses(run):
        """The texts of the file: equal losses are equal bit for bit."""
        return [row["loss"] for row in runs.rows_of(run)]

    @staticmethod
    def numbers(run, column):
        """A column of history.csv."""
        return [float(row[column]) for row in runs.rows_of(run)]

    @staticmethod
    def samples_per_s(run):
        if not runs.rows_of(run):
            raise Failure("history.csv has no steps")
        return runs.samples_per_s(run)

    def peak_memory(self):
        """The planned bytes of the last run, and the peak of its process."""
        row = re.search(r"peak memory per rank +(\S+ \S+) predicted, (\S+ \S+) at most", self.output)
        units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
        return [float(number) * units[unit] for number, unit in (text.split() for text in row.groups())]


def expect_same(what, first, second):
    if first != second:
        raise Failure(f"{what} differ")
