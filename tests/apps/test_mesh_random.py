"""Random decks of samples divided over ranks: the bits of whole samples where sums are taken by boxes (mesh.sums), across types, optimizers,
recomputation, shards and restarts on other divisions; the weights of whole samples to rounding elsewhere, also 3 boxes; losses and gradients
of the same networks in NumPy and double; memory within the plan.

usage: test_mesh_random.py MYLOS [--full] [--seed N] [--decks N] [--deck K]

3 decks; 100 with --full: 45 of bits, 15 of rounding, 20 of NumPy, 20 of bytes. The seed is printed; --seed with --deck repeats one of them, and a deck that
fails leaves its folder behind. random_meshes.py says what is drawn. A deck that is refused is refused by `plan`, `--check` and `train`
alike.
"""
import collections
import math
import pathlib
import random
import shutil
import tempfile

import numpy

from chain_comparison import compare_run
from random_meshes import Deck
from reference.deck_loop import results_of
from reference.rounding import Amplified
from support.command import MODELLED, Command
from support.data_files import write_data
from support.mesh import same_bits
from support.refusal import ids_of
from support.run_folders import last_checkpoint, losses_of, weights_of

KINDS = ["bits", "numpy", "bits", "bytes", "rounding"] + 2 * ["bits", "numpy", "bits", "bytes", "bits"] + ["rounding", "numpy", "bits", "bytes", "rounding"]
MOST_RANKS = {False: 4, True: 8}  # of a run, by --full
STEPS = 3
REFUSED = 0.15  # of the decks at most


class Refused(Exception):
    """All commands refuse the deck."""


class Runs:
    """Of a deck's commands in one folder."""

    def __init__(self, command, deck, full):
        self.command, self.deck, self.full, self.count = command, deck, full, 0
        self.source = random.Random(deck.text)
        deck.write(command.folder / "data.h5")
        command.write("deck.toml", deck.text)

    def train(self, folder, *keys, ranks=1, more=()):
        """Refused alike or not at all; its memory is what is planned."""
        line = ["deck.toml", f"run.folder={folder}", *keys]
        result = self.command.run("train", *line, *more, ranks=ranks)
        others = {}
        if result.returncode == 2 or self.full and not more:
            others["plan"] = self.command.run("plan", *line, MODELLED, "--json", "--ranks", ranks)
            others["--check"] = self.command.run("train", "deck.toml", "run.folder=checked", *keys, "--check", ranks=ranks)
        for what, other in others.items():
            assert other.returncode == result.returncode and ids_of(other.stderr) == ids_of(result.stderr), \
                f"{keys} on {ranks} ranks: train: {result.returncode} {result.stderr}\n{what}: {other.returncode} {other.stderr}"
        if result.returncode == 2:
            assert self.deck.odd and "mesh." in result.stderr, f"{keys} on {ranks} ranks: {result.stderr}"
            raise Refused(ids_of(result.stderr)[0])
        assert result.returncode == 0, f"{keys} on {ranks} ranks: code {result.returncode}\n{result.stdout}\n{result.stderr}"
        memory = self.command.document(f"{folder}/summary.json")["memory"]
        assert memory["host_peak_bytes"] <= memory["planned_bytes"], f"{keys} on {ranks} ranks: {memory}"
        self.count += 1
        return memory["host_peak_bytes"] / memory["planned_bytes"]

    def memory_keys(self, ranks, micro_batches):
        """Recomputation and shards, which change no bits."""
        shards = ["none", "state"] + (["gradients"] if micro_batches == 1 else [])
        keys = [f"memory.recompute={self.source.choice(['none', 'all', 'every 2', 'every 3'])}"]
        return keys + ([f"optimizer.shard={self.source.choice(shards)}"] if ranks > 1 else [])


def divisions_of(sums):
    """Those that divide the first axes first, the coarsest first."""
    space, found = [1] * len(sums), []
    for axis, boxes in enumerate(sums):
        while space[axis] < boxes:
            space[axis] *= 2
            found.append(list(space))
    return found


