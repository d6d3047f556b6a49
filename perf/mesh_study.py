#!/usr/bin/python3
"""How long a step takes when two ranks of one thread share each sample (mesh.space), compared with one rank of two threads; and
what the same bits on every division cost (run.reproducible and mesh.sums), compared with the same engine without.

U-Nets on planes of 64 x 64 and 128 x 128 points and on a volume of 48 points a side, and a Fourier operator on 128 x 128 points, one
sample in a step. The starts take turns, and the ratio is formed within a round. Time is the median of the steps in the second half of
a run.

  perf/mesh_study.py [--mylos build/host/bin/mylos] [--rounds 5] [--steps 20] [--type fp32]
"""
import pathlib
import shutil
import tempfile

import h5py
import numpy

import harness
from decks import deck_text
from harness.runs import STEPS_ONLY, samples_per_s

UNET = dict(type="unet", blocks=2, fields=2, edges="periodic", norm="none", activation="gelu")
NETWORKS = {"plane 64": ((64, 64), dict(UNET, channels=[16, 32, 64])), "plane 128": ((128, 128), dict(UNET, channels=[16, 32, 64])),
            "volume 48": ((48, 48, 48), dict(UNET, channels=[8, 16, 32])),
            "fno 128": ((128, 128), dict(type="fno", width=32, blocks=4, modes=12, fields=2))}
BAR = 1.10
TILES = "kernels.gemm=tiles"  # the engine of reproducible divisions
AXES = ("z", "y", "x")


def write_data(path, extents):
    source = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for name in ("u", "v"):
            file[name] = source.standard_normal((8, *extents)).astype("f4")


def deck_of(extents, model, steps, compute):
    return deck_text(run=dict(name="mesh", steps=steps, log_every=2), data=dict(train="data.h5", batch=1, normalize="channel"),
                     data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], axes="time " + " ".join(AXES[-len(extents):])),
                     model=dict(model, loss="mse"),
                     precision=dict(compute=compute), optimizer=dict(lr=1e-4))


def seconds_of_steps(arguments, folder, ranks, threads, *keys):
    """Seconds of a step."""
    shutil.rmtree(folder / f"run-{ranks}", ignore_errors=True)
    command = [arguments.mylos, "train", "deck.toml", f"run.folder=run-{ranks}", f"run.threads={threads}", *STEPS_ONLY, *keys]
    if ranks > 1:
        command = harness.on_ranks(ranks) + command
    harness.finished(command, cwd=folder, env=harness.environment(threads))
    return 1 / samples_per_s(folder / f"run-{ranks}")


def main():
    parser = harness.parser_of(__doc__)
    harness.add_mylos_option(parser)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--type", default="fp32", choices=harness.TYPES)
    parser.add_argument("--patience", type=float, default=30, help="seconds that a turn waits for an idle machine")
    arguments = parser.parse_args()
    arguments.mylos = str(pathlib.Path(arguments.mylos).resolve())
    harness.print_machine("a step of divided samples", 2)
    for name, (extents, model) in NETWORKS.items():
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            write_data(folder / "data.h5", extents)
            (folder / "deck.toml").write_text(deck_of(extents, model, arguments.steps, arguments.type), encoding="utf-8")
            space = [2] + [1] * (len(extents) - 1)
            divided = f"mesh.space={space}"
            starts = {"whole": (1, 2), "divided": (2, 1, divided), "tiles": (2, 1, divided, TILES),
                      "same bits": (2, 1, divided, TILES, "data.micro_batch=1", "run.reproducible=true", f"mesh.sums={space}")}
            times = harness.measured(
                arguments.rounds,
                {start: lambda folder=folder, how=how: seconds_of_steps(arguments, folder, *how) for start, how in starts.items()},
                harness.Quiet(arguments.patience), unit="s")
            for side, other, meaning in (("divided", "whole", "two ranks of one thread / one rank of two"),
                                         ("same bits", "tiles", "the same bits on every division / without")):
                ratio = harness.median_ratio(times[side], times[other])
                print(f"{name:10} {meaning:42} {harness.spread(harness.ratios(times[side], times[other]))}  bar {BAR:.2f}: "
                      f"{harness.met(ratio <= BAR)}", flush=True)


if __name__ == "__main__":
    main()
