"""The loss scale of random runs with random overflows, against the rules of docs/explanation/numerics.md: every step's scale, flag and
count of updates, every checkpoint's /scaler with its statistics, over a restart, and the end of runs that diverge.

usage: test_scaler.py MYLOS [--full] [--seed N] [--decks N] [--deck K]

12 decks, 200 with --full. The seed is printed; --seed with --deck repeats one of them, and a deck that fails leaves its
folder behind.
"""
import pathlib
import shutil
import tempfile

import h5py
import numpy

from reference.data import Samples
from reference.deck_loop import results_of
from reference.mlp import Mlp
from reference.overflows import LARGEST, OverflowDeck
from reference.random_decks import deck_text, with_effect
from reference.scaler import Scaler, complete
from support.command import Command
from support.data_files import write_data
from support.refusal import require_refusal

DIVERGED, REQUEUE = 4, 85
NEAR = 0.02  # of the largest number: there the rounding of 16-bit numbers decides


def gradients(deck):
    """For each step the largest number, without the loss scale, that a gradient passes through. Those in half are summed
    over ranks in float and divided before they are rounded; of the other types the sum is as large as float itself."""
    weights = Mlp({"hidden": [], "norm": "none"}, 1, 1).initial_weights(deck.seed)
    samples = Samples(deck.data, deck.seed, deck.inputs, deck.targets)
    found = []
    for step in range(deck.steps):
        inputs, targets = samples.batch(step)
        slope = 2 * (inputs @ weights["head/weight"].T + weights["head/bias"] - targets)
        of_ranks = numpy.concatenate([slope, slope * inputs], axis=1)
        if deck.compute != "fp16":
            of_ranks = numpy.concatenate([of_ranks, of_ranks.cumsum(axis=0)])
        found.append(numpy.abs(of_ranks).max())
    return found


class Expected:
    """The state before each step and after the last, from the overflows that the run had."""

    def __init__(self, deck, rows):
        self.scaler = Scaler(complete(with_effect(deck.sections())["precision.scaler"], deck.compute))
        self.states = [dict(self.scaler.state(), updates=0)]
        self.norm_sums, norms = [0], []
        slopes = gradients(deck)
        for row in rows:
            step, overflow = int(row["step"]), row["overflow"] == "1"
            assert step == len(self.states) and not self.scaler.diverged, f"step {step} behind {len(self.states) - 1}"
            scale = numpy.float32(row["scale"])
            assert scale == self.scaler.scale, f"step {step}: scale {scale!r}, expected {self.scaler.scale!r}"
            full = slopes[step - 1] * float(scale) / LARGEST[deck.compute]
            if abs(full - 1) > NEAR:
                assert overflow == (full > 1), f"step {step}: overflow is {overflow}, the gradient {full:g} of the largest"
            self.scaler.step(overflow)
            updates = self.scaler.steps - self.scaler.overflows
            assert int(row["updates"]) == updates, f"step {step}: {row['updates']} updates, expected {updates}"
            for name, value in self.scaler.row().items():
                assert abs(float(row[name]) - value) <= 1e-5 * value, f"step {step}: {name} {row[name]}, expected {value}"
            self.states.append(dict(self.scaler.state(), updates=updates))
            norms.append(float(row["gradient_norm"]) if not overflow else 0)
            self.norm_sums.append(sum(norms))


def compare_checkpoints(command, expected):
    files = sorted((command.folder / "run" / "checkpoints").glob("step-*.h5"))
    for path in files:
        with h5py.File(path, "r") as file:
            found = {name: file["scaler"][name][()] for name in file["scaler"] if name != "recent_flags"}
            step, found["updates"] = int(file["schedule/step"][()]), file["schedule/updates"][()]
        assert found.pop("applied") == found["updates"], f"{path.name}: not all updates are in the mean norm"
        norm_sum, of_rows = found.pop("gradient_norm_sum"), expected.norm_sums[step]
        assert abs(norm_sum - of_rows) <= 1e-7 * of_rows, f"{path.name}: norms of {norm_sum}, in the rows {of_rows}"
        assert found == expected.states[step], f"{path.name}: {found}, expected {expected.states[step]}"
    return len(files)


def train(command, deck):
    """Exit code and messages of the last start."""
    if deck.stop_after:
        first = command.run("train", "deck.toml", "--stop-after", deck.stop_after, ranks=deck.ranks)
        if first.returncode != REQUEUE:
            return first
    return command.run("train", "deck.toml", *(["--restart", "latest"] if deck.stop_after else []), ranks=deck.ranks)


def compare(command, deck):
    command.write("deck.toml", deck_text(deck.sections()))
    write_data(command.folder / "data.h5", inputs=deck.inputs, targets=deck.targets)
    result = train(command, deck)
    expected = Expected(deck, command.rows("run/history.csv"))
    scaler = expected.scaler
    if scaler.diverged:
        require_refusal(result, "diverged", f"diverged at step {scaler.steps}: {scaler.skipped_in_a_row} steps", code=DIVERGED)
    else:
        assert result.returncode == 0, f"exit code {result.returncode}: {result.stderr}"
        assert scaler.steps == deck.steps, f"{scaler.steps} steps, expected {deck.steps}"
    files = compare_checkpoints(command, expected)
    return numpy.array([scaler.steps, scaler.overflows, scaler.increases, scaler.decreases, scaler.tolerated, files,
                        scaler.diverged])


def check(program, seed, number, full):
    deck = OverflowDeck(seed, number, 2000 if full else 400)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"scaler-{seed}-{number}-"))
    try:
        counts = compare(Command(program, folder), deck)
    except AssertionError as failure:
        print(f"deck {number} (--seed {seed} --deck {number}), {deck.ranks} ranks, stopped after {deck.stop_after}, kept in "
              f"{folder}: {failure}\n{deck_text(deck.sections())}", flush=True)
        return None
    shutil.rmtree(folder)
    return counts


def main():
    sound, count = results_of(check, ordinary=12, full=200)
    assert len(sound) == count, f"{count - len(sound)} of {count} decks differ"
    print("{} decks agree: {} steps, {} overflows, {} increases, {} decreases, {} tolerated, {} checkpoints, {} diverged"
          .format(len(sound), *sum(sound)))


main()
