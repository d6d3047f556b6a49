"""The options that gpu-check and profile-device share, and how both begin and end."""

import argparse
import pathlib
import sys

from harness.budget import Budget, OutOfTime

from .installation import CannotStart, Installation
from .report import Failure

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parser_of(usage, budget_s):
    """`usage`: the script's first text, which says what each option means."""
    parser = argparse.ArgumentParser(usage=usage.split("usage: ")[1], add_help=True)
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--budget", type=float, default=budget_s)
    parser.add_argument("--nccl", type=pathlib.Path)
    parser.add_argument("--sample", action="store_true")
    return parser


def installation_of(wanted):
    return Installation(ROOT, wanted.host, wanted.build, Budget(wanted.budget))


def end(name, main):
    """Ends the script with main()'s exit code; with 2 if it cannot be started, with 1 if its data cannot be made."""
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"{name}: {failure}")
    except (CannotStart, OutOfTime) as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        sys.exit(2)
