#!/usr/bin/python3
"""Draws a network's predictions of test fields: source, solution, prediction and their difference.

usage: fields_picture.py MYLOS CHECKPOINT DATA.h5 OUT.png      of inputs/fields_unet.toml, say: runs/fields-unet data/fields_test.h5
"""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot
import numpy

SHOWN = 2  # samples


def main():
    program, checkpoint, data, out = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        predicted = pathlib.Path(folder) / "predicted.h5"
        subprocess.run([program, "predict", checkpoint, data, predicted], check=True, stdout=subprocess.DEVNULL)
        with h5py.File(data) as truth, h5py.File(predicted) as network:
            extents = [int(extent) for extent in truth.attrs["shape"].split()][:2]
            sources, targets = truth["inputs"][()], truth["targets"][()]
            outputs = network["outputs"][()]
    errors = numpy.linalg.norm(outputs - targets, axis=1) / numpy.linalg.norm(targets, axis=1)
    print(f"{len(errors)} fields: relative L2 error {errors.mean():.4f} on average, {errors.max():.4f} at most")
    figure, rows = pyplot.subplots(SHOWN, 4, figsize=(11, 2.8 * SHOWN), constrained_layout=True)
    for sample, axes in enumerate(rows):
        limit = numpy.abs(targets[sample]).max()
        columns = [("source f", sources, numpy.abs(sources[sample]).max()), ("solution u", targets, limit),
                   ("network", outputs, limit), ("network - u", outputs - targets, 0.1 * limit)]
        for axis, (title, values, scale) in zip(axes, columns):
            image = axis.imshow(values[sample].reshape(extents), cmap="RdBu_r", vmin=-scale, vmax=scale)
            axis.set(xticks=[], yticks=[])
            if sample == 0:
                axis.set_title(title)
            figure.colorbar(image, ax=axis, shrink=0.8)
    figure.savefig(out, dpi=90)


main()
