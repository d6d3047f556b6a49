#!/usr/bin/env python3
"""Compares the product of a U-Net's transposed Jacobian with a vector, Model::vjp(), with PyTorch's, in one interleaved run.

  perf/vjp_vs_pytorch.py [--samples 1 16] [--rounds 5] [--threads 1]

The network is the U-Net of chain_bench for fields of 64 x 64 points and one channel, in float; Mylos trains one step of it. PyTorch
runs channels last, eager and compiled, without gradients of weights. Both get float arrays in host memory, and ratios are formed within
a round. Printed is also the memory: of Mylos' model without and with derivatives, and the most that PyTorch's process has taken
besides what it took before the calls. Needs a build with benchmarks, and scripts/peers.
"""

import array
import pathlib
import random
import tempfile

from decks import deck_text, layer
import harness

PEER = harness.ROOT / "perf/pytorch_vjp.py"
POINTS = 64
FORMS = ("", "-compiled")


def two(name, channels):
    return [layer("conv", name=f"{name}.1", kernel=3, outputs=channels, activation="relu"),
            layer("conv", name=name, kernel=3, outputs=channels, activation="relu")]


def unet():
    layers = []
    for channels in (32, 64):
        layers += [*two(f"left{channels}", channels), layer("max_pool")]
    layers += two("bottom", 128)
    for channels in (64, 32):
        layers += [layer("upsample"), layer("concat", skip_from=f"left{channels}"), *two(f"right{channels}", channels)]
    return [*layers, layer("conv", name="head", kernel=1, outputs=1)]


def train(folder, mylos, samples):
    """Trains one step in the folder, and writes the inputs of the calls."""
    environment = harness.environment(1)
    harness.finished([mylos, "prepare", "fields", "--samples", 16, "--size", POINTS, "--out", "fields.h5"], cwd=folder, env=environment)
    deck = deck_text(run={"name": "unet", "steps": 1}, data={"train": "fields.h5", "batch": 16}, precision={"compute": "fp32"},
                     model={"type": "chain", "loss": "mse"}, layers=unet())
    (folder / "deck.toml").write_text(deck, encoding="utf-8")
    harness.finished([mylos, "train", "deck.toml", "run.folder=run"], cwd=folder, env=environment)
    harness.finished([mylos, "export", "run", "model.h5"], cwd=folder, env=environment)
    source = random.Random(1)
    inputs = array.array("f", (source.uniform(-1, 1) for _ in range(samples * POINTS * POINTS)))
    (folder / "inputs.bin").write_bytes(inputs.tobytes())


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "call_bench", 5)
    harness.add_python_option(parser)
    harness.add_mylos_option(parser)
    parser.set_defaults(threads=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", nargs="+", type=int, default=[1, 16], help="numbers of samples of a call")
    arguments = harness.read_options(parser)
    harness.print_machine("Transposed Jacobian of a U-Net by a vector, in float", arguments.threads)
    quiet = harness.Quiet(arguments.patience)
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        train(folder, arguments.mylos, max(arguments.samples))
        mylos = harness.start([arguments.bench, folder / "model.h5", folder / "inputs.bin"], arguments)
        pytorch = harness.start([arguments.python, PEER, "--threads", arguments.threads], arguments)
        before = pytorch.number("memory 1 1")
        for samples in arguments.samples:
            jobs = {"Mylos": lambda: mylos.number(f"vjp {samples} {arguments.steps}")}
            jobs |= {f"PyTorch{form}": lambda form=form: pytorch.number(f"vjp {samples}{form} {arguments.steps}") for form in FORMS}
            times = harness.measured(arguments.rounds, jobs, quiet)
            best = harness.best_of(times, [name for name in times if name != "Mylos"])
            print(f"  samples: {samples}   Mylos / {best} {harness.spread(harness.ratios(times['Mylos'], times[best]))}", flush=True)
            found[f"unet {samples}"] = times
        without, with_derivatives = mylos.ask("memory 1 1")[0].split()
        print(f"  memory: Mylos {without} MB, with derivatives {with_derivatives} MB; PyTorch {pytorch.number('memory 1 1') - before:.0f} MB")
        mylos.close()
        pytorch.close()
    quiet.report()
    harness.store(arguments.json, found, quiet)


if __name__ == "__main__":
    main()
