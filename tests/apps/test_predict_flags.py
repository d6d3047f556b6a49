"""mylos predict --flags against NumPy's ranges and Mahalanobis distances, on any number of ranks.

usage: test_predict_flags.py MYLOS
"""
import numpy

import uncertain_data
from support.cases import run_cases
from support.data_files import read_data, write_data

SAMPLES = 700  # of which every seventh is unlike the training's


def rows_of(command, *words, ranks=1):
    said = command.must("predict", *words, "--flags", "flags.csv", ranks=ranks).stdout
    text = (command.folder / "flags.csv").read_text()
    assert text.startswith("sample,flag,outside,distance\n")
    rows = [[float(cell) if cell else numpy.nan for cell in line.split(",")] for line in text.splitlines()[1:]]
    return numpy.array(rows), text, said


def set_up(command):
    uncertain_data.write(command.folder, "train.h5", 400, 1)
    uncertain_data.write(command.folder, "test.h5", SAMPLES, 2)
    inputs, targets = read_data(command.folder / "test.h5", "inputs", "targets")
    inputs[::7] *= 1.6  # many of them beyond the range
    write_data(command.folder / "new.h5", inputs=inputs, targets=targets)
    command.write("mse.toml", uncertain_data.network("mse", "mse", epochs=1).replace("validation = 0.25", ""))
    for i in (1, 2):
        command.must("train", "mse.toml", f"run.seed={i}", f"run.folder=run{i}")
    command.must("export", "run1", "model.h5", "--input-statistics")


def check_flags(command):
    trained, new = (read_data(command.folder / name, "inputs").astype("f8") for name in ("train.h5", "new.h5"))
    outside = ((new < trained.min(0)) | (new > trained.max(0))).sum(1)
    inverse = numpy.linalg.inv(numpy.cov(trained.T))

    def distances(x):
        z = x - trained.mean(0)
        return numpy.sqrt(numpy.einsum("ij,jk,ik->i", z, inverse, z))

    far = distances(new) > numpy.quantile(distances(trained), 0.999)
    flagged = (outside > 0) | far
    assert 20 < far.sum() < flagged.sum() < SAMPLES / 5 and (far & (outside == 0)).any()  # both of them matter
    rows, text, said = rows_of(command, "model.h5", "new.h5", "out.h5")
    assert (rows[:, 0] == numpy.arange(SAMPLES)).all() and (rows[:, 2] == outside).all()
    assert (rows[:, 1] == (outside > 0) + 2 * far).all() and numpy.abs(rows[:, 3] - distances(new)).max() < 1e-5
    assert f"flags.csv: {flagged.sum()} of {SAMPLES} samples are unlike those of the training\n" in said, said
    for ranks in (2, 3):
        assert rows_of(command, "model.h5", "new.h5", "out.h5", ranks=ranks)[1] == text, ranks
    for words in (["run1"], ["--ensemble", "run1", "run2"]):
        rows, _, said = rows_of(command, *words, "new.h5", "out.csv")
        assert (rows[:, 1] == (outside > 0)).all() and numpy.isnan(rows[:, 3]).all() and "by the range of their inputs alone" in said


def check_refusals(command):
    predict = ["predict", "model.h5", "new.h5", "out.csv", "--flags"]
    for name, refusal in (("flags.h5", ("bad-argument", "flags.h5", ".csv")), ("out.csv", ("arguments-conflict", "out.csv"))):
        command.must_refuse([*predict, name], *refusal)


run_cases(set_up, check_flags, check_refusals)
