#!/usr/bin/python3
"""Darcy flow on 85 x 85 points, as in Li et al. (2021): by Mylos and by neuraloperator.

usage: darcy_85.py [--full] [--build BUILD] [--anchor-python PYTHON] [--seeds N] [--types fp32 bf16] [--epochs N]
--full: 1000 training samples, solved on 421 x 421 points, and 500 epochs, which take hours; default: 200 samples, solved on
169 x 169 points, and 10 epochs.
"""
import h5py
import numpy

import cases

PUBLISHED = ["FNO, relative L2: 0.0108 (Li et al. 2021)"]
TESTS = 100


def prepare(generated, path, scale):
    """Permeabilities become -1 and 1, pressures are divided by their deviation: a relative loss is that of the raw pressures."""
    with h5py.File(generated) as file, h5py.File(path, "w") as out:
        out["a"] = ((file["a"][()] - 7.5) / 4.5).astype(numpy.float32)
        out["u"] = (file["u"][()] / scale).astype(numpy.float32)
    return path


def main():
    parser = cases.parser_of(__doc__, seeds=1)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--epochs", type=int)
    arguments = parser.parse_args()
    training, refine = (1000, 5) if arguments.full else (200, 2)
    epochs = arguments.epochs or (500 if arguments.full else 10)
    folder = cases.folder_of(arguments, f"darcy-85-{'full' if arguments.full else 'short'}")
    generated = [cases.generate("darcy.py", folder / f"generated-{part}.h5", "--refine", refine, "--samples", count, "--first", first)
                 for part, count, first in (("train", training, 0), ("test", TESTS, training))]
    with h5py.File(generated[0]) as file:
        scale = float(file["u"][()].std())
    train, test = (prepare(path, folder / path.name.removeprefix("generated-"), scale) for path in generated)
    # 12 wave numbers of either sign along the first axis, 0 to 12 along the last. The square is not periodic: a tenth of its
    # points is added at each end.
    case = cases.Case("darcy-85", axes="y x", input="a", target="u", modes=[24, 24], width=32, blocks=4, loss="relative_l2",
                      optimizer="adam", lr=1e-3, weight_decay=1e-4, schedule="step", schedule_epochs=max(1, epochs // 5),
                      epochs=epochs, batch=20, padding=0.1)
    cases.compare(case, cases.Data(train, {"85x85": test}, scale), PUBLISHED, arguments)


if __name__ == "__main__":
    main()
