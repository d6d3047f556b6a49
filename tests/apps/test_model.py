"""A trained model inside a program that never starts MPI: bit for bit the outputs of `mylos predict`, whatever its arrays.

usage: test_model.py MYLOS MODEL_OUTPUTS
"""
import subprocess
import sys
import tempfile

import h5py
import numpy

from small_problem import DECK, prepare
from support.command import Command, environment
from support.run_folders import last_checkpoint

SAMPLES = 1500  # more than a piece
GRID = """[run]
peak_flops = 1e12
name = "grid"
steps = 4
[data]
train = "grid.h5"
shape = [6, 5, 2]
batch = 64
normalize = "channel"
[model]
type = "chain"
loss = "mse"
[[model.layers]]
kind = "conv"
outputs = 8
kernel = 3
norm = "groupnorm"
activation = "relu"
[[model.layers]]
kind = "conv"
outputs = 3
kernel = 3
[precision]
compute = "fp32"
"""
VECTOR = """[run]
peak_flops = 1e12
name = "vector"
steps = 4
[data]
train = "vector.h5"
batch = 64
normalize = "standard"
[model]
type = "mlp"
hidden = [700, 40]
activation = "gelu"
loss = "mse"
[precision]
compute = "fp32"
"""


def write_data(path, inputs, targets):
    source = numpy.random.default_rng(3)
    with h5py.File(path, "w") as file:
        file["inputs"] = (source.normal(size=(SAMPLES, inputs)) * numpy.arange(1, inputs + 1) + 100).astype("f4")
        file["targets"] = (source.normal(size=(SAMPLES, targets)) * 1e-3 - 7).astype("f4")


def outputs_of(program, command, checkpoint, inputs, width, *how):
    inputs.astype("f4").tofile(command.folder / "in.bin")
    line = [program, str(checkpoint), "in.bin", *how[:2], "out.bin", *how[2:]]
    result = subprocess.run(line, cwd=command.folder, env=environment(), capture_output=True, text=True)
    assert result.returncode == 0, f"{line}: {result.stderr}"
    return numpy.fromfile(command.folder / "out.bin", "f4").reshape(-1, width)


def predicted(command, checkpoint, data):
    command.must("predict", str(checkpoint), data, "predicted.h5")
    with h5py.File(command.folder / "predicted.h5") as file:
        return file["outputs"][:]


def check_equal(program, command, checkpoint, data):
    expected = predicted(command, checkpoint, data)
    with h5py.File(command.folder / data) as file:
        inputs = file["inputs"][:]
    for element in ("float", "double"):
        for layout in ("right", "left", "stride"):
            found = outputs_of(program, command, checkpoint, inputs, expected.shape[1], element, layout)
            assert found.tobytes() == expected.tobytes(), f"{checkpoint}: {element}, {layout}: {numpy.abs(found - expected).max()}"
    raw = outputs_of(program, command, checkpoint, inputs, expected.shape[1], "float", "right", "network")
    assert not numpy.allclose(raw, expected), "the network's own units are others"


def main():
    mylos, program = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        command = Command(mylos, folder)
        write_data(command.folder / "vector.h5", 5, 3)
        write_data(command.folder / "grid.h5", 60, 90)
        prepare(command, DECK)
        for name, deck, data in (("vector", VECTOR, "vector.h5"), ("grid", GRID, "grid.h5"), ("small", DECK, "test.h5")):
            (command.folder / f"{name}.toml").write_text(deck, encoding="utf-8")
            for compute in ("fp32", "bf16", "fp16"):
                command.must("train", f"{name}.toml", f"precision.compute={compute}", f"run.folder=runs/{name}-{compute}")
                check_equal(program, command, last_checkpoint(command, f"runs/{name}-{compute}"), data)
        result = subprocess.run([program, "no.h5", "in.bin", "float", "right", "out.bin"], cwd=command.folder, env=environment(),
                                capture_output=True, text=True)
        assert result.returncode == 2 and result.stderr == "no.h5: there is no such file [no-such-file]\n", result.stderr


main()
