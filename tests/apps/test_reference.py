"""Random decks against a network, a backward pass and an update written in NumPy and double from docs/reference/formulas.md alone.

usage: test_reference.py MYLOS [--full] [--seed N] [--decks N] [--deck K]

20 decks, 500 with --full. The seed is printed; --seed with --deck repeats one of them, and a deck that fails leaves its
folder behind. In reference/: random_decks.py says what is drawn and what is not, and why.
"""
import pathlib
import shutil
import tempfile

import numpy

from reference.deck_loop import results_of
from reference.random_decks import draw
from reference.rounding import Amplified
from reference.runs import Reference, differences, run_command
from support.command import Command

# Relative: loss, norm and learning rate to themselves, arrays to their largest number.
BARS = {"loss": 1e-6, "gradient_norm": 1e-5, "lr": 1e-6, "weights": 1e-5, "moments": 1e-4}


def sound_deck(seed, number):
    """The deck of that number, and what it should give; drawn again where float and double may differ by right."""
    for attempt in range(50):
        deck = draw(seed, number, attempt)
        try:
            return deck, Reference(deck)
        except Amplified:
            continue
    raise AssertionError(f"deck {number}: every draw amplifies rounding")


def check(program, seed, number, _full):
    deck, reference = sound_deck(seed, number)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"reference-{seed}-{number}-"))
    command = Command(program, folder)
    try:
        found = differences(command, run_command(command, deck, reference), reference)
        over = [f"{kind} {difference:.3g} at {place}, expected at most {BARS[kind]:g}"
                for kind, (difference, place) in found.items() if not difference <= BARS[kind]]
        assert not over, "; ".join(over)
    except AssertionError as failure:
        print(f"deck {number} (--seed {seed} --deck {number}), {deck.ranks} ranks, "
              f"{'own weights after step 1, ' if deck.own_weights else ''}kept in {folder}: {failure}\n{deck.text()}",
              flush=True)
        return None
    shutil.rmtree(folder)
    return {kind: (difference, number) for kind, (difference, _) in found.items()}


def main():
    sound, count = results_of(check, ordinary=20, full=500)
    for kind in BARS if sound else []:
        largest, number = max(result[kind] for result in sound)
        median = numpy.median([result[kind][0] for result in sound])
        print(f"{kind}: at most {largest:.2g} (deck {number}; median {median:.2g}, bar {BARS[kind]:g})")
    assert len(sound) == count, f"{count - len(sound)} of {count} decks differ"
    print(f"{len(sound)} of {count} decks agree")


main()
