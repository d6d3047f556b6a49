"""The C interface: the bits of `mylos predict` by every kind of array, clones in threads, trainers on ranks, and refusals.

usage: test_c.py MYLOS BUILD SOURCE CXX infer | calls | refusals | threads | trust | trainer RANKS
"""
import pathlib
import sys
import tempfile

from programs import ONLINE_DECK, Compilers, on_ranks, run_silent, skip_without, train_closure, train_ensemble


def infer(mylos, compilers, folder):
    program = compilers.c("infer.c", folder)
    for number_type in ("fp32", "bf16", "fp16"):
        model, rows = train_closure(mylos, folder, number_type)
        type_number = ("fp32", "fp64", "fp16", "bf16").index(number_type)
        run_silent([program, model, "inputs.bin", f"{number_type}.bin", rows, f"{number_type}_average.bin", type_number], folder)


def calls(mylos, compilers, folder):
    model, _ = train_closure(mylos, folder, "fp32")
    program = compilers.c("calls.c", folder, flags=["-fopenmp"])
    for threads_of_library in (1, 2):
        run_silent([program, model, threads_of_library, "inputs.bin"], folder)


def trust(mylos, compilers, folder):
    without, rows, models = train_ensemble(mylos, folder)
    program = compilers.c("trust.c", folder)
    run_silent([program, "inputs.bin", "expected.bin", rows, without, *models], folder)


def threads(mylos, compilers, folder):
    model, rows = train_closure(mylos, folder, "fp32")
    program = compilers.c("threads.c", folder, flags=["-fopenmp"])
    run_silent([program, model, "inputs.bin", "fp32.bin", rows], folder)
    program = compilers.c("races.c", folder, flags=["-pthread"])
    run_silent([program, model, 8, 200], folder)


def refusals(mylos, compilers, folder):
    model, _ = train_closure(mylos, folder, "fp32")
    run_silent([compilers.c("refusals.c", folder), model], folder)


def trainer(_, compilers, folder, ranks):
    skip_without("mpicc")
    program = compilers.c("trainer.c", folder, compiler="mpicc")
    for number_type in ("fp32", "bf16", "fp16"):
        deck = folder / f"{number_type}.toml"
        deck.write_text(ONLINE_DECK.format(type=number_type), encoding="utf-8")
        run_silent(on_ranks(ranks, program, deck), folder)


def main(mylos, build, source, cxx, what, *arguments):
    with tempfile.TemporaryDirectory() as scratch:
        cases = {"infer": infer, "calls": calls, "threads": threads, "trust": trust, "refusals": refusals, "trainer": trainer}
        cases[what](mylos, Compilers(build, source, cxx), pathlib.Path(scratch), *arguments)
    print(f"{what}: as it must be")


if __name__ == "__main__":
    main(*sys.argv[1:])
