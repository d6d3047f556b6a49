#!/usr/bin/python3
"""Trains APEBench's networks on its data, by its own code and by Mylos, and compares errors of rollouts and times.

usage: compare.py MYLOS PYTHON [--scenario NAME] [--seeds N] [--steps N] [--types fp32 bf16] [--through 1 4]
                  [--threads N] [--folder FOLDER]
--through: numbers of its own steps through which Mylos trains the network ([rollout]).
PYTHON: of the environment that has apebench (README.md). Results of earlier calls in FOLDER are used again.
"""
import json
import math
import os
import pathlib
import shutil
import sys
import time

import h5py
import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from decks import deck_text, layer  # noqa: E402: the path is set first
import harness  # noqa: E402

JUDGED = 100  # levels of a rollout, over whose errors the geometric mean is taken
BATCH = 20

# What APEBench calls these networks, and the layers of them.
NETWORKS = {"advection": "Conv;34;10;relu", "burgers": "Res;26;8;relu", "ks": "Res;26;8;relu"}


def layers_of(network):
    """The network as a chain of layers."""
    kind, width, depth, activation = network.split(";")
    width, depth = int(width), int(depth)
    periodic = layer("conv", outputs=width, kernel=3, edges="periodic")
    if kind == "Conv":
        return [periodic | {"activation": activation}] * depth + [periodic | {"outputs": 1, "name": "head"}]
    layers, before = [layer("conv", outputs=width, kernel=1, name="lift")], "lift"
    for block in range(depth):
        layers += [periodic | {"activation": activation}, periodic]
        layers.append(layer("add", skip_from=before, activation=activation, name=f"block{block}"))
        before = f"block{block}"
    return [*layers, layer("conv", outputs=1, kernel=1, name="head")]


def deck_of(arguments, scenario, seed, number_type, through):
    return deck_text(
        run={"name": scenario, "steps": arguments.steps, "seed": seed + 1, "evaluate_every": arguments.steps, "log_every": 1000,
             "threads": arguments.threads},
        data={"train": "train.h5", "batch": BATCH}, data__arrays={"inputs": ["/u"], "targets": ["/u"], "axes": "sample time x"},
        model={"type": "chain", "loss": "mse"}, layers=layers_of(NETWORKS[scenario]),
        precision={"compute": number_type, "rules": {"head": "fp32"} if number_type != "fp32" else None},
        optimizer={"type": "adam", "lr": 1e-3, "weight_decay": 0.0},
        schedule={"type": "cosine", "warmup": arguments.steps // 5}, checkpoint={"every": arguments.steps},
        rollout={"steps": through} if through > 1 else None)


def write_trajectories(folder, python, scenario, environment):
    """Its training and test trajectories, [sample, time, x] in a file each."""
    if not (folder / "test.npy").exists():
        harness.finished([python, HERE / "their.py", "data", scenario, folder], env=environment)
    for part in ("train", "test"):
        with h5py.File(folder / f"{part}.h5", "w") as file:
            file["u"] = numpy.load(folder / f"{part}.npy")[:, :, 0]


def their_result(folder, arguments, scenario, seed, environment):
    out = folder / f"their-{seed}-{arguments.steps}.json"
    if not out.exists():
        harness.finished([arguments.python, HERE / "their.py", "train", scenario, NETWORKS[scenario], arguments.steps, seed, out],
                         env=environment)
    return json.loads(out.read_text(encoding="utf-8"))


def our_result(folder, arguments, scenario, seed, number_type, through, environment):
    """Training by `mylos train`, from start to end of the process; the rollouts by `mylos rollout`, from all test trajectories at once."""
    name = number_type if through == 1 else f"{number_type}-through-{through}"
    return harness.cached(folder / f"our-{name}-{seed}-{arguments.steps}.json",
                          lambda: train(name, folder, arguments, scenario, seed, number_type, through, environment))


def train(name, folder, arguments, scenario, seed, number_type, through, environment):
    """The seconds of a training and the errors of its rollouts."""
    run = folder / f"run-{name}-{seed}"
    shutil.rmtree(run, ignore_errors=True)
    deck = folder / f"{name}-{seed}.toml"
    deck.write_text(deck_of(arguments, scenario, seed, number_type, through), encoding="utf-8")
    begin = time.perf_counter()
    harness.finished([arguments.mylos, "train", deck.name, f"run.folder={run.name}"], cwd=folder, env=environment)
    seconds = time.perf_counter() - begin
    predicted = f"rollout-{name}-{seed}.h5"
    harness.finished([arguments.mylos, "rollout", run.name, "test.h5", "--steps", JUDGED, "--out", predicted], cwd=folder, env=environment)
    with h5py.File(folder / "test.h5") as right, h5py.File(folder / predicted) as ours:
        reference = right["u"][:, 1:JUDGED + 1].astype(float)
        levels = ours["u"][:, -JUDGED:].astype(float)
    squares = ((levels - reference) ** 2).mean(axis=2) / (reference ** 2).mean(axis=2)
    return {"seconds": seconds, "errors": numpy.sqrt(squares).mean(axis=0).tolist()}


def geometric_mean(errors):
    """Of the first levels; infinite as soon as one is not finite."""
    judged = errors[:JUDGED]
    return math.exp(sum(map(math.log, judged)) / len(judged)) if all(map(math.isfinite, judged)) else math.inf


def row(name, results, fastest=None):
    means = sorted(geometric_mean(result["errors"]) for result in results)
    seconds = sorted(result["seconds"] for result in results)
    middle = len(means) // 2
    ratio = f"{fastest / seconds[middle]:.2f}" if fastest else ""
    print(f"  {name:<16}{means[middle]:>10.4f}   {means[0]:.4f} to {means[-1]:.4f}{seconds[middle]:>12.1f} s{ratio:>12}", flush=True)
    return seconds[middle]


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("mylos", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("python")
    parser.add_argument("--scenario", choices=NETWORKS, action="append")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--types", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--through", nargs="+", type=int, default=[1])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("apebench-results"))
    arguments = parser.parse_args()
    environment = harness.environment(arguments.threads) | {"JAX_PLATFORMS": "cpu"}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:arguments.threads])  # XLA takes all that it may
    for scenario in arguments.scenario or NETWORKS:
        folder = (arguments.folder / scenario).resolve()
        write_trajectories(folder, arguments.python, scenario, environment)
        theirs, ours = [], {(number_type, through): [] for number_type in arguments.types for through in arguments.through}
        for seed in range(arguments.seeds):  # interleaved, so that a busy machine is busy for all
            theirs.append(their_result(folder, arguments, scenario, seed, environment))
            for key, results in ours.items():
                results.append(our_result(folder, arguments, scenario, seed, *key, environment))
        print(f"{scenario}, {NETWORKS[scenario]}, {arguments.steps} steps, {arguments.seeds} seeds\n"
              f"  {'':<16}{'median':>10}   of seeds{'':<10}training      faster")
        slow = row("APEBench", theirs)
        for (number_type, through), results in ours.items():
            row(f"Mylos {number_type}" + (f" K = {through}" if through > 1 else ""), results, slow)


if __name__ == "__main__":
    main()
