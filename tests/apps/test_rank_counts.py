"""A run goes on at another number of ranks: the same samples in the same order, the same losses within rounding.

usage: test_rank_counts.py MYLOS [--full]

The mask of dropout belongs to a sample's place in the batch. So a loss changes with the set of samples in a batch and
with their order, and two runs with the same losses took the same samples in the same order; the test proves it by
swapping two samples. What rounding may do: losses and gradients are means over the batch, added up in another order on
another number of ranks. A sum of n terms in another order differs by at most (n - 1) 2^-24 of the sum of their
magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), per step. With lr |g|^2 far below the loss
a weight's error reaches later losses less than once each, so the bound grows with the steps.
"""
import shutil
import zlib

import h5py

from small_problem import DECK, prepare
from support.cases import run_cases

BATCH, STEPS, SWITCH = 48, 18, 7  # SWITCH is in mid-epoch: an epoch has 3 batches
SAMPLES = 3 * BATCH
SETTINGS = ["precision.compute=fp32", "optimizer.type=sgd", "optimizer.lr=0.01", f"run.steps={STEPS}",
            "schedule.warmup=0", "run.log_every=1"]
SAMPLE = [(1, 3), (2, 1), (2, 4), (3, 2), (4, 1)]
VISIBLE = 100  # a swap must move a loss by this many bounds


def bound(loss, step):
    return step * (BATCH - 1) * 2.0 ** -24 * loss


def losses(command, folder):
    lines = command.text(f"{folder}/history.csv").splitlines()[1:]
    assert [int(line.split(",")[0]) for line in lines] == list(range(1, STEPS + 1)), lines
    return [float(line.split(",")[2]) for line in lines]


def excess(reference, other):
    """For each step how many bounds the losses are apart."""
    return [abs(a - b) / bound(a, step) for step, (a, b) in enumerate(zip(reference, other), 1)]


def losses_with_rows(command, folder, change):
    """Of a run of one rank on a copy of the data of which the rows were changed."""
    shutil.copy(command.folder / "train.h5", command.folder / f"{folder}.h5")
    with h5py.File(command.folder / f"{folder}.h5", "r+") as file:
        for name in ("inputs", "labels"):
            rows = file[name][()]
            change(name, rows)
            file[name][...] = rows
            block = file[f"digests/{name}"].attrs["rows"]  # the statistics stay those of the data as they were
            file[f"digests/{name}"][...] = [zlib.crc32(rows[i:i + block].tobytes()) for i in range(0, len(rows), block)]
    command.must("train", "deck.toml", *SETTINGS, f"run.folder={folder}", f"data.train={folder}.h5")
    return losses(command, folder)


def first_batch_of(command, reference, row):
    """The step whose loss first changes with the row."""
    def double(name, rows):
        if name == "inputs":
            rows[row] *= 2
    changed = losses_with_rows(command, f"row-{row}", double)
    return next(step for step, (a, b) in enumerate(zip(reference, changed), 1) if a != b)


def check_swaps_are_seen(command, reference):
    """Two samples of one batch, and two of different ones."""
    rows_of = {}
    for row in range(4):  # of four rows two share one of the three batches
        rows_of.setdefault(first_batch_of(command, reference, row), []).append(row)
    same = next(rows for rows in rows_of.values() if len(rows) > 1)[:2]
    other = [rows[0] for rows in rows_of.values()][:2] if len(rows_of) > 1 else None
    for rows in filter(None, (same, other)):
        def swap(_, all_rows, rows=rows):
            all_rows[rows] = all_rows[rows[::-1]]
        moved = max(excess(reference, losses_with_rows(command, f"swap-{rows[0]}-{rows[1]}", swap)))
        assert moved > VISIBLE, f"rows {rows} swapped: losses moved by only {moved:.3g} bounds"
        print(f"rows {rows} swapped: losses move by {moved:.3g} times the bound")


def check_pair(command, before, after, reference):
    folder = f"{before}-{after}"
    shutil.copytree(command.folder / f"from-{before}", command.folder / folder)
    result = command.must("train", "deck.toml", *SETTINGS, f"run.folder={folder}", "--restart", "latest", ranks=after)
    assert f"restarted from {folder}/checkpoints/step-{SWITCH:010}.h5 at step {SWITCH} of {STEPS}" in result.stdout
    apart = max(excess(reference, losses(command, folder)))
    assert apart <= 1, f"from {before} to {after} ranks: losses are {apart:.3g} bounds apart"
    return apart


def check_pairs(command, full):
    counts = range(1, 5)
    pairs = [(a, b) for a in counts for b in counts] if full else SAMPLE
    prepare(command, DECK.replace("epochs = 3", "steps = 1"), samples=SAMPLES)
    command.must("train", "deck.toml", *SETTINGS, "run.folder=reference")
    reference = losses(command, "reference")
    check_swaps_are_seen(command, reference)
    for before in sorted({pair[0] for pair in pairs}):
        command.must("train", "deck.toml", *SETTINGS, f"run.folder=from-{before}", "--stop-after", SWITCH,
                     ranks=before, code=85)
    apart = max(check_pair(command, before, after, reference) for before, after in pairs)
    print(f"{len(pairs)} pairs of rank counts: losses at most {apart:.3g} times the bound apart")


run_cases(check_pairs)
