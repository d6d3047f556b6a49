#!/usr/bin/env python3
"""Compares a call of a trained network in a program with that of the same weights in ONNX Runtime, or by FTorch.

  perf/call_vs_runtimes.py [--network mlp resnet] [--samples 1 16 256] [--rounds 5] [--threads 1]
  perf/call_vs_runtimes.py --ftorch PREFIX          FTorch instead, which is installed there; of the mlp alone

The networks are an MLP of 64-256-256-256-32 with relu, and a residual network of 28 x 28 pixels and three stages. Mylos trains one
step, so that the weights are those of a run, and writes them as a model file, as ONNX, and for FTorch as safetensors, which PyTorch
turns into TorchScript. All of them get the same float rows in host memory, and compute in float, with the same number of threads;
programs are interleaved and ratios are formed within a round. Printed are also the largest differences of the
outputs of the calls.

ONNX Runtime is called from Python: the faster one of session.run and of arrays bound before. To show what of a call is not the
network's, "tiny" is an MLP of 1-8-1. Needs a build with benchmarks (call_bench, mylos) with ONNX, and --python with onnxruntime
(scripts/peers); for FTorch CMake, a Fortran compiler, and --python with the PyTorch that FTorch was built with.
"""

import array
import pathlib
import random
import tempfile

from decks import deck_text
import harness
from harness.runs import idx_bytes

PERF = harness.ROOT / "perf"
ROWS = 64  # of the data that the one step needs
# Features, outputs and the model's keys.
NETWORKS = {"tiny": (1, 1, {"type": "mlp", "hidden": [8], "activation": "relu", "loss": "mse"}),
            "mlp": (64, 32, {"type": "mlp", "hidden": [256, 256, 256], "activation": "relu", "loss": "mse"}),
            "resnet": (28 * 28, 10, {"type": "resnet", "channels": [16, 32, 64], "loss": "cross_entropy"})}


def must(folder, *command):
    """Runs a command in the folder; ends the comparison if it fails."""
    harness.finished(command, cwd=folder, env=harness.environment(1))


def write_table(path, features, outputs, source):
    names = [f"x{i}" for i in range(features)] + [f"y{i}" for i in range(outputs)]
    rows = [",".join(f"{source.uniform(-1, 1):.4f}" for _ in names) for _ in range(ROWS)]
    path.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")


def write_images(folder, classes, source):
    (folder / "images.idx").write_bytes(idx_bytes((ROWS, 28, 28), source.randbytes(ROWS * 28 * 28)))
    (folder / "labels.idx").write_bytes(idx_bytes((ROWS,), bytes(i % classes for i in range(ROWS))))


def train(folder, network, mylos, samples):
    """Trains one step in the folder, and writes the inputs of the calls."""
    features, outputs, model = NETWORKS[network]
    source = random.Random(1)
    if network == "resnet":
        write_images(folder, outputs, source)
        must(folder, mylos, "prepare", "idx", "images.idx", "labels.idx", "--out", "data.h5")
    else:
        write_table(folder / "table.csv", features, outputs, source)
        targets = ",".join(f"y{i}" for i in range(outputs))
        must(folder, mylos, "prepare", "csv", "table.csv", "--targets", targets, "--out", "data.h5")
    deck = deck_text(run={"name": "call", "steps": 1}, data={"train": "data.h5", "batch": 16}, precision={"compute": "fp32"}, model=model)
    (folder / "deck.toml").write_text(deck, encoding="utf-8")
    must(folder, mylos, "train", "deck.toml", "run.folder=run")
    must(folder, mylos, "export", "run", "model.h5")
    inputs = array.array("f", (source.uniform(0, 1) for _ in range(samples * features)))
    (folder / "inputs.bin").write_bytes(inputs.tobytes())


def onnxruntime_command(folder, network, arguments):
    must(folder, arguments.mylos, "export", "run", "model.onnx")
    return [arguments.python, PERF / "onnxruntime_call.py", folder / "model.onnx", folder / "inputs.bin", "--threads", arguments.threads]


