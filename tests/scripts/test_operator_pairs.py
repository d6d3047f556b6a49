"""The generators of pairs for neural operators in inputs/data, against solutions in closed form and other discretisations.

usage: test_operator_pairs.py REPOSITORY
"""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy

GENERATORS = pathlib.Path(sys.argv[1]) / "inputs/data"
sys.path.insert(0, str(GENERATORS))
import burgers_operator
import darcy


def require(condition, what):
    assert condition, what


def check_burgers():
    """Cole and Hopf: u = -2 nu d(log h)/dx, where h obeys the heat equation; and the spectrum of the initial states."""
    grid, viscosity = 1024, 0.1
    randoms = [numpy.random.default_rng([7, number]) for number in range(400)]
    states = numpy.stack([burgers_operator.initial_state(random, grid) for random in randoms])
    waves = numpy.fft.rfft(states, norm="forward")
    k = 2 * numpy.pi * numpy.arange(1, 9)
    variances = (numpy.abs(waves[:, 1:9]) ** 2).mean(axis=0)
    # A normal field on a circle of length 1: the expected square of a Fourier coefficient is the operator's eigenvalue.
    ratio = variances / (625 * (k ** 2 + 25) ** -2.0)
    require(numpy.abs(ratio - 1).max() < 0.25 and abs(ratio.mean() - 1) < 0.08, f"variances of waves: {ratio}")
    require(numpy.abs(waves[:, 0]).max() < 1e-12, "a mean")

    found = burgers_operator.evolve(states[:3], viscosity, 1.0, 0.005)
    frequencies = 2 * numpy.pi * numpy.fft.rfftfreq(grid, 1 / grid)
    for start, end in zip(states, found):
        integral = numpy.fft.irfft(numpy.fft.rfft(start) / numpy.where(frequencies > 0, 1j * frequencies, 1), grid)
        heat = numpy.fft.rfft(numpy.exp(-integral / (2 * viscosity))) * numpy.exp(-viscosity * frequencies ** 2)
        exact = -2 * viscosity * numpy.fft.irfft(1j * frequencies * heat, grid) / numpy.fft.irfft(heat, grid)
        error = numpy.linalg.norm(end - exact) / numpy.linalg.norm(exact)
        require(error < 1e-5, f"Burgers: relative error {error}")


def check_cosines():
    coefficients = numpy.random.default_rng(1).normal(size=(5, 7))
    y, x = numpy.arange(5) / 4, numpy.arange(7) / 6
    by_sums = numpy.cos(numpy.pi * numpy.outer(y, range(5))) @ coefficients @ numpy.cos(numpy.pi * numpy.outer(x, range(7))).T
    require(numpy.abs(darcy.cosine_series(coefficients) - by_sums).max() < 1e-12, "cosine series")


def check_darcy():
    """A permeability and a pressure in closed form: errors fall with the square of the distance of the points. And a permeability
    of jumps, by a direct solution of the same equations, written point by point."""
    errors = []
    for points in (17, 33, 65):
        x = numpy.linspace(0, 1, points)
        y, x = x[:, None], x[None, :]
        pressure = numpy.sin(numpy.pi * x) * numpy.sin(2 * numpy.pi * y)
        a = 1 + x * y
        gradient_x = numpy.pi * numpy.cos(numpy.pi * x) * numpy.sin(2 * numpy.pi * y)
        gradient_y = 2 * numpy.pi * numpy.sin(numpy.pi * x) * numpy.cos(2 * numpy.pi * y)
        source = 5 * numpy.pi ** 2 * a * pressure - y * gradient_x - x * gradient_y
        errors.append(numpy.abs(darcy.solve(a, source) - pressure).max())
    require(all(3.5 < coarse / fine < 4.5 for coarse, fine in zip(errors, errors[1:])), f"Darcy: errors {errors}")

    points = 9
    a = darcy.permeability(numpy.random.default_rng(3), points)
    require(set(a.ravel()) == {3.0, 12.0}, "permeabilities")
    inner = [(i, j) for i in range(1, points - 1) for j in range(1, points - 1)]
    matrix = numpy.zeros((len(inner), len(inner)))
    for row, (i, j) in enumerate(inner):
        for neighbour in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            between = (a[i, j] + a[neighbour]) / 2 * (points - 1) ** 2
            matrix[row, row] += between
            if neighbour in inner:
                matrix[row, inner.index(neighbour)] -= between
    direct = numpy.linalg.solve(matrix, numpy.ones(len(inner))).reshape(points - 2, points - 2)
    found = darcy.solve(a, numpy.ones((points, points)))
    require(numpy.abs(found[1:-1, 1:-1] - direct).max() < 1e-10 * direct.max(), "a permeability of jumps")
    require(found[0].max() == found[:, -1].max() == 0, "the edge")


def make(name, path, *options):
    subprocess.run([sys.executable, GENERATORS / name, "--out", path, *map(str, options)], check=True, stdout=subprocess.DEVNULL)
    return h5py.File(path)


def check_files(folder):
    """The same bits for the same number, also in a file that begins with it; a finer grid has the same functions."""
    with make("burgers_operator.py", folder / "all.h5", "--samples", 20, "--points", 32, "--grid", 256) as file, \
            make("burgers_operator.py", folder / "part.h5", "--samples", 1, "--first", 18, "--points", 64, "--grid", 256) as part:
        require(file["initial"].shape == (20, 32) and file["initial"].dims[1][0].name == "/x", "shape and coordinates")
        require(numpy.array_equal(part["initial"][0, ::2], file["initial"][18]), "sample 18 of Burgers, initial")
        require(numpy.array_equal(part["final"][0, ::2], file["final"][18]), "sample 18 of Burgers, final")
        require(not numpy.array_equal(file["initial"][0], file["initial"][1]), "samples differ")
    with make("darcy.py", folder / "all2.h5", "--samples", 6, "--points", 9, "--refine", 2) as file, \
            make("darcy.py", folder / "part2.h5", "--samples", 1, "--first", 5, "--points", 17, "--refine", 1) as part:
        require(file["u"].shape == (6, 9, 9) and [d[0].name for d in list(file["u"].dims)[1:]] == ["/y", "/x"], "shape of Darcy")
        require(numpy.array_equal(part["a"][0, ::2, ::2], file["a"][5]), "sample 5 of Darcy, a")
        require(numpy.array_equal(part["u"][0, ::2, ::2], file["u"][5]), "sample 5 of Darcy, u")


with tempfile.TemporaryDirectory() as directory:
    check_burgers()
    check_cosines()
    check_darcy()
    check_files(pathlib.Path(directory))
print("pairs of operators: as their closed forms say")
