"""Trainings on random layouts of arrays against numpy: the statistics of channels, the first loss, through one to four steps, and the
loss and metrics of test data, with masks, missing numbers, weights, roles, encodings and gaps, on one to three ranks.

usage: test_array_losses.py MYLOS [--full | --only NUMBER ...]     --full: 200 layouts, not some

The networks are one matrix at each point, which numpy applies in float64 to the arrays as they lie in the files.
"""
import re
import sys

import h5py
import numpy

from array_samples import Arrays, python_slice
from random_arrays import RandomArrays, check_layouts
from random_worlds import RandomWorld, encoded
from support.command import Command
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint, losses_of

SOME, ALL = 8, 200
METRICS = ["relative_l2"]


class Layout:
    """One random layout: its files, its deck and numpy's idea of both."""

    def __init__(self, folder, number, program):
        folder.mkdir()
        self.command, self.world = Command(program, folder), RandomWorld(number)
        self.arrays = arrays = RandomArrays(folder, number + 2000, has_gaps=number % 2 == 0, world=self.world)
        self.section, self.steps = arrays.section, arrays.steps
        self.has_grid = bool(arrays.grid)
        self.widths = {name: arrays.channels[name] if "channel" in axes else 1 for name, axes in arrays.axes.items()}
        self.of_windows = Arrays(self.section, arrays.axes, arrays.fill, self.steps, arrays.sea_axes)
        self.history, self.ahead, self.every = self.of_windows.history, self.of_windows.ahead, self.of_windows.every
        self.inputs, self.targets = self.section["inputs"], self.section["targets"]
        self.outputs = sum(self.widths[name] for name in self.targets)
        self.windows = [window for path in arrays.train for window in self.windows_of(path, self.steps)]
        self.ranks = min(self.world.pick(1, 1, 2, 3), len(self.windows))
        network = dict(model=dict(type="chain", loss="mse"), layers=[layer("conv", outputs=self.outputs)]) if self.has_grid else \
            dict(model=dict(hidden=[], loss="mse"))
        data = {"batch": len(self.windows), "normalize": "channel" if self.has_grid else "standard"}
        data |= {"fill": arrays.fill} if arrays.fill is not None else {}
        data |= {"test": [path.name for path in arrays.test]} if arrays.test else {}
        self.deck = deck_text(
            run=dict(name="layout", steps=1, seed=number, metrics=METRICS if arrays.test else None), data=dict(train=[path.name for path in arrays.train], **data),
            data__arrays=arrays.keys(), data__weights=self.world.weights or None, rollout=dict(steps=self.steps) if self.steps > 1 else None,
            **network, precision=dict(compute="fp32"), optimizer=dict(type="sgd", lr=1e-12))
        self.command.write("deck.toml", self.deck)

    def read(self, path):
        """The arrays [sample, time, points, channels] in float32 numbers, the encodings of times [time, channels], the constants with
        the encodings of places [points, channels], and which used levels a gap follows."""
        with h5py.File(path) as file:
            fields = {name: values.astype("f4").astype("f8") for name, values in self.of_windows.all_arranged(file).items()}
            slices = self.section.get("slice", {})
            stated = {axis: file[f"of/{axis}"][()][python_slice(slices.get(axis, ":"))] for axis in (file["of"] if "of" in file else ())}
        grid = next(iter(fields.values())).shape[2:-1]
        fields = {name: values.reshape(*values.shape[:2], -1, values.shape[-1]) for name, values in fields.items()}
        hours = stated.get("time", numpy.zeros(1))
        of_times, of_places = numpy.zeros((len(hours), 0)), [fields[name][0, 0] for name in self.section.get("constants", [])]
        for name in self.section.get("encodings", []):
            if name in ("day_of_year", "hour"):
                of_times = numpy.concatenate([of_times, numpy.stack(encoded(name, hours), axis=-1)], axis=-1)
                continue
            unit = {"latitude": "degrees_north", "longitude": "degrees_east"}[name]
            axis, = (axis for axis, each in self.world.units.items() if each == unit)
            shape = [-1 if each == axis else 1 for each in self.of_windows.grid]
            of_places += [numpy.broadcast_to(wave.reshape(shape), grid).reshape(-1, 1) for wave in encoded(name, stated[axis])]
        distances = numpy.diff(hours)
        gaps = set(numpy.flatnonzero(distances > 1.5 * numpy.median(distances))) if len(distances) else set()
        return fields, of_times, of_places, gaps

    def runs_of(self, path, steps):
        """(sample, first level, end) of the parts of the trajectories without a gap that have a window."""
        fields, _, _, gaps = self.read(path)
        samples, levels = fields[self.inputs[0]].shape[:2]
        ends = sorted(gap + 1 for gap in gaps) + [levels]
        span = self.history + (self.ahead * steps if self.of_windows.has_time else 0)
        for sample in range(samples):
            for first, end in zip([0] + ends, ends):
                if end - first >= span:
                    yield sample, first, end, span

    def windows_of(self, path, steps):
        return [(path, sample, begin) for sample, first, end, span in self.runs_of(path, steps) for begin in range(first, end - span + 1, self.every)]

    def is_difference(self, name):
        return self.of_windows.is_difference(name)

    def scaling(self, file, of, width):
        group = f"data/normalization/{of}"
        return [file[f"{group}/{name}"][:].astype("f8").reshape(-1, width) for name in ("shift", "scale")]

    def load(self, run):
        with h5py.File(last_checkpoint(self.command, run)) as file:
            one, = file["model"].values()
            self.bias = one["bias"][:].astype("f8")
            self.weight = one["weight"][:].astype("f8").reshape(self.outputs if self.has_grid else len(self.bias), -1)
            self.of_inputs = self.scaling(file, "inputs", self.weight.shape[1])
            self.of_targets = self.scaling(file, "targets", len(self.bias))

    def network(self, inputs):
        """Outputs in the units of the network of [points, channels] in those of the data; an input that is missing is its mean."""
        scaled = numpy.nan_to_num((inputs - self.of_inputs[0]) * self.of_inputs[1], nan=0.0)
        return scaled @ self.weight.T + self.bias

    def trajectory(self, window, steps):
        """(outputs, targets) [points, outputs] of each step, in the units of the network."""
        path, sample, begin = window
        fields, of_times, constants, _ = self.contents[path]
        levels = [numpy.concatenate([fields[name][sample, place] for name in self.inputs], axis=-1)
                  for place in range(begin, begin + self.history)]
        newest, results = begin + self.history - 1, []
        places = list(range(begin, begin + self.history))
        for step in range(1, steps + 1):
            points = len(levels[0])
            times = [numpy.broadcast_to(of_times[place], (points, of_times.shape[1])) for place in places]
            inputs = numpy.concatenate([part for pair in zip(levels, times) for part in pair] + constants, axis=-1)
            outputs = self.network(inputs)
            there = newest + step * self.ahead if self.of_windows.has_time else 0
            before = newest + (step - 1) * self.ahead
            truth = numpy.concatenate([fields[name][sample, there] - (fields[name][sample, before] if self.is_difference(name) else 0)
                                       for name in self.targets], axis=-1)
            results.append((outputs, (truth.astype("f4") - self.of_targets[0]) * self.of_targets[1]))
            if step == steps:
                break
            physical = outputs / self.of_targets[1] + self.of_targets[0]
            level = numpy.concatenate([fields[name][sample, there] for name in self.inputs], axis=-1)
            for name in self.targets:
                if name in self.inputs:
                    own, given = self.channels_of(name, self.inputs), self.channels_of(name, self.targets)
                    state = physical[:, given] + (self.known(levels[-1], own) if self.is_difference(name) else 0)
                    level[:, own] = numpy.where(self.counts[:, given], state, 0)
            levels, places = [*levels[1:], level], [*places[1:], there]
        return results

    def known(self, level, own):
        """Channels of a level, where its mean stands for an input that is missing: means are the same for all levels of a window."""
        means = numpy.broadcast_to(self.of_inputs[0], (len(level), self.of_inputs[0].shape[1]))[:, own]
        return numpy.where(numpy.isnan(level[:, own]), means, level[:, own])

    def channels_of(self, name, names):
        first = sum(self.widths[other] for other in names[:names.index(name)])
        return slice(first, first + self.widths[name])

    def count_numbers(self, path):
        """Which targets [points, outputs] a mask lets count, and their weights, whose mean is 1."""
        points = next(iter(self.contents[path][0].values())).shape[2]
        masks = self.section.get("mask", {})
        parts = []
        with h5py.File(path) as file:
            for name in self.targets:
                counts = numpy.ones((points, self.widths[name]), bool)
                if masks.get(name) == "/sea":
                    counts &= self.of_windows.arranged(file["/sea"], self.arrays.sea_axes, None).reshape(-1, 1) != 0
                if masks.get(name) == "fill":
                    values = self.of_windows.arranged(file[name], self.arrays.axes[name], numpy.nan)
                    counts &= ~numpy.isnan(numpy.broadcast_to(values, values.shape)[0, 0].reshape(points, -1))
                parts.append(counts)
        self.counts = numpy.concatenate(parts, axis=-1)
        weights = numpy.ones((points, self.outputs))
        if self.world.area is not None:
            weights = weights * self.world.area.reshape(-1, 1)
        if self.world.weights.get("latitude"):
            axis, = (axis for axis, unit in self.world.units.items() if unit == "degrees_north")
            degrees = self.world.places[axis][python_slice(self.section.get("slice", {}).get(axis, ":"))]
            shape = [-1 if each == axis else 1 for each in self.of_windows.grid]
            grid = [len(range(self.arrays.extents[each])[python_slice(self.section.get("slice", {}).get(each, ":"))]) for each in self.of_windows.grid]
            weights = weights * numpy.broadcast_to(numpy.cos(numpy.radians(degrees)).reshape(shape), grid).reshape(-1, 1)
        for name, weight in self.world.weights.get("variables", {}).items():
            weights[:, self.channels_of(name, self.targets)] *= weight
        weights = weights * self.counts
        self.weights = weights / weights.mean()

    def check(self):
        self.command.must("train", "deck.toml", "run.folder=run", ranks=self.ranks)
        self.load("run")
        self.contents = {path: self.read(path) for path in [*self.arrays.train, *self.arrays.test]}
        self.count_numbers(self.arrays.train[0])
        self.check_statistics()
        losses = [self.loss(self.trajectory(window, self.steps)) for window in self.windows]
        require_close(losses_of(self.command, "run")[:1], [numpy.mean(losses)], 1e-6, "loss")
        if self.arrays.test:
            self.check_metrics()

    def loss(self, steps):
        squares = [(numpy.nan_to_num(outputs - targets, nan=0.0) ** 2 * self.weights).mean() for outputs, targets in steps]
        return numpy.mean(squares)

    def check_statistics(self):
        """Each level that a window of one step reads counts once, as do the differences from those that a step begins with."""
        levels, changes = {name: [] for name in self.inputs + self.targets}, {name: [] for name in self.targets}
        for path in self.arrays.train:
            fields = self.contents[path][0]
            for sample, first, end, span in self.runs_of(path, 1):
                last = first + (end - first - span) // self.every * self.every
                for name in levels:
                    levels[name].append(fields[name][sample, first:last + span])
                for name in filter(self.is_difference, self.targets):
                    from_level, end_level = first + self.history - 1, last + self.history
                    changes[name].append(fields[name][sample, from_level + self.ahead:end_level + self.ahead] - fields[name][sample, from_level:end_level])
        places = {name: self.channels_of(name, self.targets) for name in self.targets}
        for name in self.targets:
            values = numpy.concatenate(changes[name] if self.is_difference(name) else levels[name])
            counts = numpy.broadcast_to(self.counts[:, places[name]], values.shape) & ~numpy.isnan(values)
            means = numpy.array([values[..., c][counts[..., c]].mean() for c in range(values.shape[-1])])
            spreads = numpy.array([values[..., c][counts[..., c]].std() for c in range(values.shape[-1])])
            shown = self.counts[:, places[name]].argmax(0), numpy.arange(self.widths[name])
            shift, scale = (numpy.broadcast_to(part, self.counts.shape)[:, places[name]][shown] for part in self.of_targets)
            size = numpy.abs(values[counts]).max(initial=1e-30)
            require_close([*shift / size, 1], [*means / size, 1], 1e-6, f"mean of {name}")
            varies = spreads > 1e-6 * size
            require_close(scale[varies] * spreads[varies], numpy.ones(varies.sum()), 1e-5, f"deviation of {name}")

    def check_metrics(self):
        """Of one step; relative_l2 in the units of the data."""
        windows = [window for path in self.arrays.test for window in self.windows_of(path, 1)]
        pairs = [self.trajectory(window, 1) for window in windows]
        row = [row for row in self.command.rows("run/evaluations.csv") if row["part"] == "test"][-1]
        require_close([float(row["loss"])], [numpy.mean([self.loss(pair) for pair in pairs])], 1e-6, "test loss")
        relative = []
        for (outputs, targets), in pairs:
            error, truth = (numpy.nan_to_num(part / self.of_targets[1], nan=0.0) for part in (outputs - targets, targets))
            known = self.weights * ~numpy.isnan(targets)
            truth = numpy.nan_to_num(truth + self.of_targets[0])
            total = (known * truth ** 2).sum()
            relative.append(numpy.sqrt((known * error ** 2).sum() / (total if total > 0 else 1)))
        rounding = 1e-7 * max(relative)  # of a truth that is small beside its errors
        require_close([float(row["relative_l2"])], [numpy.mean(relative)], 1e-6 + rounding, "relative_l2")
        errors = numpy.stack([(outputs - targets) / self.of_targets[1] for (outputs, targets), in pairs])
        weights = self.weights * ~numpy.isnan(errors)
        printed = self.command.must("eval", "run", "--split", "test", "--variables").stdout
        found = [[float(number) for number in line] for line in re.findall(r"^errors of .*: RMSE (\S+), MAE (\S+), bias (\S+)$", printed, re.M)]
        expected = [[(weights * part).sum((0, 1)) / weights.sum((0, 1)) for part in (numpy.nan_to_num(errors) ** 2, abs(numpy.nan_to_num(errors)), numpy.nan_to_num(errors))]]
        rmse, mae, bias = expected[0]
        size = numpy.sqrt(rmse)[:, None]
        require_close(numpy.array(found) / size, numpy.stack([numpy.sqrt(rmse), mae, bias], axis=-1) / size, 1e-6, "errors of variables")


def require_close(found, expected, tolerance, what):
    found, expected = (numpy.asarray(values, "f8") for values in (found, expected))
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    same = numpy.abs(found - expected) <= tolerance * max(numpy.nanmax(numpy.abs(expected), initial=0), 1e-30)
    assert (same | (numpy.isnan(found) & numpy.isnan(expected))).all(), (what, found, expected)


def check(folder, number):
    layout = Layout(folder / f"layout-{number}", number, sys.argv[1])
    try:
        layout.check()
    except AssertionError as error:
        kinds = {name: (layout.arrays.types[name], layout.arrays.axes[name]) for name in layout.arrays.axes}
        raise AssertionError(f"layout {number} on {layout.ranks} ranks: {error}\n{kinds}\n{layout.deck}") from None


def main():
    count = len(check_layouts(check, SOME, ALL))
    print(f"{count} layouts: statistics, losses and metrics are numpy's")


main()
