"""Programs in C, C++ and Fortran, compiled against the build tree or an installed prefix; and a trained network for them.

All compilers get warnings as errors."""
import os
import pathlib
import subprocess
import sys

import h5py
import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "apps"))
from support.command import LAUNCHER, Command, environment
from support.data_files import read_data
from support.decks import deck_text
from support.run_folders import last_checkpoint

SKIPPED = 77
FEATURES, OUTPUTS = 6, 3
DECK = deck_text(run=dict(name="closure", epochs=2), data=dict(train="closure.h5", batch=64, normalize="standard"),
                 model=dict(type="mlp", hidden=[24, 16], loss="mse"), precision=dict(compute="{type}"),
                 optimizer=dict(lr=1e-2, average=0.9))
ONLINE_DECK = deck_text(run=dict(peak_flops=None, name="online", steps=100), data=dict(micro_batch=32),
                        model=dict(inputs=6, outputs=3, hidden=[24, 16], loss="mse"), precision=dict(compute="{type}"),
                        optimizer=dict(lr=1e-2))


def run(line, folder, **options):
    """The finished process, which must succeed."""
    line = list(map(str, line))
    variables = options.pop("variables", {})
    result = subprocess.run(line, cwd=folder, env=environment() | variables, capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{line}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def run_silent(line, folder, **options):
    """As run(), of a program that prints "ok" alone: the library prints nothing."""
    result = run(line, folder, **options)
    assert result.stderr == "" and set(result.stdout.split()) == {"ok"}, f"{line} printed\n{result.stdout}\n{result.stderr}"


def on_ranks(ranks, program, *arguments):
    return [*LAUNCHER, "-n", ranks, program, *arguments]


class Compilers:
    """Those of the build, and where its header, module and library are."""

    def __init__(self, build, source, cxx):
        self.library = pathlib.Path(build) / "lib"
        self.include = pathlib.Path(source) / "include"
        self.cxx = cxx
        self.link = [f"-L{self.library}", f"-Wl,-rpath,{self.library}", "-lmylos"]

    def c(self, source, folder, compiler="gcc", flags=(), libraries=()):
        program = folder / pathlib.Path(source).stem
        run([compiler, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", *flags, f"-I{self.include}", HERE / source,
             "-o", program, *self.link, *libraries], folder)
        return program

    def fortran(self, source, folder, compiler="gfortran", flags=()):
        program = folder / pathlib.Path(source).stem
        module = self.include / "mylos/fortran"
        names = ("mylos_c", "mylos_errors", "mylos_arrays", "mylos_models", "mylos_ensembles", "mylos_trainers", "mylos")
        line = [compiler, "-std=f2018", "-Wall", "-Wextra", "-Werror", "-O1", *flags, f"-J{folder}"]
        run([*line, "-c", *(module / f"{name}.f90" for name in names)], folder)
        # The programs compare bits, call functions in conditions, and pass an array that is not allocated.
        run([*line, "-Wno-compare-reals", "-Wno-function-elimination", "-Wno-uninitialized", "-Wno-maybe-uninitialized", HERE / source,
             *(folder / f"{name}.o" for name in names), "-o", program, *self.link], folder)
        return program


def has(program):
    return any(os.access(pathlib.Path(folder) / program, os.X_OK) for folder in os.environ["PATH"].split(":"))


def skip_without(*programs):
    missing = [program for program in programs if not has(program)]
    if missing:
        print(f"not on this machine: {', '.join(missing)}")
        sys.exit(SKIPPED)


def write_table(path, rows, seed, unusual=False):
    """Writes rows of the closure. `unusual`: every seventh is unlike the others."""
    source = numpy.random.default_rng(seed)
    x = source.normal(2, 3, (rows, FEATURES)).astype(numpy.float32)
    if unusual:
        x[::7] *= 3
    y = numpy.stack([x[:, 0] * x[:, 1], numpy.sin(x[:, 2]), x[:, 3] - x[:, 4] + x[:, 5]], axis=1)
    names = [f"x{i}" for i in range(FEATURES)] + [f"y{i}" for i in range(OUTPUTS)]
    numpy.savetxt(path, numpy.concatenate([x, y], axis=1), delimiter=",", fmt="%.9g", header=",".join(names), comments="")


def train_closure(mylos, folder, number_type):
    """A network on normalised data: its checkpoint, float inputs and what `mylos predict` makes of them, as raw files: with its
    weights, and with their average."""
    command = Command(mylos, folder)
    targets = ",".join(f"y{i}" for i in range(OUTPUTS))
    for name, rows, seed in (("closure", 400, 1), ("columns", 150, 2)):
        write_table(folder / f"{name}.csv", rows, seed, unusual=name == "columns")
        command.must("prepare", "csv", f"{name}.csv", "--targets", targets, "--out", f"{name}.h5")
    command.write("deck.toml", DECK.format(type=number_type))
    command.must("train", "deck.toml", f"run.folder=runs/{number_type}")
    checkpoint = last_checkpoint(command, f"runs/{number_type}")
    with h5py.File(folder / "columns.h5") as file:
        inputs = file["inputs"][()] if "inputs" in file else file["features"][()]
    for name, options in ((number_type, []), (f"{number_type}_average", ["--average"])):
        command.must("predict", checkpoint, "columns.h5", f"{name}.h5", *options)
        read_data(folder / f"{name}.h5", "outputs").astype(numpy.float32).tofile(folder / f"{name}.bin")
    inputs.astype(numpy.float32).tofile(folder / "inputs.bin")
    return checkpoint, len(inputs)


def train_ensemble(mylos, folder):
    """Three networks of other seeds: a model file without statistics of inputs, the number of rows, and the model files. The
    raw file expected.bin has what NumPy makes of them: flags, distances, mean and standard deviation of the outputs."""
    checkpoint, rows = train_closure(mylos, folder, "fp32")
    command = Command(mylos, folder)
    models, outputs = [], []
    for seed in range(3):
        command.must("train", "deck.toml", f"run.folder=seed{seed}", f"run.seed={seed}")
        models.append(f"seed{seed}.h5")
        command.must("export", f"seed{seed}", models[-1], "--input-statistics")
        command.must("predict", models[-1], "columns.h5", "outputs.h5")
        outputs.append(read_data(folder / "outputs.h5", "outputs").astype("f8"))
    command.must("export", checkpoint, "without.h5")
    inputs = numpy.fromfile(folder / "inputs.bin", "f4").reshape(rows, -1)
    training = read_data(folder / "closure.h5", "inputs")
    mean = training.mean(axis=0, dtype="f8")
    inverse = numpy.linalg.inv(numpy.cov(training.T.astype("f8")))
    distances = [numpy.sqrt(numpy.einsum("ni,ij,nj->n", x - mean, inverse, x - mean)) for x in (inputs.astype("f8"), training)]
    outside = ~((inputs >= training.min(axis=0)) & (inputs <= training.max(axis=0))).all(axis=1)
    flags = outside * 1 + (distances[0] > numpy.quantile(distances[1], 0.999)) * 2
    outputs = numpy.stack(outputs)
    expected = [flags, distances[0], outputs.mean(axis=0).ravel(), outputs.std(axis=0, ddof=1).ravel()]
    numpy.concatenate(expected).astype("f4").tofile(folder / "expected.bin")
    return "without.h5", rows, models
