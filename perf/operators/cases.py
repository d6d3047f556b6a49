"""A case of perf/operators: the same data, network and training for Mylos and for neuraloperator, and a table of their errors.

Each training writes its predictions to the case's folder; those of earlier calls with the same settings are used again.
"""
import dataclasses
import json
import pathlib
import shutil
import sys
import time

import h5py
import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from decks import deck_text  # noqa: E402: the path is set first
import harness  # noqa: E402

EPSILONS = {"adamw": 1e-6, "adam": 1e-8}  # the defaults of neuraloperator's AdamW and PyTorch's Adam
GENERATORS = harness.ROOT / "inputs/data"


@dataclasses.dataclass
class Case:
    name: str
    axes: str  # of the grid: "y x"
    input: str  # arrays of the files
    target: str
    modes: list
    width: int
    blocks: int
    loss: str
    optimizer: str
    lr: float
    weight_decay: float
    schedule: str  # "cosine" or "step", which halves the rate
    schedule_epochs: int
    epochs: int
    batch: int
    padding: float = 0.0  # points at both ends of an axis per point of the grid


@dataclasses.dataclass
class Data:
    """Files with the arrays of a case, and how their targets are converted: raw = stored * scale + shift."""
    train: pathlib.Path
    tests: dict
    scale: float = 1.0
    shift: float = 0.0


def relative(error, truth):
    """The mean over samples of the ratio of Euclidean norms."""
    def norm(values):
        return numpy.sqrt((values.reshape(len(values), -1) ** 2).sum(axis=1))
    return float((norm(error) / norm(truth)).mean())


def with_differences(values):
    """[samples, parts, ...]: the values, and central differences along each axis on a periodic grid of length 1. These are the
    parts of neuraloperator's H1 norm, whose results are published."""
    differences = [(numpy.roll(values, -1, axis) - numpy.roll(values, 1, axis)) * (values.shape[axis] / 2)
                   for axis in range(1, values.ndim)]
    return numpy.stack([values, *differences], axis=1)


def errors_of(case, data, predictions):
    """{test: (relative L2, relative H1)} in the units of the data."""
    errors = {}
    for test, path in data.tests.items():
        with h5py.File(path) as file, h5py.File(predictions[test][0]) as predicted:
            truth = file[case.target][()].astype(float) * data.scale + data.shift
            found = predicted[predictions[test][1]][()].astype(float) * data.scale + data.shift
        assert found.shape == truth.shape, f"{predictions[test]}: {found.shape} for {truth.shape}"
        errors[test] = (relative(found - truth, truth), relative(with_differences(found - truth), with_differences(truth)))
    return errors


def samples_of(case, data):
    with h5py.File(data.train) as file:
        return len(file[case.input])


def run(line, folder, threads):
    """What the program prints; one that fails ends this one."""
    return harness.output_of(line, cwd=folder, env=harness.environment(threads) | {"WANDB_MODE": "disabled"})


def train(deck, folder, stem, arguments):
    """Trains by a deck, which becomes STEM.toml of the folder. The run's folder, and the seconds of `mylos train`."""
    run_folder = folder / f"run-{stem}"
    shutil.rmtree(run_folder, ignore_errors=True)
    (folder / f"{stem}.toml").write_text(deck, encoding="utf-8")
    begin = time.perf_counter()
    run([arguments.mylos, "train", f"{stem}.toml", f"run.folder={run_folder.name}"], folder, arguments.threads)
    return run_folder, time.perf_counter() - begin


def precision_of(compute):
    """[precision], with the layers that stay in float."""
    return {"compute": compute, "rules": None if compute == "fp32" else {"head": "fp32"}}


