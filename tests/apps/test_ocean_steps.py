"""The first steps of the tutorial's ocean by hand: its losses, its evaluation and its rollout in NumPy and double, from the deck on the
page, the files and the weights of the checkpoints: standardisation, masks, areas, edges and the network.

usage: test_ocean_steps.py MYLOS REPOSITORY
"""
import re
import subprocess
import sys
import tomllib

import h5py
import numpy

from chain_oracle import Network
from support.cases import run_cases
from support.run_folders import losses_of, weights_of

ROWS, COLUMNS, LEVELS, STEPS, ROLLED = 8, 12, 9, 3, 2


def set_up(command, repository):
    page = (repository / "docs/tutorials/ocean.md").read_text(encoding="utf-8")
    command.write("ocean.toml", re.search(r"```toml\n(.*?)```", page, re.S).group(1))
    for folder, files, first in (("train", 2, 0), ("test", 1, 10)):
        subprocess.run([sys.executable, repository / "inputs/data/masked_ocean.py", "--files", str(files), "--first", str(first), "--levels",
                        str(LEVELS), "--rows", str(ROWS), "--columns", str(COLUMNS), "--out", command.folder / folder], check=True)
    words = ["ocean.toml", "precision.compute=fp32", f"run.epochs={STEPS}", "run.evaluate_every=0", f"run.metrics=['rollout{ROLLED}']",
             "run.peak_flops=1e12", "schedule.warmup=0", f"checkpoint.keep_best=test.rollout{ROLLED}", "checkpoint.every=1", "checkpoint.keep_last=0"]
    command.must("init", words[0], "first.h5", *words[1:])
    command.must("train", *words)


def levels_of(path):
    """The inputs [level, y, x, channel], where the sea is, and the cosine of the latitude."""
    with h5py.File(path) as file:
        sea = file["sea"][:].astype(bool)
        fields = [numpy.where(sea, file[name][:], 0) for name in ("sst", "u", "v")]
        everywhere = numpy.ones_like(fields[0])
        channels = [*fields, file["season"][:][:, None, None] * everywhere, sea * everywhere]
        return numpy.stack(channels, axis=-1).astype("f8"), sea, numpy.cos(numpy.radians(file["lat"][:].astype("f8")))


class Ocean:
    """The network of the page, its data as it reads them, and the weights of its loss."""

    def __init__(self, command):
        layers = tomllib.loads(command.text("runs/ocean/resolved.toml"))["model"]["layers"]
        self.network = Network([ROWS, COLUMNS, 5], ROWS * COLUMNS * 5)
        for number, layer in enumerate(layers, start=1):
            self.network.add(layer, number)
        self.network.finish()
        years = [levels_of(path) for path in sorted((command.folder / "train").glob("*.h5"))]
        self.sea, cosine = years[0][1:]
        area = self.sea * cosine[:, None]
        self.area = area / area.mean()
        levels = numpy.concatenate([year for year, _, _ in years])
        counted = [levels[:, self.sea, channel] if channel < 3 else levels[..., channel] for channel in range(5)]
        self.shift, self.scale = numpy.array([(values.mean(), values.std()) for values in counted]).T
        changes = numpy.concatenate([numpy.diff(year[..., 0], axis=0) for year, _, _ in years])[:, self.sea]
        self.change, self.size = changes.mean(), changes.std()
        self.years = [year for year, _, _ in years]

    def outputs(self, weights, levels):
        """Of the network, in the units of training [sample, y, x]."""
        inputs = (levels - self.shift) / self.scale
        inputs[:, ~self.sea, :3] = 0
        return self.network.outputs(weights, inputs.reshape(len(inputs), -1), [ROWS, COLUMNS, 5])[0].reshape(-1, ROWS, COLUMNS)

    def loss(self, weights, years):
        losses = []
        for year in years:
            truth = (numpy.diff(year[..., 0], axis=0) - self.change) / self.size
            losses.append(((self.outputs(weights, year[:-1]) - truth) ** 2 * self.area).mean((1, 2)))
        return numpy.mean(losses)

    def rollout(self, weights, year):
        """The mean nRMSE of consecutive rollouts."""
        errors = []
        for first in range(0, LEVELS - ROLLED, ROLLED):
            state = year[first:first + 1].copy()
            for step in range(1, ROLLED + 1):
                change = numpy.where(self.sea, self.outputs(weights, state) * self.size + self.change, 0)
                sst = state[..., 0] + change
                state = year[first + step:first + step + 1].copy()
                truth, state[..., 0] = state[..., 0].copy(), sst
                errors.append(numpy.sqrt(((sst - truth) ** 2 * self.area).sum() / (truth ** 2 * self.area).sum()))
        return numpy.mean(errors)


def weights_after(command, step):
    path = command.folder / (f"runs/ocean/checkpoints/step-{step:010d}.h5" if step else "first.h5")
    return {name: values.astype("f8") for name, values in weights_of(path, ["model"]).items()}


def check_losses(command):
    """Each step reads all windows of the two years."""
    ocean = Ocean(command)
    found = losses_of(command, "runs/ocean")
    expected = [ocean.loss(weights_after(command, step), ocean.years) for step in range(STEPS)]
    assert len(found) == STEPS and numpy.allclose(found, expected, rtol=1e-5), (found, expected)
    assert abs(expected[0] - expected[-1]) > 1e-3  # the steps moved the weights


def check_evaluation(command):
    ocean, weights = Ocean(command), weights_after(command, STEPS)
    year = levels_of(next((command.folder / "test").glob("*.h5")))[0]
    row = [row for row in command.rows("runs/ocean/evaluations.csv") if row["step"] == str(STEPS)][-1]
    for name, expected in (("loss", ocean.loss(weights, [year])), ("rollout", ocean.rollout(weights, year))):
        assert numpy.isclose(float(row[name]), expected, rtol=1e-5), (name, row, expected)


run_cases(set_up, check_losses, check_evaluation, arguments=["repository"])
