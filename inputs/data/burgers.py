#!/usr/bin/python3
"""Trajectories of Burgers' equation du/dt = -u du/dx + nu d2u/dx2 on a periodic line."""
import numpy

from spectral import ExponentialRungeKutta, convection, random_waves, wave_numbers
from trajectories import integrate, parser_of, substeps, write_trajectories


def evolve(state, settings):
    """The time levels [levels, points] that begin with `state`."""
    count, step = substeps(settings.interval, settings.step)
    linear = -settings.viscosity * wave_numbers(settings.points, settings.length) ** 2
    stepper = ExponentialRungeKutta(linear, convection(settings.points, settings.length), step)
    spectra = numpy.stack(list(integrate(stepper, numpy.fft.rfft(state), settings.levels, count)))
    return numpy.fft.irfft(spectra, settings.points)


def fields_of(random, settings):
    return {"u": evolve(random_waves(random, settings.points, settings.cutoff), settings)}


if __name__ == "__main__":
    parser = parser_of(__doc__, points=160, levels=51, interval=0.02, length=1.0)
    parser.add_argument("--viscosity", type=float, default=0.003, help="nu")
    parser.add_argument("--cutoff", type=int, default=5, help="periods of the finest wave of the initial state")
    parser.add_argument("--step", type=float, default=0.001, help="longest step in time")
    write_trajectories("burgers", parser.parse_args(), fields_of)
