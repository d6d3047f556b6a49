"""`train --check` and `train` agree: random decks of every kind (mlp, gpt, chains, short forms), half of them wrong, have the
same exit code and the same first line of what is wrong.

usage: test_check_agrees.py MYLOS [--full] [--seed N] [--decks N] [--deck K]

12 decks; 300 with --full. The seed is printed; --seed with --deck repeats one of them, and a deck that fails leaves its folder
behind. deck_mistakes.py and chain_mistakes.py say how a deck is made wrong.
"""
import collections
import pathlib
import random
import re
import shutil
import tempfile

import random_chains
from deck_mistakes import MISTAKES
from reference import random_decks
from reference.deck_loop import results_of
from support.command import Command
from support.data_files import write_data


def draw(seed, number):
    """A chain or short form, or an mlp or gpt in any type."""
    if number % 2 == 0:
        deck = random_chains.draw(seed, number, 0, False)
        deck.sections["memory"].pop("budget", None)  # what just fits one process may not fit the next
        return deck
    deck = random_decks.draw(seed, number)
    source = random.Random(f"types {seed} {number}")
    deck.sections["precision"]["compute"] = source.choice(["fp32", "bf16", "fp16"])
    deck.sections["checkpoint"]["every"] = 100
    deck.sections = random_decks.with_effect(deck.sections)
    if source.random() < 0.1:
        deck.sections["precision"]["adapt"] = True
        deck.sections["precision.adaptation"] = {"types": [source.choice(["fp32", "bf16"])]}
    return Deck(deck.sections, deck.arrays, deck.ranks)


class Deck(random_chains.Deck):
    """Of what lists no layers."""

    def __init__(self, sections, arrays, ranks):
        super().__init__(sections, [], arrays, ranks)


def change_for_the_worse(source, deck, folder):
    for mistake in source.sample(MISTAKES, len(MISTAKES)):
        if mistake(source, deck, folder):
            return mistake.__name__
    return ""


def first_line(result):
    """Of the message. Sizes of a process differ by some KiB from start to start."""
    lines = [line for line in result.stderr.splitlines() if line.startswith("mylos: ")]
    return re.sub(r"[\d.]+ [KMG]iB", "N MiB", lines[0]) if lines and result.returncode else ""


def require_agreement(command, deck, mistake):
    command.write("deck.toml", deck.text())
    write_data(command.folder / "data.h5", **deck.arrays)
    if deck.sections["data"].get("test") == "test.h5":
        test = {name: values if isinstance(values, int) else values[::-1][:7] for name, values in deck.arrays.items()}
        write_data(command.folder / "test.h5", **test)
    code = code_of_both(command, deck.ranks)
    assert code in (0, 2, 3), f"exit code {code}"
    assert code != 0 or not mistake, f"{mistake} is no mistake"
    if code == 0:
        require_agreement_on_a_restart(command, deck.ranks)
    return mistake if code else ""


def code_of_both(command, ranks, *words):
    """Of the check and then of the run, which must be the same; the check touches nothing."""
    before = files_of(command.folder)
    check = command.run("train", "deck.toml", "--check", *words, ranks=ranks)
    assert files_of(command.folder) == before, "the check has touched something"
    train = command.run("train", "deck.toml", *words, ranks=ranks)
    codes = check.returncode, train.returncode
    assert codes[0] == codes[1], f"{words}: --check ends with {codes[0]}, train with {codes[1]}\n{check.stderr}\n{train.stderr}"
    said = first_line(check), first_line(train)
    assert said[0] == said[1], f"{words}: --check says\n{said[0]}\nand train\n{said[1]}"
    return codes[0]


def files_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def require_agreement_on_a_restart(command, ranks):
    """In the folder of the run that has just ended."""
    assert code_of_both(command, ranks) == 2
    assert code_of_both(command, ranks, "run.seed=987654", "--restart", "latest") == 2
    assert code_of_both(command, ranks, "--restart", "latest") == 0


def check(program, seed, number, _full):
    source = random.Random(f"{seed} {number}")
    deck = draw(seed, number)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"agree-{seed}-{number}-"))
    is_wrong = bool(deck.mistake)
    mistake = change_for_the_worse(source, deck, folder) if not is_wrong and source.random() < 0.45 else ""
    try:
        found = require_agreement(Command(program, folder), deck, mistake)
    except AssertionError as failure:
        print(f"deck {number} (--seed {seed} --deck {number}), {deck.ranks} ranks, {mistake or deck.mistake}, kept in {folder}: "
              f"{failure}\n{deck.text()}", flush=True)
        return None
    shutil.rmtree(folder)
    return found or (deck.mistake if is_wrong else "")


def main():
    sound, count = results_of(check, ordinary=12, full=300)
    refused = collections.Counter(mistake for mistake in sound if mistake)
    print(f"{len(sound)} of {count} decks agree, {sum(refused.values())} of them wrong in {len(refused)} ways: {dict(refused)}")
    assert len(sound) == count, f"{count - len(sound)} of {count} decks do not"


main()
