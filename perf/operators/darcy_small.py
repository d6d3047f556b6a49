#!/usr/bin/python3
"""Darcy flow on 16 x 16 points, evaluated there and on 32 x 32: neuraloperator's small data, by Mylos and by neuraloperator.

usage: darcy_small.py --data FOLDER [--build BUILD] [--anchor-python PYTHON] [--seeds 3] [--types fp32 bf16]
FOLDER: darcy_train_16.h5, darcy_test_16.h5 and darcy_test_32.h5, the arrays x and y of neuraloperator's files of these names.
"""
import pathlib

import h5py
import numpy

import cases

PUBLISHED = ["TFNO, relative L2: 0.085 on 16 x 16, 0.124 on 32 x 32"]


def prepare(source, folder):
    """Inputs are 0 or 1, targets have mean 0 and deviation 1 over all points of the training samples: as neuraloperator's loader
    makes them by default. Its losses in training are those of the normalised targets too."""
    with h5py.File(source / "darcy_train_16.h5") as file:
        pressures = file["y"][()].astype(float)
    mean, deviation = pressures.mean(), pressures.std(ddof=1)
    paths = {}
    for part in ("train_16", "test_16", "test_32"):
        paths[part] = folder / f"darcy_{part}.h5"
        with h5py.File(source / f"darcy_{part}.h5") as file, h5py.File(paths[part], "w") as out:
            out["a"] = file["x"][()].astype(numpy.float32)
            out["u"] = ((file["y"][()].astype(float) - mean) / deviation).astype(numpy.float32)
    return cases.Data(paths["train_16"], {"16x16": paths["test_16"], "32x32": paths["test_32"]}, float(deviation), float(mean))


def main():
    parser = cases.parser_of(__doc__, seeds=3)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--epochs", type=int, default=15)
    arguments = parser.parse_args()
    data = prepare(arguments.data.resolve(), cases.folder_of(arguments, "darcy-small"))
    case = cases.Case("darcy-small", axes="y x", input="a", target="u", modes=[8, 8], width=24, blocks=4, loss="relative_h1",
                      optimizer="adamw", lr=1e-2, weight_decay=1e-4, schedule="cosine", schedule_epochs=30, epochs=arguments.epochs,
                      batch=64)
    cases.compare(case, data, PUBLISHED, arguments)


if __name__ == "__main__":
    main()
