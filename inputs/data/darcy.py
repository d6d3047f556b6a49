#!/usr/bin/python3
"""Pairs for neural operators: permeabilities a and pressures u of Darcy's law -div(a grad u) = 1 on a square, u = 0 on its edge, as
in Li et al. (2021), "Fourier neural operator for parametric partial differential equations".

a is 12 where a normal field of covariance (-Laplace + 9)^-2 with zero Neumann edges is positive, and 3 elsewhere. The field's
constant part is 0, as in the authors' program. The pressures are solved on (points - 1) * refine + 1 points along each axis and
sampled: the published 85 points with --refine 5 are every fifth of 421.

The equation is discretised by central differences, with the mean of two points' permeabilities between them. Conjugate gradients
are preconditioned by the Laplacian, which sine transforms invert: errors fall to a third per iteration for permeabilities that
differ by a factor of 4, on any grid.
"""
import numpy

from operator_pairs import parser_of, write_pairs

HIGH, LOW, TAU, BATCH = 12.0, 3.0, 3.0, 4
RESIDUAL, MAX_ITERATIONS = 1e-10, 500


def cosine_series(coefficients):
    """sum_jk c_jk cos(pi j y) cos(pi k x) at the points y, x = 0, 1/n, ..., 1 of [n + 1, n + 1] coefficients."""
    values = coefficients
    for axis in (0, 1):
        n = values.shape[axis] - 1
        ends = numpy.ones(n + 1)
        ends[1:n] = 0.5  # irfft counts each wave but the first and the last twice
        shape = [1, 1]
        shape[axis] = n + 1
        values = numpy.fft.irfft(values * ends.reshape(shape), 2 * n, axis=axis) * 2 * n
        values = values.take(range(n + 1), axis=axis)
    return values


def permeability(random, points):
    """[points, points], with the edge."""
    # Shells of wave numbers follow each other in the stream, so that a finer grid only adds shells.
    normal = numpy.zeros((points, points))
    for shell in range(1, points):
        numbers = random.standard_normal(2 * shell + 1)
        normal[shell, :shell + 1], normal[:shell, shell] = numbers[:shell + 1], numbers[shell + 1:]
    k = numpy.pi * numpy.arange(points)
    deviations = 1 / (k[:, None] ** 2 + k[None, :] ** 2 + TAU ** 2)
    norms = numpy.where(k == 0, 1, numpy.sqrt(2))  # cos(0 x) has another norm than the others
    field = cosine_series(normal * deviations * norms[:, None] * norms[None, :])
    return numpy.where(field > 0, HIGH, LOW)


def sine_transform(values, axis):
    """sum_j v_j sin(pi j k / n) along an axis of n - 1 inner points; twice it is n / 2 times the values."""
    n = values.shape[axis] + 1
    odd = numpy.zeros([2 * n if a == axis else size for a, size in enumerate(values.shape)])
    inner, mirrored = [slice(None)] * values.ndim, [slice(None)] * values.ndim
    inner[axis], mirrored[axis] = slice(1, n), slice(n + 1, 2 * n)
    odd[tuple(inner)], odd[tuple(mirrored)] = values, -numpy.flip(values, axis)
    return -numpy.fft.rfft(odd, axis=axis)[tuple(inner)].imag / 2


def solve(a, source):
    """u [points, points] of -div(a grad u) = source, both [points, points]; u = 0 on the edge."""
    n = len(a) - 1
    below, right = (a[:-1, 1:-1] + a[1:, 1:-1]) / 2 * n ** 2, (a[1:-1, :-1] + a[1:-1, 1:]) / 2 * n ** 2

    def apply(u):
        padded = numpy.pad(u, 1)
        flux_y = below * numpy.diff(padded[:, 1:-1], axis=0)
        flux_x = right * numpy.diff(padded[1:-1, :], axis=1)
        return -numpy.diff(flux_y, axis=0) - numpy.diff(flux_x, axis=1)

    eigenvalues = (2 * n * numpy.sin(numpy.pi * numpy.arange(1, n) / (2 * n))) ** 2
    inverse = (2 / n) ** 2 / (eigenvalues[:, None] + eigenvalues[None, :])

    def precondition(residual):
        waves = inverse * sine_transform(sine_transform(residual, 0), 1)
        return sine_transform(sine_transform(waves, 0), 1)

    residual = source[1:-1, 1:-1].copy()
    bound = RESIDUAL * numpy.linalg.norm(residual)
    u = numpy.zeros_like(residual)
    search = precondition(residual)
    product = (residual * search).sum()
    for _ in range(MAX_ITERATIONS):
        image = apply(search)
        length = product / (search * image).sum()
        u += length * search
        residual -= length * image
        if numpy.linalg.norm(residual) <= bound:
            return numpy.pad(u, 1)
        preconditioned = precondition(residual)
        before, product = product, (residual * preconditioned).sum()
        search = preconditioned + product / before * search
    raise SystemExit(f"conjugate gradients have not converged in {MAX_ITERATIONS} iterations")


def pairs_of(randoms, settings):
    points = (settings.points - 1) * settings.refine + 1
    fine = [permeability(random, points) for random in randoms]
    source = numpy.ones((points, points))
    every = slice(None, None, settings.refine)
    return {"a": numpy.stack([a[every, every] for a in fine]),
            "u": numpy.stack([solve(a, source)[every, every] for a in fine])}


if __name__ == "__main__":
    parser = parser_of(__doc__.split("\n\n", maxsplit=1)[0], samples=1000, points=85)
    parser.add_argument("--refine", type=int, default=5, help="intervals of the computation in one of the file")
    options = parser.parse_args()
    if options.points < 3 or options.refine < 1:
        parser.error("needs --points of at least 3 and --refine of at least 1")
    write_pairs(options, ["y", "x"], numpy.linspace(0, 1, options.points), pairs_of, batch=BATCH)