def ftorch_command(folder, network, arguments):
    must(folder, arguments.mylos, "convert", "run", "model.safetensors")
    must(folder, arguments.python, PERF / "torchscript_of.py", "model.safetensors", "model.pt")
    must(folder, "cmake", "-S", PERF / "ftorch_call", "-B", "build", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={arguments.ftorch}")
    must(folder, "cmake", "--build", "build")
    return [folder / "build/ftorch_call", folder / "model.pt", folder / "inputs.bin", *NETWORKS[network][:2]]


def outputs_of(program, samples, path):
    program.ask(f"write {samples} {path}")
    return array.array("f", path.read_bytes())


def largest_difference(ours, theirs):
    """Of the largest output."""
    if len(ours) != len(theirs):
        raise SystemExit(f"{len(ours)} outputs are not {len(theirs)}")
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(map(abs, theirs))


def compare(network, arguments, quiet, folder):
    """{subject: {job: values}} of the network's calls, and of its outputs."""
    most = max(arguments.samples)
    train(folder, network, arguments.mylos, most)
    if arguments.ftorch:
        peer, command, forms = "FTorch", ftorch_command(folder, network, arguments), ("",)
    else:
        peer, command, forms = "ONNX Runtime", onnxruntime_command(folder, network, arguments), ("", "-bound")
    mylos = harness.start([arguments.bench, folder / "model.h5", folder / "inputs.bin"], arguments)
    theirs = harness.start(command, arguments)
    difference = largest_difference(outputs_of(mylos, most, folder / "ours.bin"), outputs_of(theirs, most, folder / "theirs.bin"))
    print(f"{network}: outputs differ by {difference:.1e} of the largest", flush=True)
    found = {f"{network} outputs": {"Mylos": [difference]}}
    for samples in arguments.samples:
        jobs = {"Mylos": lambda: mylos.number(f"step {samples} {arguments.steps}")}
        jobs |= {f"{peer}{form}": lambda form=form: theirs.number(f"step {samples}{form} {arguments.steps}") for form in forms}
        times = harness.measured(arguments.rounds, jobs, quiet)
        best = harness.best_of(times, [name for name in times if name != "Mylos"])
        print(f"  {network}, samples: {samples}   Mylos / {best} {harness.spread(harness.ratios(times['Mylos'], times[best]))}", flush=True)
        found[f"{network} {samples}"] = times
    mylos.close()
    theirs.close()
    return found


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "call_bench", 5)
    harness.add_python_option(parser)
    parser.set_defaults(threads=1)
    parser.add_argument("--rounds", type=int, default=5)
    harness.add_mylos_option(parser)
    parser.add_argument("--network", nargs="+", choices=NETWORKS, help="default: all, with --ftorch tiny and mlp")
    parser.add_argument("--samples", nargs="+", type=int, default=[1, 16, 256], help="numbers of samples of a call")
    parser.add_argument("--ftorch", type=pathlib.Path, metavar="PREFIX", help="where FTorch is installed")
    arguments = harness.read_options(parser)
    if arguments.instructions:
        parser.error("--instructions limits neither call_bench nor ONNX Runtime")
    networks = arguments.network or [name for name in NETWORKS if name != "resnet" or not arguments.ftorch]
    if arguments.ftorch and "resnet" in networks:
        parser.error("torchscript_of.py knows MLPs alone: --ftorch does not go with --network resnet")
    harness.print_machine("Calls of networks in float", arguments.threads)
    quiet = harness.Quiet(arguments.patience)
    found = {}
    for network in networks:
        with tempfile.TemporaryDirectory() as folder:
            found |= compare(network, arguments, quiet, pathlib.Path(folder))
    quiet.report()
    harness.store(arguments.json, found, quiet)


if __name__ == "__main__":
    main()
