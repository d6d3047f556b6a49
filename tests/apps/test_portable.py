"""A portable build: which copy of the library a node loads, and that ranks with different copies do not start.

usage: test_portable.py MYLOS BUILD CMAKE
Ends with 77 (skipped) where processor or loader take the copy for any x86-64: there is nothing to choose from then.
"""
import pathlib
import subprocess
import sys
import tempfile

from small_problem import prepare
from support.command import LAUNCHER, Command, environment

SKIPPED = 77
ANY, AVX2, AVX512 = "x86-64", "x86-64-v3", "x86-64-v4"
# What the loader then takes the processor for.
OLD_PROCESSOR = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"}
AVX2_PROCESSOR = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F"}


def copy_in_use(command, variables=None):
    text = command.must("--version", variables=variables).stdout
    return text.partition("compiled for ")[2].split()[0]


def check_every_copy_trains(command):
    for variables in ({}, AVX2_PROCESSOR, OLD_PROCESSOR):
        name = copy_in_use(command, variables)
        output = command.must("train", "deck.toml", f"run.folder=runs/{name}", ranks=2, variables=variables).stdout
        assert "2 ranks" in output, output


def check_ranks_run_one_copy(command):
    """As where one node's processor is older than another's."""
    line = command.line("train", "deck.toml", "run.folder=runs/mixed")
    old = ["env", *(f"{name}={value}" for name, value in OLD_PROCESSOR.items())]
    mixed = subprocess.run([*LAUNCHER, "-n", "1", *line, ":", "-n", "1", *old, *line], cwd=command.folder,
                           env=environment(), capture_output=True, text=True, timeout=600)
    assert mixed.returncode == 2, (mixed.returncode, mixed.stdout, mixed.stderr)
    for part in (f"compiled for {ANY} on rank 1, ", f"compiled for {copy_in_use(command)} on rank 0; ",
                 "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F"):
        assert part in mixed.stderr, (part, mixed.stderr)
    assert not (command.folder / "runs/mixed").exists()


def main(mylos, build, cmake):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        command = Command(mylos, folder)
        best = copy_in_use(command)
        if best == ANY:
            print(f"this machine loads the copy for {ANY} alone")
            sys.exit(SKIPPED)
        assert best in (AVX2, AVX512), best
        assert copy_in_use(command, AVX2_PROCESSOR) == AVX2 and copy_in_use(command, OLD_PROCESSOR) == ANY
        prepare(command)
        check_every_copy_trains(command)
        check_ranks_run_one_copy(command)

        subprocess.run([cmake, "--install", build, "--prefix", folder / "first"], check=True, capture_output=True)
        (folder / "first").rename(folder / "prefix")
        installed = Command(folder / "prefix/bin/mylos", folder)
        assert copy_in_use(installed) == best and copy_in_use(installed, OLD_PROCESSOR) == ANY
    print("each node loads its copy, ranks run the same one, and an installed prefix may be moved")


if __name__ == "__main__":
    main(*sys.argv[1:])
