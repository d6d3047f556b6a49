"""Mistakes in [data.arrays] and damaged files: refused with one message that names what is wrong, or right.

usage: test_array_faults.py MYLOS DECK_BATCHES [--full | --only NUMBER ...]     --full: 300 of them, not one of each kind
"""
import concurrent.futures
import pathlib
import sys
import tempfile

import h5py
import numpy

import array_file_faults  # its faults are among FAULTS
from array_faults import FAULTS
from array_samples import Arrays
from support.cases import chosen_numbers
from support.command import Command
from support.decks import deck_text, layer, lines_of
from support.refusal import ids_of

ALL = 300


class Case:
    """Two files and a section that reads them, to which one fault is done."""

    def __init__(self, folder, number):
        self.folder, self.random = folder, numpy.random.default_rng([45, number])
        folder.mkdir()
        self.shape = (12, 5, 4)
        self.chosen = int(self.random.integers(2))
        self.section = {"inputs": ["/u", "/v"], "targets": ["/u", "/v"], "axes": "time y x", "constants": ["/mask"]}
        self.train, self.extra, self.rollout = "run-*.h5", "", 1
        for i in range(2):
            with h5py.File(folder / f"run-{i}.h5", "w", libver=self.pick("earliest", "latest")) as file:
                for name in ("u", "v"):
                    file.create_dataset(name, data=self.random.standard_normal(self.shape), chunks=self.pick(None, (2, 5, 4)))
                file["mask"] = numpy.arange(20.0).reshape(5, 4)

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def path(self):
        return self.folder / self.file_name()

    def file_name(self):
        return f"run-{self.chosen}.h5"

    def write_deck(self):
        (self.folder / "deck.toml").write_text(deck_text(
            run=dict(peak_flops=None, name="fault", steps=10), data=dict(train=self.train, batch=2, shuffle="blocks"),
            data__arrays=lines_of(self.section) + self.extra, rollout=dict(steps=self.rollout) if self.rollout > 1 else None,
            model=dict(type="chain", loss="mse"), layers=[layer("conv", outputs=len(self.section.get("targets", [1])))]), encoding="utf-8")

    def samples(self):
        """numpy's, of the files as they are now."""
        axes = {name: self.section["axes"].split() for name in ("/u", "/v")} | {"/mask": self.section["axes"].split()[-2:]}
        return Arrays(self.section, axes).samples_of(sorted(self.folder.glob("run-*.h5")))


def require_right(case, program):
    """Of a deck that was not refused: every sample is one of numpy's, and each of those comes."""
    inputs, targets = case.samples()
    Command(program, case.folder).must("deck.toml", "out", len(inputs) // 2)
    stored = (case.folder / "out.train.0").read_bytes()
    found, row = set(), 8 * 5 + 2 * 4 * (inputs.shape[1] + targets.shape[1])
    assert len(stored) == len(inputs) // 2 * row, f"{len(stored)} bytes, expected {len(inputs) // 2} batches of {row}"
    for first in range(0, len(stored), row):
        numbers = numpy.frombuffer(stored[first + 40:first + row], numpy.float32)
        ins, outs = numbers[:2 * inputs.shape[1]].reshape(2, -1), numbers[2 * inputs.shape[1]:].reshape(2, -1)
        found |= {x.tobytes() + y.tobytes() for x, y in zip(ins, outs)}
    known = {x.tobytes() + y.tobytes() for x, y in zip(inputs, targets)}
    assert found <= known and len(found) >= len(known) // 2 * 2, f"{len(found - known)} of {len(found)} samples are none of numpy's"


def check(folder, number, mylos, program):
    case = Case(folder / f"fault-{number}", number)
    function = FAULTS[number % len(FAULTS)]
    words = function(case)
    case.write_deck()
    before = sorted(case.folder.iterdir())
    result = Command(mylos, case.folder).run("data", "deck.toml", timeout=120)
    said = f"{function.__name__} ({number}): exit code {result.returncode}\n{result.stdout}\n{result.stderr}\n{(case.folder / 'deck.toml').read_text()}"
    if result.returncode == 0:
        assert words is None, f"not refused: {said}"
        require_right(case, program)
        return "right"
    ids = ids_of(result.stderr)
    assert result.returncode == 2 and len(ids) == 1 and ids[0] != "internal", said
    assert len(result.stderr.splitlines()) == 1, f"not one message: {said}"
    for word in words or []:
        assert word in result.stderr, f"does not name {word}: {said}"
    assert sorted(case.folder.iterdir()) == before, f"wrote something: {said}"
    return "refused"


def main():
    numbers = chosen_numbers(range(len(FAULTS)), range(ALL))
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(check, pathlib.Path(scratch), number, *sys.argv[1:3]) for number in numbers]
        failures = [end.exception() for end in ends if end.exception() is not None]
        for failure in failures:
            print(f"FAILED {type(failure).__name__}: {failure}\n", file=sys.stderr)
        if failures:
            sys.exit(f"{len(failures)} of {len(ends)} failed")
        counts = [end.result() for end in ends]
    print(f"{counts.count('refused')} faults refused, {counts.count('right')} harmless ones read as numpy does")


main()
