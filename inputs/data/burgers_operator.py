#!/usr/bin/python3
"""Pairs for neural operators: states of Burgers' equation du/dt = -u du/dx + nu d2u/dx2 on a periodic line of length 1 at time 0
and at --time, as in Li et al. (2021), "Fourier neural operator for parametric partial differential equations".

Initial states are normal, of mean 0 and covariance 625 (-d2/dx2 + 25)^-2. Their constant part is 0, as in the authors' program.
"""
import numpy

from operator_pairs import parser_of, write_pairs
from spectral import ExponentialRungeKutta, convection, wave_numbers
from trajectories import substeps

SIGMA, TAU, BATCH = 25.0, 5.0, 16


def initial_state(random, grid):
    """The values at `grid` points: each wave has a cosine and a sine of the same deviation."""
    waves = grid // 2 - 1
    deviations = numpy.sqrt(2) * SIGMA / (wave_numbers(grid, 1.0)[1:waves + 1] ** 2 + TAU ** 2)
    # A wave's two numbers are neighbours in the stream, so that a finer grid only adds waves.
    cosines, sines = random.standard_normal((waves, 2)).T
    spectrum = numpy.zeros(grid // 2 + 1, dtype=complex)
    spectrum[1:waves + 1] = grid / 2 * deviations * (cosines - 1j * sines)
    return numpy.fft.irfft(spectrum, grid)


def evolve(states, viscosity, time, step):
    """The states [samples, points] at `time`."""
    grid = states.shape[-1]
    count, length = substeps(time, step)
    stepper = ExponentialRungeKutta(-viscosity * wave_numbers(grid, 1.0) ** 2, convection(grid, 1.0), length)
    spectra = numpy.fft.rfft(states)
    for _ in range(count):
        spectra = stepper.step(spectra)
    if not numpy.isfinite(spectra).all():
        raise SystemExit("the states are not finite: use a smaller --step")
    return numpy.fft.irfft(spectra, grid)


def pairs_of(randoms, settings):
    states = numpy.stack([initial_state(random, settings.grid) for random in randoms])
    ends = evolve(states, settings.viscosity, settings.time, settings.step)
    every = settings.grid // settings.points
    return {"initial": states[:, ::every], "final": ends[:, ::every]}


if __name__ == "__main__":
    parser = parser_of(__doc__.split("\n\n", maxsplit=1)[0], samples=1000, points=1024)
    parser.add_argument("--grid", type=int, default=8192, help="points of the computation, a multiple of --points")
    parser.add_argument("--viscosity", type=float, default=0.1, help="nu")
    parser.add_argument("--time", type=float, default=1.0, help="time of the final state")
    parser.add_argument("--step", type=float, default=0.005, help="longest step in time")
    options = parser.parse_args()
    if options.points < 2 or options.grid % options.points or options.grid % 2:
        parser.error(f"--grid {options.grid} must be even and a multiple of --points {options.points}")
    write_pairs(options, ["x"], numpy.arange(options.points) / options.points, pairs_of, batch=BATCH)
