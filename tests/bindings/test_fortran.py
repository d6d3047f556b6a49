"""The Fortran module: the bits of `mylos predict` by arrays of both kinds, every rank and sections, trainers on ranks, and
what a failure does. Skipped without a Fortran compiler.

usage: test_fortran.py MYLOS BUILD SOURCE CXX infer | trust | stops | trainer RANKS
"""
import pathlib
import subprocess
import sys
import tempfile

from programs import ONLINE_DECK, Compilers, environment, on_ranks, run_silent, skip_without, train_closure, train_ensemble


def infer(mylos, compilers, folder):
    program = compilers.fortran("infer.f90", folder)
    for number_type in ("fp32", "bf16"):
        model, rows = train_closure(mylos, folder, number_type)
        run_silent([program, model, "inputs.bin", f"{number_type}.bin", rows], folder)
    of_long_integers = compilers.fortran("infer.f90", folder, flags=["-fdefault-integer-8"])
    run_silent([of_long_integers, model, "inputs.bin", f"{number_type}.bin", rows], folder)


def trust(mylos, compilers, folder):
    without, rows, models = train_ensemble(mylos, folder)
    run_silent([compilers.fortran("trust.f90", folder), "inputs.bin", "expected.bin", rows, without, *models], folder)


def stops(_, compilers, folder):
    result = subprocess.run([compilers.fortran("stops.f90", folder)], cwd=folder, env=environment(), capture_output=True, text=True)
    assert result.returncode != 0 and result.stdout == "", result
    assert "nowhere.h5" in result.stderr and "[no-such-file]" in result.stderr, result


def trainer(_, compilers, folder, ranks):
    skip_without("mpifort")
    program = compilers.fortran("trainer.f90", folder, compiler="mpifort")
    deck = folder / "deck.toml"
    deck.write_text(ONLINE_DECK.format(type="bf16"), encoding="utf-8")
    run_silent(on_ranks(ranks, program, deck), folder)


def main(mylos, build, source, cxx, what, *arguments):
    skip_without("gfortran")
    with tempfile.TemporaryDirectory() as scratch:
        cases = {"infer": infer, "trust": trust, "stops": stops, "trainer": trainer}
        cases[what](mylos, Compilers(build, source, cxx), pathlib.Path(scratch), *arguments)
    print(f"{what}: as it must be")


if __name__ == "__main__":
    main(*sys.argv[1:])
