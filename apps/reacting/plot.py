#!/usr/bin/python3
"""Draws a run of reacting: the fields, their error, and which part of the cells the network has computed.

usage: apps/reacting/plot.py FOLDER OUT.png|OUT.svg       FOLDER: of a run with mode=compare
"""
import csv
import pathlib
import sys

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402: the backend is chosen first
import numpy  # noqa: E402


def draw_field(figure, axis, title, values, **options):
    image = axis.imshow(values, origin="lower", extent=(0, 1, 0, 1), **options)
    axis.set_title(title, fontsize=10)
    axis.set_xticks([0, 1])
    axis.set_yticks([0, 1])
    figure.colorbar(image, ax=axis, shrink=0.8)


def draw_history(axis, rows):
    steps = [int(row["step"]) for row in rows]
    axis.plot(steps, [100 * float(row["network_share"]) for row in rows], label="cells by network, %")
    axis.set_ylim(0, 100)
    axis.set_xlabel("time step")
    errors = axis.twinx()
    for name, colour in (("y1_error", "C1"), ("y2_error", "C2"), ("y3_error", "C3")):
        errors.plot(steps, [100 * float(row[name]) for row in rows], colour, label=f"error of {name[:2]}, %")
    errors.set_yscale("log")
    lines = axis.lines + errors.lines
    axis.legend(lines, [line.get_label() for line in lines], fontsize=8, loc="center right")
    axis.set_title("the run", fontsize=10)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    with h5py.File(folder / "fields.h5") as file:
        surrogate, alone = file["with_surrogate"][()], file["alone"][()]
    with open(folder / "history.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(2, 3, figsize=(11.5, 6.6), constrained_layout=True)
    draw_field(figure, axes[0, 0], "temperature", surrogate[3], cmap="inferno")
    draw_field(figure, axes[0, 1], "$y_1$ with surrogate", surrogate[0], cmap="viridis")
    draw_field(figure, axes[0, 2], "$y_2$ with surrogate", surrogate[1], cmap="viridis")
    for axis, species in ((axes[1, 0], 0), (axes[1, 1], 1)):
        error = 100 * (surrogate[species] - alone[species]) / numpy.abs(alone[species]).max()
        worst = numpy.abs(error).max()
        draw_field(figure, axis, f"error of $y_{species + 1}$, % of its maximum", error, cmap="RdBu_r", vmin=-worst, vmax=worst)
    draw_history(axes[1, 2], rows)
    figure.savefig(sys.argv[2], dpi=90)


if __name__ == "__main__":
    main()
