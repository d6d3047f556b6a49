"""Decks of networks without data, tensors for their weights, and the outputs of a checkpoint, for tests of weights from other programs."""
import numpy

from support.command import Command


def deck(name, model, shape=None):
    """The deck of a network without data, which states its sizes."""
    grid = f"shape = {shape}\n" if shape else ""
    return (f'[run]\npeak_flops = 1e12\nname = "{name}"\n[data]\nbatch = 8\n{grid}[precision]\ncompute = "fp32"\n'
            f'[model]\nloss = "mse"\n{model}\n')


def random_tensors(shapes, dtype=numpy.float32):
    source = numpy.random.default_rng(2)
    return {name: source.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def outputs_of(command, program, checkpoint, x):
    x.astype(numpy.float32).tofile(command.folder / "x.bin")
    Command(program, command.folder).must(checkpoint, "x.bin", "float", "right", "y.bin")
    return numpy.fromfile(command.folder / "y.bin", numpy.float32)
