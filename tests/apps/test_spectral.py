"""Trained spectral layers compute what NumPy's FFT computes in double with the weights of their checkpoint: on the grid of the
training and on others, of odd and prime extents too, in every type. A grid that lacks a wave number is refused."""

import h5py
import numpy

from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint

INPUTS, OUTPUTS, SAMPLES = 3, 2, 4
AXES = "z y x".split()
# modes: the grid of the training, and others.
GRIDS = {(8,): [(16,), (15,), (17,), (31,), (8,)],
         (7,): [(9,), (7,), (12,)],
         (4, 6): [(8, 12), (7, 11), (13, 17), (4, 6), (16, 9)],
         (5, 3): [(5, 6), (23, 4)],
         (3, 4, 5): [(4, 6, 8), (3, 5, 7), (5, 4, 6), (7, 8, 5)]}
# Largest relative errors in the Euclidean norm: a few roundings of inputs, coefficients, weights, matrices and outputs.
BOUNDS = {"fp32": 1e-6, "bf16": 8 * 2.0 ** -9, "fp16": 8 * 2.0 ** -12}


def write_fields(path, grid, seed):
    random = numpy.random.default_rng(seed)
    write_data(path, f=random.normal(size=(SAMPLES, *grid, INPUTS)).astype(numpy.float32),
               g=random.normal(size=(SAMPLES, *grid, OUTPUTS)).astype(numpy.float32))


def kept(modes):
    """The wave numbers of each axis, from the lowest."""
    return [numpy.arange(m) - m // 2 for m in modes[:-1]] + [numpy.arange(modes[-1] // 2 + 1)]


def weights_of(checkpoint, modes):
    """Complex [modes..., inputs, outputs], and the bias."""
    with h5py.File(checkpoint) as file:
        pairs = file["/model/spectral/weight"][()].astype(float)
        bias = file["/model/spectral/bias"][()].astype(float).ravel()
    counts = [len(k) for k in kept(modes)]
    pairs = pairs.reshape(*counts, INPUTS, 2, OUTPUTS)
    assert bias.shape == (OUTPUTS,), bias.shape
    return pairs[..., 0, :] + 1j * pairs[..., 1, :], bias


def by_fft(fields, weights, bias, modes):
    grid = fields.shape[1:-1]
    axes = tuple(range(1, 1 + len(grid)))
    coefficients = numpy.fft.rfftn(fields, axes=axes, norm="forward")
    where = numpy.ix_(*[k % n for k, n in zip(kept(modes), grid)])  # in the order of the FFT
    result = numpy.zeros((*coefficients.shape[:-1], OUTPUTS), dtype=complex)
    for sample, transformed in zip(result, coefficients):
        sample[where] = numpy.einsum("...i,...io->...o", transformed[where], weights)
    return numpy.fft.irfftn(result, s=grid, axes=axes, norm="forward") + bias


def check(command, modes, grids, compute):
    """Returns the folder of the run."""
    run = f"runs/{compute}-{'x'.join(map(str, modes))}"
    write_fields(command.folder / "train.h5", grids[0], 1)
    text = deck_text(run=dict(name="spectral", steps=4), data=dict(train="train.h5", batch=4),
                     data__arrays=dict(inputs=["/f"], targets=["/g"], axes=" ".join(["sample", *AXES[-len(modes):], "channel"])),
                     model=dict(type="chain", loss="mse"),
                     layers=[layer("spectral", name="spectral", outputs=OUTPUTS, modes=modes)], precision=dict(compute=compute),
                     optimizer=dict(lr=0.1))
    command.write("deck.toml", text)
    command.must("train", "deck.toml", f"run.folder={run}")
    weights, bias = weights_of(last_checkpoint(command, run), modes)
    errors = []
    for number, grid in enumerate(grids):
        write_fields(command.folder / "other.h5", grid, 2 + number)
        command.must("predict", run, "other.h5", "out.h5")
        with h5py.File(command.folder / "other.h5") as file, h5py.File(command.folder / "out.h5") as out:
            fields, found = file["f"][()].astype(float), out["g"][()].astype(float)
        expected = by_fft(fields, weights, bias, modes)
        assert found.shape == expected.shape, (found.shape, expected.shape)
        errors.append(numpy.linalg.norm(found - expected) / numpy.linalg.norm(expected))
        assert errors[-1] < BOUNDS[compute], f"{compute}, modes {modes}, grid {grid}: error {errors[-1]}"
        assert compute == "fp32" or errors[-1] > BOUNDS["fp32"], f"{compute} computed as float"
    print(f"{compute}, modes {modes} on {grids}: errors up to {max(errors):.2g}")
    return run


def check_refusal(command, run):
    """The run has 4 x 6 modes."""
    write_fields(command.folder / "coarse.h5", (8, 5), 9)
    command.must_refuse(["predict", run, "coarse.h5", "out.h5"], "bad-layer", "8 x 5 x 3", "the largest number allowed is 5")


def check_all(command):
    for modes, grids in GRIDS.items():
        check(command, modes, grids, "fp32")
    for compute in ("bf16", "fp16"):
        check(command, (3, 4, 5), GRIDS[3, 4, 5], compute)
        run = check(command, (4, 6), GRIDS[4, 6], compute)
    check_refusal(command, run)


run_cases(check_all)
