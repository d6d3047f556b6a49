"""Batches of random layouts of arrays, on 1 to 5 ranks, against numpy's: every number, bit for bit in float32.

usage: test_array_layouts.py MYLOS DECK_BATCHES [--full | --only NUMBER ...]     --full: 300 layouts, not some
"""
import collections
import sys

import numpy

from array_samples import Arrays
from random_arrays import RandomArrays, check_layouts
from reference.data import Samples
from support.command import Command
from support.decks import deck_text, layer

SOME, ALL = 10, 300
FIELDS = ("step", "first", "samples", "features", "outputs")


class Layout:
    """One random layout: its files, its deck, the options of its batches, and numpy's samples."""

    def __init__(self, folder, number):
        self.folder, self.number = folder, number
        folder.mkdir()
        self.arrays = arrays = RandomArrays(folder, number, has_gaps=True)
        pick = arrays.pick
        self.inputs, self.targets = Arrays(arrays.section, arrays.axes, arrays.fill, arrays.steps, arrays.sea_axes).samples_of(arrays.train)
        self.ranks = min(1 + number % 5, len(self.inputs))
        held_out = pick(0, 0, 0.2) if len(self.inputs) > 10 and arrays.steps == 1 else 0
        trained = len(self.inputs) - int(held_out * len(self.inputs) + 0.5)
        self.data = {"batch": int(arrays.random.integers(self.ranks, max(self.ranks, min(trained, 14)) + 1)),
                     "validation": held_out, "shuffle": pick("samples", "blocks"), "last_batch": pick("drop", "join")}
        self.samples = Samples(self.data | {"normalize": "none"}, number, self.inputs, self.targets)
        micro_batch = pick(0, 1, 2, 3)
        keys = {"micro_batch": micro_batch} | self.data
        keys |= {"fill": arrays.fill} if arrays.fill is not None else {}
        keys |= {"test": pick("test-*.h5", [path.name for path in arrays.test])} if arrays.test else {}
        train = pick("run-*.h5", "run-0[0-9].h5", ["run-??.h5"], [path.name for path in arrays.train])
        network = dict(model=dict(hidden=[4], loss="mse"))
        if arrays.grid and not arrays.points:
            channels = sum(arrays.channels[name] if "channel" in arrays.axes[name] else 1 for name in arrays.section["targets"])
            network = dict(model=dict(type="chain", loss="mse"), layers=[layer("conv", outputs=channels)])
        (folder / "deck.toml").write_text(deck_text(
            run=dict(peak_flops=None, name="layout", steps=100, seed=number), data=dict(train=train, **keys), data__arrays=arrays.keys(),
            rollout=dict(steps=arrays.steps) if arrays.steps > 1 else None, **network), encoding="utf-8")

    def batches(self, part):
        """The records of all ranks: a dictionary of FIELDS with the numbers, in the order of step and sample."""
        records = []
        for rank in range(self.ranks):
            stored = memoryview((self.folder / f"out.{part}.{rank}").read_bytes())
            while stored:
                record = dict(zip(FIELDS, map(int, numpy.frombuffer(stored, numpy.int64, 5))))
                stored = stored[40:]
                for name, columns in (("inputs", record["features"]), ("targets", record["outputs"])):
                    count = record["samples"] * columns
                    record[name] = numpy.frombuffer(stored, numpy.float32, count).reshape(-1, columns)
                    stored = stored[4 * count:]
                records.append(record)
        return sorted(records, key=lambda record: (record["step"], record["first"]))

    def check(self):
        needed = 2 * self.samples.epoch_length // self.data["batch"] + 1
        micro_batches = self.data["batch"]  # at most so many in a step
        command = Command(sys.argv[2], self.folder)
        command.must("deck.toml", "out", needed * micro_batches, ranks=self.ranks)
        self.check_training()
        if self.data["validation"] > 0:
            self.check_pass("validation", self.inputs[self.samples.count:], self.targets[self.samples.count:])
        if self.arrays.test:
            self.check_pass("test", *Arrays(self.arrays.section, self.arrays.axes, self.arrays.fill, sea_axes=self.arrays.sea_axes).samples_of(self.arrays.test))
        return len(self.inputs)

    def check_training(self):
        steps = collections.defaultdict(list)
        for record in self.batches("train"):
            steps[record["step"]].append(record)
        delivered = []
        for step in range(len(steps)):
            rows = [row for record in steps[step] for row in zip(record["inputs"], record["targets"])]
            places = [place for record in steps[step] for place in range(record["first"], record["first"] + record["samples"])]
            if len(rows) < self.data["batch"]:
                break  # of the last steps the ranks have read parts that differ
            assert places == list(range(self.data["batch"])), f"step {step}: {places}"
            delivered += rows
        assert len(delivered) > self.samples.epoch_length, "less than an epoch"
        if self.data["shuffle"] == "samples":
            for position, row in enumerate(delivered):
                number = self.samples.sample_at(position)
                require_same(row, (self.inputs[number], self.targets[number]), f"position {position}, sample {number}")
            return
        known = collections.Counter(bytes_of(pair) for pair in zip(self.inputs[:self.samples.count], self.targets))
        epoch = collections.Counter(bytes_of(row) for row in delivered[:self.samples.epoch_length])
        assert epoch <= known, f"{sum((epoch - known).values())} samples of an epoch are none of numpy's, or come too often"

    def check_pass(self, part, inputs, targets):
        records = self.batches(part)
        rows = [row for record in records for row in zip(record["inputs"], record["targets"])]
        assert len(rows) == len(inputs), f"{part}: {len(rows)} samples, numpy has {len(inputs)}"
        for number, row in enumerate(rows):
            require_same(row, (inputs[number], targets[number]), f"{part} sample {number}")


def bytes_of(pair):
    return b"".join(numpy.ascontiguousarray(part).tobytes() for part in pair)


def require_same(found, expected, what):
    for name, ours, numpys in zip(("inputs", "targets"), found, expected):
        assert ours.shape == numpys.shape, f"{what}: {ours.shape} {name}, numpy has {numpys.shape}"
        if ours.tobytes() != numpys.tobytes():
            column = numpy.flatnonzero(ours.view(numpy.uint32) != numpys.view(numpy.uint32))[0]
            raise AssertionError(f"{what}: {name} differ, first in column {column}: {ours[column]!r}, numpy has {numpys[column]!r}")


def check(folder, number):
    layout = Layout(folder / f"layout-{number}", number)
    try:
        return layout.check()
    except AssertionError as error:
        deck = (layout.folder / "deck.toml").read_text(encoding="utf-8")
        kinds = {name: (layout.arrays.types[name], layout.arrays.axes[name]) for name in layout.arrays.axes}
        raise AssertionError(f"layout {number} on {layout.ranks} ranks: {error}\n{kinds}\n{deck}") from None


def main():
    samples = check_layouts(check, SOME, ALL)
    print(f"{len(samples)} layouts with {sum(samples)} samples: their batches have numpy's bits")


main()
