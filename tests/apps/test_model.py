"""A trained model inside a program that never starts MPI: bit for bit the outputs of `mylos predict`, whatever its arrays."""

import numpy

from small_problem import DECK, prepare
from support.cases import run_cases
from support.command import Command
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint

SAMPLES = 1500  # more than a piece
GRID = deck_text(run=dict(name="grid", steps=4), data=dict(train="grid.h5", shape=[6, 5, 2], batch=64, normalize="channel"),
                 model=dict(type="chain", loss="mse"),
                 layers=[layer("conv", outputs=8, kernel=3, norm="groupnorm", activation="relu"),
                         layer("conv", outputs=3, kernel=3)], precision=dict(compute="fp32"))
VECTOR = deck_text(run=dict(name="vector", steps=4), data=dict(train="vector.h5", batch=64, normalize="standard"),
                   model=dict(type="mlp", hidden=[700, 40], activation="gelu", loss="mse"), precision=dict(compute="fp32"))


def write_random(path, inputs, targets):
    source = numpy.random.default_rng(3)
    write_data(path, inputs=(source.normal(size=(SAMPLES, inputs)) * numpy.arange(1, inputs + 1) + 100).astype("f4"),
               targets=(source.normal(size=(SAMPLES, targets)) * 1e-3 - 7).astype("f4"))


def outputs_of(program, command, checkpoint, inputs, width, *how):
    inputs.astype("f4").tofile(command.folder / "in.bin")
    Command(program, command.folder).must(checkpoint, "in.bin", *how[:2], "out.bin", *how[2:])
    return numpy.fromfile(command.folder / "out.bin", "f4").reshape(-1, width)


def predicted(command, checkpoint, data):
    command.must("predict", str(checkpoint), data, "predicted.h5")
    return read_data(command.folder / "predicted.h5", "outputs")


def check_equal(program, command, checkpoint, data):
    expected = predicted(command, checkpoint, data)
    inputs = read_data(command.folder / data, "inputs")
    for element in ("float", "double"):
        for layout in ("right", "left", "stride"):
            found = outputs_of(program, command, checkpoint, inputs, expected.shape[1], element, layout)
            assert found.tobytes() == expected.tobytes(), f"{checkpoint}: {element}, {layout}: {numpy.abs(found - expected).max()}"
    raw = outputs_of(program, command, checkpoint, inputs, expected.shape[1], "float", "right", "network")
    assert not numpy.allclose(raw, expected), "the network's own units are others"


def check_outputs(command, program):
    write_random(command.folder / "vector.h5", 5, 3)
    write_random(command.folder / "grid.h5", 60, 90)
    for name, deck, data in (("vector", VECTOR, "vector.h5"), ("grid", GRID, "grid.h5"), ("small", DECK, "test.h5")):
        command.write(f"{name}.toml", deck)
        for compute in ("fp32", "bf16", "fp16"):
            command.must("train", f"{name}.toml", f"precision.compute={compute}", f"run.folder=runs/{name}-{compute}")
            check_equal(program, command, last_checkpoint(command, f"runs/{name}-{compute}"), data)
    result = Command(program, command.folder).must("no.h5", "in.bin", "float", "right", "out.bin", code=2)
    assert result.stderr == "no.h5: there is no such file [no-such-file]\n", result.stderr


run_cases(prepare, check_outputs, arguments=["program"])
