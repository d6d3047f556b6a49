#!/usr/bin/env python3
"""Compares a call of the library for one column with the source that `mylos export` writes of the same network.

  perf/column_call.py [--rounds 300] [--prefix PREFIX]

The networks are MLPs of 8 inputs and 3 outputs, as closures of columns are. Doubles go in and out, on one thread; the calls of a round
are interleaved, and the shortest times count. What the library takes longer is what it checks and looks up in each call. Needs a C
compiler, and libmylos.so: of the build of the checkout, or of an installation in PREFIX.
"""

import pathlib
import random
import tempfile

import harness
from decks import deck_text

HIDDEN = {"8-64-64-3": [64, 64], "8-128-128-128-3": [128, 128, 128]}
INPUTS, OUTPUTS, ROWS = 8, 3, 64


def export(folder, hidden, mylos):
    """Writes the network as model.h5 and network.c, after one step of training."""
    source = random.Random(1)
    names = [f"x{i}" for i in range(INPUTS)] + [f"y{i}" for i in range(OUTPUTS)]
    rows = [",".join(f"{source.uniform(-1, 1):.4f}" for _ in names) for _ in range(ROWS)]
    (folder / "table.csv").write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    deck = deck_text(run={"name": "column", "steps": 1, "folder": "run"}, data={"train": "data.h5", "batch": 16, "normalize": "standard"},
                     precision={"compute": "fp32"}, model={"type": "mlp", "hidden": hidden, "activation": "tanh", "loss": "mse"})
    (folder / "deck.toml").write_text(deck, encoding="utf-8")
    for arguments in (["prepare", "csv", "table.csv", "--targets", "y0,y1,y2", "--out", "data.h5"], ["train", "deck.toml"],
                      ["export", "run", "model.h5"], ["export", "run", "network.c", "--name", "network"]):
        harness.finished([mylos, *arguments], cwd=folder, env=harness.environment(1))


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--prefix", type=pathlib.Path, default=harness.ROOT / "build/host", help="with lib/libmylos.so")
    harness.add_mylos_option(parser)
    arguments = parser.parse_args()
    harness.print_machine("Calls for one column", 1)
    print(f"{'network':16} {'library':>8} {'in region':>10} {'source':>8}   microseconds")
    for name, hidden in HIDDEN.items():
        with tempfile.TemporaryDirectory() as of_network:
            folder = pathlib.Path(of_network)
            export(folder, hidden, arguments.mylos)
            library = arguments.prefix.resolve() / "lib"
            harness.finished(["gcc", "-O3", "-march=native", "-fopenmp", f"-I{harness.ROOT / 'include'}", f"-I{library.parent / 'include'}",
                              '-DSOURCE="network.c"', "-I.", harness.ROOT / "perf/column_call.c", "-o", "column_call", f"-L{library}",
                              "-lmylos", "-lm", f"-Wl,-rpath,{library}"], cwd=folder, env=harness.environment(1))
            times = harness.output_of([folder / "column_call", folder / "model.h5", str(arguments.rounds)], env=harness.environment(1))
            print(f"{name:16} " + " ".join(f"{time:>{width}}" for time, width in zip(times.split(), (8, 10, 8))), flush=True)


if __name__ == "__main__":
    main()
