"""Random networks of [[model.layers]]: each deck is refused with a message that says where, or planned, run for two steps and
restarted behind the first with the same bits; some in float against NumPy in double.

usage: test_random_chains.py MYLOS [--full] [--seed N] [--decks N] [--deck K]

24 decks, 8 of them against NumPy; 2,000 with --full, 208 of them against NumPy. The seed is printed; --seed with --deck
repeats one of them, and a deck that fails leaves its folder behind. random_chains.py says what is drawn, chain_mistakes.py how
it is made wrong, chain_oracle.py computes it.
"""
import collections
import json
import pathlib
import shutil
import tempfile


from chain_comparison import compare_run
from random_chains import draw
from reference.deck_loop import results_of
from reference.rounding import Amplified
from support.command import MODELLED, Command
from support.data_files import read_data, write_data
from support.run_folders import compare

INTERNAL = ["std::", "terminate", "what()", "basic_string", "vector::", "Kokkos", "HDF5", "ssertion", "internal", "overflow",
            " nan", "MPI_"]  # nobody who wrote a deck can do anything with these


def wants_oracle(number):
    return number % 10 in ((0, 3, 7) if number < 40 else (0,))


def require_message(deck, result, command):
    said = result.stderr.strip()
    assert said.startswith("mylos: ") and len(said.splitlines()) < 4 and not any(word in said for word in INTERNAL), \
        f"{command} says {said!r}"
    words = ["memory.budget"] if result.returncode == 3 else deck.words
    assert any(word in said for word in words), f"{command} says {said!r}, in which is none of {words}"
    return said


def refused(deck, results):
    """Whether plan and train refuse the deck, which they do alike."""
    allowed = {"runs": (0,), "refused": (2,), "either": (0, 2), "fits": (0, 3)}[deck.expected]
    for command, result in results.items():
        code = result.returncode
        assert code in allowed, f"{command}: exit code {code}, expected one of {allowed}\n{result.stdout}{result.stderr}"
        if result.returncode:
            require_message(deck, result, command)
    codes = [result.returncode for result in results.values()]
    # Another process, some KiB larger or smaller, may just fit.
    assert codes[0] == codes[1] or deck.expected == "fits", f"plan ends with {codes[0]}, train with {codes[1]}"
    return codes[1] != 0


def require_planned_memory(command, planned):
    with open(command.folder / "run/plan.json", encoding="utf-8") as file:
        of_run = json.load(file)
    arena = int(read_data(command.folder / "run/checkpoints/step-0000000002.h5", "plan/arena_bytes"))
    assert planned["activation_bytes"] == of_run["activation_bytes"] == arena, \
        f"activations: {planned['activation_bytes']} B planned, {of_run['activation_bytes']} B in the run, {arena} B saved"
    with open(command.folder / "run/summary.json", encoding="utf-8") as file:
        memory = json.load(file)["memory"]
    assert memory["host_peak_bytes"] <= memory["planned_bytes"], f"memory: {memory}"


def run_deck(command, deck):
    """What became of it."""
    command.write("deck.toml", deck.text())
    test = {name: values if isinstance(values, int) else values[::-1][:7] for name, values in deck.arrays.items()}
    write_data(command.folder / "data.h5", **deck.arrays)
    write_data(command.folder / "test.h5", **test)
    plan = command.run("plan", "deck.toml", MODELLED, "--json", "--ranks", deck.ranks)
    train = command.run("train", "deck.toml", ranks=deck.ranks)
    if refused(deck, {"plan": plan, "train": train}):
        assert not (command.folder / "run/checkpoints").exists(), "a deck that is refused has checkpoints"
        return "refused"
    first, last = (f"checkpoints/step-000000000{step}.h5" for step in (1, 2))
    command.must("train", "deck.toml", "run.folder=again", "--restart", f"run/{first}", ranks=deck.ranks)
    compare(command.folder / "run" / last, command.folder / "again" / last, "restart")
    if plan.returncode == 0 and deck.expected != "fits":
        require_planned_memory(command, json.loads(plan.stdout))
    if deck.oracle:
        compare_run(command, deck, test)
        return "compared"
    return "run"


def check(program, seed, number, _full):
    for attempt in range(30):
        deck = draw(seed, number, attempt, wants_oracle(number))
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"chains-{seed}-{number}-"))
        try:
            outcome = run_deck(Command(program, folder), deck)
            if deck.oracle and outcome == "refused":
                raise Amplified("a short form that does not fit")
        except Amplified:  # another one says more
            shutil.rmtree(folder)
            continue
        except Exception as failure:
            print(f"deck {number} (--seed {seed} --deck {number}), draw {attempt}, {deck.ranks} ranks, {deck.expected} "
                  f"{deck.mistake}, kept in {folder}: {type(failure).__name__}: {failure}\n{deck.text()}", flush=True)
            return None
        shutil.rmtree(folder)
        return outcome, attempt
    print(f"deck {number} (--seed {seed}): every draw amplifies rounding", flush=True)
    return None


def main():
    sound, count = results_of(check, ordinary=24, full=2000)
    outcomes = collections.Counter(outcome for outcome, _ in sound)
    drawn_again = sum(attempt for _, attempt in sound)
    print("{} decks refused, {} run and restarted, {} of them compared with NumPy; {} drawn again because they amplify rounding"
          .format(outcomes["refused"], outcomes["run"] + outcomes["compared"], outcomes["compared"], drawn_again))
    assert len(sound) == count, f"{count - len(sound)} of {count} decks fail"


main()
