"""Rollouts and predictions on random layouts of arrays, against numpy: states, errors of the truth, run.metrics = ["rollout2"].

usage: test_array_rollouts.py MYLOS [--full | --only NUMBER ...]     --full: 300 layouts, not some

The networks are one matrix at each point, which numpy applies in float64 to the arrays as they lie in the files.
"""
import sys

import h5py
import numpy

from array_samples import Arrays
from random_arrays import RandomArrays, check_layouts
from support.command import Command
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint

SOME, ALL = 9, 300
COLUMNS = ("relative_l2", "nrmse", "correlation")


def errors(predicted, truth, counts):
    """(relative L2, nRMSE, correlation) of fields [points, channels]: docs/how-to/rollout.md. `counts`: of their numbers."""
    p, t = (numpy.where(counts, values.astype("f8"), 0) for values in (predicted, truth))

    def mean_of(values):
        return (values * counts).sum(0) / counts.sum(0)
    squares = [mean_of(values ** 2) for values in (p, t)]
    centred = [values - mean_of(values) for values in (p, t)]
    spread = [mean_of(values ** 2) for values in centred]
    varies = numpy.all([s > numpy.finfo("f4").eps ** 2 * q for s, q in zip(spread, squares)], axis=0)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        nrmse = numpy.sqrt(mean_of((p - t) ** 2) / squares[1])[squares[1] > 0]
        correlation = (mean_of(centred[0] * centred[1]) / numpy.sqrt(spread[0] * spread[1]))[varies]
        relative = numpy.linalg.norm(p - t) / numpy.linalg.norm(t)
    return relative, mean(nrmse), mean(correlation)


def mean(values):
    return numpy.mean(values) if len(values) else numpy.nan


def require_close(found, expected, tolerance, what):
    found, expected = (numpy.asarray(values, "f8") for values in (found, expected))
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    same = numpy.abs(found - expected) <= tolerance * max(numpy.nanmax(numpy.abs(expected), initial=0), 1e-30)
    assert (same | (numpy.isnan(found) & numpy.isnan(expected))).all(), (what, found, expected)


class PointMatrix:
    """The network of a checkpoint: outputs of inputs [..., channels], in the units of the data."""

    def __init__(self, checkpoint):
        with h5py.File(checkpoint) as file:
            layer, = file["model"].values()
            bias = layer["bias"][:].astype("f8")
            self.weight, self.bias = layer["weight"][:].astype("f8").reshape(len(bias), -1), bias
            self.inputs, self.targets = (self.scaling(file, of, width) for of, width in (("inputs", self.weight.shape[1]), ("targets", len(bias))))

    @staticmethod
    def scaling(file, of, width):
        group = f"data/normalization/{of}"
        return [file[f"{group}/{name}"][:].reshape(-1, width) for name in ("shift", "scale")] if f"{group}/shift" in file else (0.0, 1.0)

    def __call__(self, inputs):
        scaled = (inputs - self.inputs[0]) * self.inputs[1]
        return (scaled @ self.weight.T + self.bias) / self.targets[1] + self.targets[0]


