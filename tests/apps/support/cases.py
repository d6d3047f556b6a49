"""Runs the cases of a test script, one after the other, in a temporary folder that they share.

A case is a function of the command in that folder, or a tuple of a function and its next arguments. A case that names a
parameter after an argument or an option of the script's command line receives it: `def check_loop(command, repository, full)`.
"""
import argparse
import inspect
import os
import pathlib
import sys
import tempfile
import time

from .command import Command

SKIPPED = 77  # ctest counts this exit code as skipped
TYPES = {"repository": lambda path: pathlib.Path(path).resolve(), "ranks": int}  # of arguments that are not texts


def skip(why):
    """Ends the script: what it tests is not possible here."""
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def chosen_numbers(some, every):
    """The numbers of the drawn cases that a script's command line asks for: `some`, `every` one with --full, or those after --only."""
    if "--only" in sys.argv:
        return [int(word) for word in sys.argv[sys.argv.index("--only") + 1:]]
    return every if "--full" in sys.argv else some


def chosen_seed():
    """From the command line: that after --seed, another each time with --full, or else "1"."""
    if "--seed" in sys.argv:
        return sys.argv[sys.argv.index("--seed") + 1]
    return str(int(time.time())) if "--full" in sys.argv else "1"


def run_cases(*cases, arguments=(), option="full"):
    """`arguments`: what follows the command on the script's command line, by name. The option is known if a case asks for it;
    --full: all of what the ordinary tests take a sample of."""
    functions = [case[0] if isinstance(case, tuple) else case for case in cases]
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mylos", type=os.path.abspath)
    for name in arguments:
        parser.add_argument(name, type=TYPES.get(name, str))
    if any(option in inspect.signature(function).parameters for function in functions):
        parser.add_argument(f"--{option}", action="store_true")
    values = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        command = Command(values.pop("mylos"), folder)
        for function, case in zip(functions, cases):
            given = case[1:] if isinstance(case, tuple) else ()
            parameters = inspect.signature(function).parameters
            function(command, *given, **{name: value for name, value in values.items() if name in parameters})
            short = [one for one in given if isinstance(one, (str, int)) and "\n" not in str(one)]
            print(function.__name__, *short, "passed", flush=True)
