"""apps/gradients: half without a loss scale loses a fit that NumPy's floats have, and with one it does not.

usage: test_gradients.py MYLOS GRADIENTS MPIEXEC
"""
import re
import subprocess
import sys

import numpy

from support.command import environment

STEPS, SAMPLES, TERMS = 60, 16384, 17  # of the program


def fit(scale):
    """The program's descent in NumPy on one rank: the error, the skipped steps, and the scale."""
    x = 2 * numpy.pi * numpy.arange(SAMPLES) / SAMPLES
    basis = numpy.stack([numpy.sin((k + 1) // 2 * x) if k % 2 == 0 and k > 0 else numpy.cos((k + 1) // 2 * x)
                         for k in range(TERMS)], 1).astype("f4")
    targets, coefficients = numpy.exp(numpy.sin(x)).astype("f4"), numpy.zeros(TERMS, "f4")
    skipped = 0
    with numpy.errstate(over="ignore", invalid="ignore"):
        for _ in range(STEPS):
            residuals = basis @ coefficients - targets
            slopes = (numpy.float32(scale * 2 / SAMPLES) * residuals).astype("f2")
            gradient = (slopes.astype("f4") @ basis).astype("f2")
            if numpy.isfinite(gradient).all():
                coefficients -= numpy.float32(0.5) * gradient.astype("f4") / numpy.float32(scale)
            else:
                skipped, scale = skipped + 1, scale / 2
    return numpy.sqrt(((basis @ coefficients - targets).astype("f8") ** 2).mean()), skipped, scale


def results(text):
    lines = re.findall(r"^loss scale (\w+): error (\S+) after 60 steps, (\d+) of them skipped; scale (\S+)$", text, re.M)
    assert [line[0] for line in lines] == ["off", "dynamic"], text
    return [(float(error), int(skipped), float(scale)) for _, error, skipped, scale in lines]


def main():
    _, program, mpiexec = sys.argv[1:4]
    off, dynamic = fit(1), fit(65536)
    assert off[0] > 30 * dynamic[0] and off[1] == 0 and dynamic[1] > 0, (off, dynamic)
    for ranks in (1, 2, 3):
        said = subprocess.run([mpiexec, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), program], env=environment() | {"OMP_NUM_THREADS": "1"},
                              capture_output=True, text=True)
        assert said.returncode == 0, said.stdout + said.stderr
        seen_off, seen = results(said.stdout)
        print(ranks, seen_off, seen, off, dynamic)
        assert seen_off[1:] == (0, 1) and 0.2 * off[0] < seen_off[0] < 5 * off[0], (ranks, seen_off, off)
        assert seen[0] < 1e-5 and seen[0] < seen_off[0] / 20, (ranks, seen)
        if ranks == 1:
            assert seen[1:] == dynamic[1:], (seen, dynamic)
        assert seen[2] == 65536 / 2 ** seen[1], seen  # a rank's part of the sum overflows later


main()