class Layout:
    """One random layout: its files, its deck and numpy's idea of both. Every other one has rollouts."""

    def __init__(self, folder, number, program):
        self.number, self.has_rollouts = number, number % 2 == 0
        folder.mkdir()
        self.command = Command(program, folder)
        self.arrays = arrays = RandomArrays(folder, number + 1000, feeds_back=self.has_rollouts)
        self.section, self.pick = arrays.section, arrays.pick
        self.file = arrays.write("start.h5")
        self.of_windows = Arrays(self.section, arrays.axes, arrays.fill, sea_axes=arrays.sea_axes)
        self.history, self.ahead = self.of_windows.history, self.of_windows.ahead
        self.widths = {name: arrays.channels[name] if "channel" in axes else 1 for name, axes in arrays.axes.items()}
        self.differences = numpy.concatenate([numpy.full(self.widths[name], self.of_windows.is_difference(name)) for name in self.section["targets"]])
        on_grid = bool(arrays.grid) and not arrays.points
        outputs = sum(self.widths[name] for name in self.section["targets"])
        data = {"batch": 1, "normalize": self.pick("none", "channel" if on_grid else "standard")}
        data |= {"fill": arrays.fill} if arrays.fill is not None else {}
        self.is_measured = self.has_rollouts and bool(arrays.test)
        data |= {"test": [path.name for path in arrays.test]} if arrays.test else {}
        network = dict(model=dict(type="chain", loss="mse"), layers=[layer("conv", outputs=outputs)]) if on_grid else \
            dict(model=dict(hidden=[], loss="mse"))
        self.deck = deck_text(
            run=dict(name="layout", steps=1, seed=number, metrics=["rollout2"] if self.is_measured else None),
            data=dict(train=[path.name for path in arrays.train], **data), data__arrays=arrays.keys(), **network,
            precision=dict(compute="fp32"), optimizer=dict(type="sgd", lr=1e-9))
        self.command.write("deck.toml", self.deck)

    def check(self):
        self.command.must("train", "deck.toml", "run.folder=run")
        self.network = PointMatrix(last_checkpoint(self.command, "run"))
        self.check_predictions()
        if self.has_rollouts:
            self.check_rollout()
        if self.is_measured:
            self.check_metric()

    def levels_of(self, path, slices):
        """The arrays of a file as [sample, time, points, channels] in float32, and the constants [points, channels]."""
        arrays = Arrays(self.section | {"slice": slices}, self.arrays.axes, self.arrays.fill, sea_axes=self.arrays.sea_axes)
        with h5py.File(path) as file:
            all_of = {name: values.astype("f4") for name, values in arrays.all_arranged(file).items()}
        all_of = {name: values.reshape(*values.shape[:2], -1, values.shape[-1]).astype("f8") for name, values in all_of.items()}
        return all_of, [all_of[name][0, 0] for name in self.section.get("constants", [])]

    def counts(self, path, slices):
        """Which numbers of a state [points, outputs] stand for something."""
        with h5py.File(path) as file:
            of_windows = Arrays(self.section | {"slice": slices}, self.arrays.axes, self.arrays.fill, sea_axes=self.arrays.sea_axes)
            points = of_windows.all_arranged(file)[self.section["inputs"][0]][0, 0].reshape(-1, self.widths[self.section["inputs"][0]]).shape[0]
            sea = of_windows.arranged(file["/sea"], self.arrays.sea_axes, None)[0, 0].reshape(-1, 1) != 0 if self.arrays.sea is not None else None
        masks = self.section.get("mask", {})
        return numpy.concatenate([numpy.broadcast_to(sea if name in masks else numpy.ones((points, 1), bool), (points, self.widths[name]))
                                  for name in self.section["targets"]], axis=-1)

    def channels_of(self, name):
        """Where an array stands among the channels of a level of the inputs."""
        first = sum(self.widths[other] for other in self.section["inputs"][:self.section["inputs"].index(name)])
        return slice(first, first + self.widths[name])

    def state_of(self, level):
        return numpy.concatenate([level[:, self.channels_of(name)] for name in self.section["targets"]], axis=-1)

    def rollout(self, path, slices, sample, start, steps):
        """States and true states [step, points, outputs], from step 0; a truth behind the file is None."""
        arrays, constants = self.levels_of(path, slices)
        counts = self.counts(path, slices)
        levels = numpy.concatenate([arrays[name][sample] for name in self.section["inputs"]], axis=-1)
        window = list(levels[start:start + self.history])
        newest = start + self.history - 1
        states, truth = [self.state_of(window[-1])], [self.state_of(window[-1])]
        for step in range(1, steps + 1):
            outputs = self.network(numpy.concatenate([*window, *constants], axis=-1))
            place = newest + step * self.ahead
            state = numpy.where(counts, outputs + self.differences * states[-1], 0)
            states.append(state)
            truth.append(self.state_of(levels[place]) if place < len(levels) else None)
            next_level = (levels[place] if place < len(levels) else window[-1]).copy()
            first = 0
            for name in self.section["targets"]:
                next_level[:, self.channels_of(name)] = state[:, first:first + self.widths[name]]
                first += self.widths[name]
            window = [*window[1:], next_level]
        return states, truth

    def fields_of(self, path, members, grid, counts):
        """The predicted arrays of a file as [member, level, points, outputs]; 0 where _FillValue is, which must be what does not count."""
        fields = []
        with h5py.File(path) as file:
            for name in self.section["targets"]:
                axes = list(self.arrays.axes[name])
                values = file[name][()].astype("f8")
                if members > 1 and "sample" not in axes:
                    axes.insert(0, "sample")
                assert values.ndim == len(axes), (name, values.shape, axes)
                order = ["sample", "time", *grid, "channel"]
                values = values.transpose([axes.index(axis) for axis in order if axis in axes])
                values = numpy.expand_dims(values, tuple(place for place, axis in enumerate(order) if axis not in axes))
                fields.append(values.reshape(*values.shape[:2], -1, values.shape[-1]))
        fields = numpy.concatenate(fields, axis=-1)
        is_missing = fields == numpy.float32(9.96921e36)
        assert (is_missing == ~counts).all(), (is_missing, counts)
        return numpy.where(is_missing, 0, fields)

    def check_predictions(self):
        """The network's outputs for every window, as states, in the axes of each array."""
        inputs, targets = self.of_windows.samples_of([self.file])
        width, outputs = self.network.weight.shape[1], len(self.network.bias)
        inputs = inputs.astype("f8").reshape(len(inputs), -1, width)
        expected = self.network(inputs)
        if self.differences.any():
            newest = inputs[..., (self.history - 1) * sum(self.widths[name] for name in self.section["inputs"]):]
            expected += self.differences * numpy.concatenate([newest[..., self.channels_of(name)] for name in self.section["targets"]], axis=-1)
        arrays, _ = self.levels_of(self.file, self.section.get("slice", {}))
        first = arrays[self.section["inputs"][0]]
        members, points = (first.shape[0] if self.arrays.has_sample else 1), first.shape[2]
        self.command.must("predict", "run", "start.h5", "predicted.h5", ranks=self.pick(1, 1, 1, 2))
        counts = self.counts(self.file, self.section.get("slice", {}))
        found = self.fields_of(self.command.folder / "predicted.h5", members, self.of_windows.grid, counts)
        require_close(found, numpy.where(counts, expected.reshape(members, -1, points, outputs), 0), 1e-5, "predictions")

    def check_rollout(self):
        steps, start = self.pick(1, 2, 3), self.pick(0, 1)
        slices = {axis: text for axis, text in self.section.get("slice", {}).items() if axis != "sample"}
        if "time" in slices:
            slices["time"] = "::" + (slices["time"].split(":") + [""])[2]
        arrays, _ = self.levels_of(self.file, slices)
        members = arrays[self.section["inputs"][0]].shape[0]
        self.command.must("rollout", "run", "start.h5", "--steps", steps, "--start", start, "--out", "out.h5", "--truth", "start.h5", ranks=self.pick(1, 1, 2))
        counts = self.counts(self.file, slices)
        found = self.fields_of(self.command.folder / "out.h5", members, self.of_windows.grid, counts)
        rollouts = [self.rollout(self.file, slices, sample, start, steps) for sample in range(members)]
        require_close(found, [states for states, _ in rollouts], 1e-4, "states")
        rows = [{name: float(value) if value else numpy.nan for name, value in row.items()} for row in self.command.rows("out.errors.csv")]
        energies = (found ** 2).sum((-1, -2)) / (counts.sum() / counts.shape[-1])
        for step, row in enumerate(rows, 1):
            known = [sample for sample in range(members) if rollouts[sample][1][step] is not None]
            for prefix, level in (("", step), ("persistence_", 0)):
                of_members = [errors(found[sample, level], rollouts[sample][1][step], counts) for sample in known]
                expected = numpy.mean(of_members, axis=0) if known else [numpy.nan] * 3
                require_close([row[prefix + name] for name in COLUMNS], expected, 1e-6, f"{prefix}errors of step {step}")
            require_close([row["energy"], row["energy_drift"]], [energies[:, step].mean(), (energies[:, step] / energies[:, 0] - 1).mean()], 1e-6, "energies")

    def check_metric(self):
        """Each trajectory of the test data is cut into rollouts of two steps."""
        slices = self.section.get("slice", {})
        of_members = []
        for path in self.arrays.test:
            arrays, _ = self.levels_of(path, slices)
            samples, levels = arrays[self.section["inputs"][0]].shape[:2]
            for sample in range(samples):
                for start in range(0, levels - self.history - 2 * self.ahead + 1, 2 * self.ahead):
                    states, truth = self.rollout(path, slices, sample, start, 2)
                    of_members.append([errors(states[step], truth[step], self.counts(path, slices))[1] for step in (1, 2)])
        found = [float(row["rollout"]) for row in self.command.rows("run/evaluations.csv") if row["part"] == "test"]
        require_close(found[-1:], [numpy.mean(of_members)], 1e-4, "rollout2")


def check(folder, number):
    layout = Layout(folder / f"layout-{number}", number, sys.argv[1])
    try:
        layout.check()
    except AssertionError as error:
        kinds = {name: (layout.arrays.types[name], layout.arrays.axes[name]) for name in layout.arrays.axes}
        raise AssertionError(f"layout {number}: {error}\n{kinds}\n{layout.deck}") from None


def main():
    count = len(check_layouts(check, SOME, ALL))
    print(f"{count} layouts: predictions, rollouts and their errors are numpy's")


main()