def updates_of(epochs, case, samples):
    """An epoch of neuraloperator ends with a smaller batch; ours takes the same number of updates, with complete batches."""
    return epochs * -(-samples // case.batch)


def schedule_of(case, samples):
    updates = updates_of(case.schedule_epochs, case, samples)
    if case.schedule == "cosine":
        return {"type": "cosine", "steps": updates}
    return {"type": "step", "step_size": updates, "factor": 0.5}


def our_deck(case, data, compute, seed, threads):
    samples = samples_of(case, data)
    steps = updates_of(case.epochs, case, samples)
    # The published losses are sums over the samples of a batch, ours are means. Adam adds the decay to the gradient, and epsilon to
    # the root of its squares, so that these are for a mean what smaller ones are.
    decay = case.weight_decay / case.batch if case.optimizer == "adam" else case.weight_decay
    return deck_text(
        run={"name": case.name, "steps": steps, "seed": seed, "threads": threads, "log_every": 1000, "evaluate_every": steps},
        data={"train": data.train.name, "batch": case.batch, "last_batch": "join", "normalize": "none"},
        data__arrays={"inputs": [f"/{case.input}"], "targets": [f"/{case.target}"], "axes": f"sample {case.axes}"},
        model={"type": "fno", "modes": case.modes, "width": case.width, "blocks": case.blocks, "padding": case.padding or None,
               "loss": case.loss},
        precision=precision_of(compute),
        optimizer={"type": case.optimizer, "lr": case.lr, "weight_decay": decay, "epsilon": EPSILONS[case.optimizer] / case.batch},
        schedule=schedule_of(case, samples), checkpoint={"every": 0})


def cached(folder, stem, settings, compute):
    """The result of `compute`, or that of an earlier call with these settings."""
    path = folder / f"{stem}.json"
    if path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["settings"] == settings:
            return stored["result"]
    result = compute()
    path.write_text(json.dumps({"settings": settings, "result": result}), encoding="utf-8")
    return result


def our_result(case, data, compute, seed, arguments):
    folder, stem = data.train.parent, f"{case.name}-{compute}-{seed}"
    deck = our_deck(case, data, compute, seed, arguments.threads)

    def compute_result():
        run_folder, seconds = train(deck, folder, stem, arguments)
        predictions = {}
        for test, path in data.tests.items():
            out = folder / f"{stem}-{test}.h5"
            out.unlink(missing_ok=True)
            run([arguments.mylos, "predict", run_folder.name, path.name, out.name], folder, arguments.threads)
            predictions[test] = (out, case.target)
        return {"seconds": seconds, "errors": errors_of(case, data, predictions)}

    return cached(folder, stem, deck, compute_result)


def anchor_result(case, data, seed, arguments):
    folder, stem = data.train.parent, f"{case.name}-anchor-{seed}"
    out = folder / f"{stem}-predictions.h5"
    settings = dataclasses.asdict(case) | {
        "train": str(data.train), "tests": {test: str(path) for test, path in data.tests.items()}, "seed": seed,
        "threads": arguments.threads, "out": str(out)}

    def compute_result():
        written = folder / f"{stem}-settings.json"
        written.write_text(json.dumps(settings), encoding="utf-8")
        run([arguments.anchor_python, HERE / "anchor.py", written], folder, arguments.threads)
        with h5py.File(out) as file:
            seconds = float(file.attrs["seconds"])
        return {"seconds": seconds, "errors": errors_of(case, data, {test: (out, test) for test in data.tests})}

    return cached(folder, stem, settings, compute_result)


def basic_parser(description, *, seeds):
    """The options of every script."""
    parser = harness.parser_of(description)
    add = parser.add_argument
    add("--build", type=pathlib.Path, default=harness.ROOT / "build/host", help="the build whose bin/mylos trains")
    add("--seeds", type=int, default=seeds, help="trainings of each")
    add("--threads", type=int, default=2)
    add("--folder", type=pathlib.Path, default=pathlib.Path("operator-results"), help="for data, runs and predictions")
    return parser


def parser_of(description, *, seeds):
    """The options of every case."""
    parser = basic_parser(description, seeds=seeds)
    add = parser.add_argument
    add("--anchor-python", type=pathlib.Path, help="that of the environment with neuraloperator; without it ours alone is trained")
    add("--types", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16", "fp16"], help="precision.compute of ours")
    return parser


def folder_of(arguments, name):
    arguments.mylos = (arguments.build / "bin/mylos").resolve()
    if not arguments.mylos.exists():
        raise SystemExit(f"{arguments.mylos} does not exist: build the target mylos, or name another --build")
    folder = (arguments.folder / name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def generate(generator, path, *settings):
    """A file of pairs by a program of inputs/data, unless it exists. Settings belong in its name or folder."""
    if not path.exists():
        partial = path.with_suffix(".partial")
        harness.finished(["/usr/bin/python3", GENERATORS / generator, "--out", partial, *settings])
        partial.rename(path)
    return path


def print_row(name, results, tests):
    for measure, column in (("L2", 0), ("H1", 1)):
        for test in tests:
            values = [result["errors"][test][column] for result in results]
            numbers = " ".join(f"{value:.4f}" for value in values)
            print(f"  {name:<24}{test:<12}relative {measure}   mean {sum(values) / len(values):.4f}   seeds {numbers}")
    seconds = sorted(result["seconds"] for result in results)
    print(f"  {name:<24}training {seconds[len(seconds) // 2]:.1f} s (median)", flush=True)


def compare(case, data, published, arguments):
    """Trains interleaved, so that a busy machine is busy for all, and prints the table."""
    theirs, ours = [], {compute: [] for compute in arguments.types}
    for seed in range(1, arguments.seeds + 1):
        if arguments.anchor_python:
            theirs.append(anchor_result(case, data, seed, arguments))
        for compute, results in ours.items():
            results.append(our_result(case, data, compute, seed, arguments))
    print(f"{case.name}: modes {case.modes}, width {case.width}, {case.blocks} blocks, {samples_of(case, data)} samples, "
          f"{case.epochs} epochs, {arguments.seeds} seeds, {arguments.threads} threads")
    for line in published:
        print(f"  published: {line}")
    if theirs:
        print_row("neuraloperator", theirs, data.tests)
    for compute, results in ours.items():
        print_row(f"Mylos {compute}", results, data.tests)
