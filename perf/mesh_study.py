#!/usr/bin/python3
"""How long a step takes when two ranks of one thread share each sample (mesh.space), compared with one rank of two threads.

U-Nets on planes of 64 x 64 and 128 x 128 points and on a volume of 48 points a side, one sample in a step. The starts take turns, and
the ratio is formed within a round. Time is the median
of the steps in the second half of a run.

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

NETWORKS = {"plane 64": ((64, 64), [16, 32, 64]), "plane 128": ((128, 128), [16, 32, 64]), "volume 48": ((48, 48, 48), [8, 16, 32])}
BAR = 1.10
AXES = ("z", "y", "x")


def write_data(path, extents):
    source = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for name in ("u", "v"):
            file[name] = source.standard_normal((8, *extents)).astype("f4")


def deck_of(extents, channels, steps, compute):
    return deck_text(run=dict(name="mesh", steps=steps, log_every=2), data=dict(train="data.h5", batch=1, normalize="channel"),
                     data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], axes="time " + " ".join(AXES[-len(extents):])),
                     model=dict(type="unet", channels=channels, blocks=2, fields=2, edges="periodic", norm="none", activation="gelu", loss="mse"),
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
    for name, (extents, channels) in NETWORKS.items():
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            write_data(folder / "data.h5", extents)
            (folder / "deck.toml").write_text(deck_of(extents, channels, arguments.steps, arguments.type), encoding="utf-8")
            space = [2] + [1] * (len(extents) - 1)
            times = harness.measured(arguments.rounds, {
                "whole": lambda folder=folder: seconds_of_steps(arguments, folder, 1, 2),
                "divided": lambda folder=folder, space=space: seconds_of_steps(arguments, folder, 2, 1, f"mesh.space={space}")},
                harness.Quiet(arguments.patience), unit="s")
            ratios = harness.ratios(times["divided"], times["whole"])
            print(f"{name:10} two ranks of one thread / one rank of two: {harness.spread(ratios)}  bar {BAR:.2f}: "
                  f"{harness.met(harness.median_ratio(times['divided'], times['whole']) <= BAR)}", flush=True)


if __name__ == "__main__":
    main()
