"""Options of command lines that mean the same in every study."""

import argparse
import os
import pathlib

from .programs import INSTRUCTIONS, MYLOS, ROOT


def parser_of(description):
    """The parser of a script: its description is the script's first text, as it is written."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def add_json_option(parser):
    parser.add_argument("--json", type=pathlib.Path, help="a file for the results of all rounds, as perf/compare.py reads them")


def add_mylos_option(parser):
    parser.add_argument("--mylos", type=pathlib.Path, default=MYLOS)


def add_turn_options(parser, patience_s=5):
    """How turns are measured."""
    parser.add_argument("--threads", type=int, default=2, help="total threads of all ranks of a program")
    parser.add_argument("--patience", type=float, default=patience_s, help="seconds that a turn waits for an idle machine")


def add_options(parser, bench, steps=10):
    """Adds the options that all comparisons share; `bench` is the name of our program."""
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/host/bin" / bench)
    parser.add_argument("--steps", type=int, default=steps, help="steps of one turn; their median counts")
    add_turn_options(parser)
    parser.add_argument("--instructions", choices=INSTRUCTIONS, help="limit both sides to these instructions; default: the machine's")
    add_json_option(parser)
    parser.set_defaults(ranks=1)


def add_python_option(parser):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "mylos"
    cache = pathlib.Path(os.environ.get("MYLOS_CACHE", cache))
    parser.add_argument("--python", type=pathlib.Path, default=cache / "peers/bin/python", help="of the peers; default: scripts/peers' own")


def add_peer_options(parser):
    add_python_option(parser)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="omit torch.compile")
    parser.add_argument("--no-floors", dest="floors", action="store_false", help="omit the floors")
    parser.add_argument("--older", type=pathlib.Path, help="the same program of an older build, interleaved; "
                        "--instructions sets only the variables of its libraries")


def read_options(parser):
    """Of a study whose programs must exist."""
    arguments = parser.parse_args()
    for bench in filter(None, (arguments.bench, getattr(arguments, "older", None))):
        require_program(parser, bench, f"build the target {bench.name}, or name another one")
    return arguments


def require_program(parser, program, remedy):
    if not program.exists():
        parser.error(f"{program} does not exist: {remedy}")


def print_machine(what, threads, instructions=None):
    print(f"{what}, {threads} threads, instructions: {instructions or 'all'}; "
          f"load at the start {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
