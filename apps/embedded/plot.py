#!/usr/bin/python3
"""Draws the output of embedded: the law, the predictions of the network, and the difference.

usage: apps/embedded/plot.py embedded.csv OUT.png|OUT.svg
"""
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402: the backend is chosen first
import numpy  # noqa: E402


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    side = round(len(rows) ** 0.5)
    truth, prediction = (numpy.array([float(row[column]) for row in rows]).reshape(side, side)
                         for column in ("truth", "prediction"))
    difference = prediction - truth
    most = numpy.abs(truth).max()
    worst = numpy.abs(difference).max()
    figure, axes = plt.subplots(1, 3, figsize=(10.8, 3.1), sharey=True, constrained_layout=True)
    panels = [("truth", truth, most), ("prediction", prediction, most), ("prediction - truth", difference, worst)]
    for axis, (title, values, limit) in zip(axes, panels):
        image = axis.imshow(values, origin="lower", extent=(-1, 1, -1, 1), cmap="RdBu_r", vmin=-limit, vmax=limit)
        axis.set_title(title)
        axis.set_xlabel("x")
        figure.colorbar(image, ax=axis, shrink=0.85)
    axes[0].set_ylabel("y")
    figure.savefig(sys.argv[2], dpi=100)


if __name__ == "__main__":
    main()
