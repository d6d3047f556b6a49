"""apps/fallback: its own law computes what the network has not seen, and the errors stay those of what it has."""
import re

import h5py
import numpy

from support.cases import run_cases
from support.command import Command

COUNT, STEPS = 2000, 30  # of the program


def run(program, command, *arguments, code=0):
    result = Command(program, command.folder).must(*arguments, code=code)
    return result.stdout if code == 0 else result.stderr


def flagged(model):
    """The share of the program's points that NumPy flags, by the statistics in the file."""
    with h5py.File(model) as file:
        mean, inverse, limit = (file["inputs"][name][()] for name in ("mean", "inverse_covariance", "distances"))
        low, high = file["input_range/min"][()], file["input_range/max"][()]
    angle = 2 * numpy.pi * numpy.arange(COUNT) / COUNT
    count = 0
    for step in range(STEPS):
        radius = 0.1 + 1.4 * step / (STEPS - 1)
        x = (radius * numpy.stack([numpy.cos(angle), numpy.sin(angle)], 1)).astype("f4").astype("f8")
        far = numpy.sqrt(numpy.einsum("ni,ij,nj->n", x - mean, inverse, x - mean)) > limit[1]
        count += (far | ~((x >= low) & (x <= high)).all(axis=1)).sum()
    return 100 * count / (COUNT * STEPS)


def check_law(command, program, repository):
    run(program, command, "table", "law.csv")
    command.must("prepare", "csv", "law.csv", "--targets", "z", "--out", "law.h5")
    command.must("train", repository / "apps/fallback/law.toml", "run.folder=law", "run.epochs=15", "run.peak_flops=1e12")
    command.must("export", "law", "plain.h5")
    text = run(program, command, "run", "plain.h5", code=2)
    assert "--input-statistics" in text and text.endswith("[missing-dataset]\n"), text
    command.must("export", "law", "model.h5", "--input-statistics")
    text = run(program, command, "run", "model.h5")
    share, error, alone = map(float, re.search(r"by the law ([\d.]+) % of all points; largest error (\S+), of the network alone (\S+)$",
                                               text.strip()).groups())
    expected = flagged(command.folder / "model.h5")
    assert abs(share - expected) < 0.06, (share, expected)
    assert 30 < share < 95 and error < 0.2 and alone > 3 * error, text
    print(text, end="")


run_cases(check_law, arguments=["program", "repository"])