def check_bits(runs):
    deck, source, most = runs.deck, runs.source, MOST_RANKS[runs.full]
    groups = deck.micro_batches
    ways = [(space, groups * math.prod(space)) for space in divisions_of(deck.space)]
    ways = [way for way in ways if way[1] <= most] or ways[:1]
    whole = [([1] * deck.axes, ranks) for ranks in (2, 4) if groups % ranks == 0 and ranks <= most]
    chosen = ways + whole if runs.full else [source.choice(ways)]
    runs.train("whole", *runs.memory_keys(1, groups))
    for space, ranks in chosen:
        folder = f"{'x'.join(map(str, space))}-{ranks}"
        runs.train(folder, f"mesh.space={space}", *runs.memory_keys(ranks, groups // (ranks // math.prod(space))), ranks=ranks)
        same_bits(runs.command, "whole", folder)
    # From each of the runs on, by another division.
    places = [("whole", 1, None)] + [(f"{'x'.join(map(str, space))}-{ranks}", ranks, space) for space, ranks in chosen]
    first, (_, ranks, space) = source.choice(places), source.choice(places)
    checkpoint = f"{first[0]}/checkpoints/step-{source.randint(1, STEPS - 1):010}.h5"
    runs.train("again", *([f"mesh.space={space}"] if space else []), ranks=ranks, more=["--restart", checkpoint])
    a, b = (weights_of(last_checkpoint(runs.command, folder), ("model", "optimizer", "scaler", "average")) for folder in ("whole", "again"))
    assert a.keys() == b.keys()
    for name in a:
        assert numpy.asarray(a[name]).tobytes() == numpy.asarray(b[name]).tobytes(), f"{name}: {checkpoint}, then {space} on {ranks} ranks"


def check_rounding(runs):
    """Gradients, which are the steps of plain descent, relative to the largest of each parameter."""
    deck, command = runs.deck, runs.command
    rough = {"fp32": 2e-4, "fp16": 2e-2, "bf16": 0.1}[deck.compute]
    ranks = math.prod(deck.space)
    if 2 * ranks <= 4 and deck.micro_batch * deck.micro_batches % 2 == 0 and runs.source.random() < 0.5:
        ranks *= 2
    runs.train("whole")
    runs.train("divided", f"mesh.space={deck.space}", *runs.memory_keys(ranks, 2), ranks=ranks)
    numpy.testing.assert_allclose(losses_of(command, "divided"), losses_of(command, "whole"), rtol=rough / 4, atol=rough / 20)
    command.must("init", "deck.toml", "start.h5")
    first, whole, divided = (weights_of(command.folder / name) for name in ("start.h5", *(f"{folder}/checkpoints/step-0000000001.h5" for folder in (
        "whole", "divided"))))
    moved = {name: numpy.abs(whole[name] - first.get(name, 0)).max() for name in whole}
    noise = 2e-2 * max(moved.values())  # a bias before a norm has a gradient of rounding errors alone
    for name, change in moved.items():
        off = numpy.abs(divided[name] - whole[name]).max()
        assert off <= rough * max(change, noise) + 1e-7, f"{deck.space} on {ranks} ranks: {name} is off by {off}, of changes up to {change}"


def check_numpy(runs):
    deck, command = runs.deck, runs.command
    test = {name: values[::-1][:7] for name, values in deck.arrays.items()}
    write_data(command.folder / "test.h5", **test)
    ranks = math.prod(deck.space)
    runs.train("run", f"mesh.space={deck.space}", "data.test=test.h5", *runs.memory_keys(ranks, 2), ranks=ranks)
    compare_run(command, deck, test)


def planned(runs, *keys, ranks=1):
    return runs.command.plan_json("deck.toml", "memory.recompute=none", *keys, "--ranks", ranks)


def check_bytes(runs):
    """Activations: outputs of blocks are the boxes' part, rounded up, and the arena has no more than that part of the whole one, what all ranks
    save alike (coefficients of modes, statistics of norms), and what a block's workspace has beside its part: halos, and what engines take."""
    boxes, space = math.prod(runs.deck.space), f"mesh.space={runs.deck.space}"
    ranks = boxes * runs.deck.micro_batches
    whole, divided = planned(runs, ranks=runs.deck.micro_batches), planned(runs, space, ranks=ranks)
    more = copies = 0
    for of_box, of_all in zip(divided["cost"]["blocks"], whole["cost"]["blocks"], strict=True):
        rounded_up = of_box["output_bytes"] - of_all["output_bytes"] / boxes
        saved = [block["variants"][0]["saved_bytes"] for block in (of_box, of_all)]
        assert rounded_up < 128 and saved[0] <= saved[1], f"a block of a box stores {of_box}, of whole samples {of_all}"
        copies += max(0, rounded_up) + max(0, saved[0] - saved[1] / boxes)
        workspaces = [max(block["forward_workspace"], block["variants"][0]["backward_workspace"]) for block in (of_box, of_all)]
        more = max(more, workspaces[0] - workspaces[1] / boxes)
    part = whole["activation_bytes"] / boxes
    ratio = divided["activation_bytes"] / (part + more + copies)
    assert ratio <= 1.05, f"{divided['activation_bytes']} B of activations; {part} B are this part of whole ones, {more} B workspace, {copies} B that all ranks have"
    peak = runs.train("divided", space, "memory.recompute=none", "run.steps=2", ranks=ranks)
    return divided["activation_bytes"] / part, ratio, peak


def check(program, seed, number, full, attempt=0):
    kind = KINDS[number % len(KINDS)]
    deck = Deck(f"{seed}.{attempt}" if attempt else seed, number, kind)
    deck.text = deck.deck()
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"mesh-{seed}-{number}-"))
    runs = Runs(Command(program, folder), deck, full)
    figures = None
    try:
        figures = {"bits": check_bits, "rounding": check_rounding, "numpy": check_numpy, "bytes": check_bytes}[kind](runs)
        outcome = kind
    except Refused:
        outcome = "refused"
    except Amplified:  # another one says more
        shutil.rmtree(folder)
        return check(program, seed, number, full, attempt + 1)
    except Exception as failure:
        print(f"deck {number} (--seed {seed} --deck {number}), {kind}, {deck.odd}, kept in {folder}: {type(failure).__name__}: {failure}\n{deck.text}",
              flush=True)
        return None
    shutil.rmtree(folder)
    return outcome, runs.count, figures


def main():
    sound, count = results_of(check, ordinary=3, full=100)
    outcomes = collections.Counter(outcome for outcome, _, _ in sound)
    print(f"{outcomes['bits']} decks with the bits of whole samples, {outcomes['rounding']} with their weights to rounding, "
          f"{outcomes['numpy']} with NumPy's losses and gradients, {outcomes['bytes']} within their bytes, {outcomes['refused']} refused; {sum(runs for _, runs, _ in sound)} runs")
    figures = numpy.array([of_deck for _, _, of_deck in sound if of_deck])
    for what, values in zip(("activations of a rank / their part of whole ones", "the same, with workspace of halos", "peak of a process / plan"), figures.T):
        print(f"{what}: {numpy.min(values):.3f} to {numpy.max(values):.3f}, median {numpy.median(values):.3f}")
    assert len(sound) == count, f"{count - len(sound)} of {count} decks fail"
    assert outcomes["refused"] <= max(1, REFUSED * count), outcomes


main()
