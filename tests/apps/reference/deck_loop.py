"""The command line of tests of random decks, and the decks that it asks for, one behind the other."""
import argparse
import time


def results_of(check, ordinary, full):
    """Calls check(program, seed, number, full) for each deck, of which there are `ordinary` many, or `full` many with --full.
    What the checks return, without the None of decks that failed, and how many decks there were."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1000 % 10 ** 6)
    parser.add_argument("--decks", type=int)
    parser.add_argument("--deck", type=int)
    arguments = parser.parse_args()
    count = arguments.decks or (full if arguments.full else ordinary)
    numbers = range(count) if arguments.deck is None else [arguments.deck]
    print(f"seed {arguments.seed}", flush=True)
    results = [check(arguments.program, arguments.seed, number, arguments.full) for number in numbers]
    return [result for result in results if result is not None], len(results)
