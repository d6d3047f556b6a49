#!/usr/bin/python3
"""Trajectories of the Kuramoto-Sivashinsky equation du/dt = -u du/dx - d2u/dx2 - d4u/dx4 on a periodic line, which is chaotic.

The first level is written after --warmup, when the state no longer depends on how the initial waves were drawn.
"""
import numpy

from spectral import ExponentialRungeKutta, convection, random_waves, wave_numbers
from trajectories import integrate, parser_of, substeps, write_trajectories


def evolve(state, settings):
    """The time levels [levels, points] after the warm-up that begins with `state`."""
    k = wave_numbers(settings.points, settings.length)
    linear, nonlinear = k ** 2 - k ** 4, convection(settings.points, settings.length)
    spectrum = numpy.fft.rfft(state)
    if settings.warmup > 0:
        count, step = substeps(settings.warmup, settings.step)
        *_, spectrum = integrate(ExponentialRungeKutta(linear, nonlinear, step), spectrum, 2, count)
    count, step = substeps(settings.interval, settings.step)
    stepper = ExponentialRungeKutta(linear, nonlinear, step)
    return numpy.fft.irfft(numpy.stack(list(integrate(stepper, spectrum, settings.levels, count))), settings.points)


def fields_of(random, settings):
    return {"u": evolve(random_waves(random, settings.points, settings.cutoff), settings)}


if __name__ == "__main__":
    parser = parser_of(__doc__, points=128, levels=201, interval=0.5, length=64.0)
    parser.add_argument("--cutoff", type=int, default=5, help="periods of the finest wave of the initial state")
    parser.add_argument("--warmup", type=float, default=100.0, help="time before the first level")
    parser.add_argument("--step", type=float, default=0.1, help="longest step in time")
    write_trajectories("ks", parser.parse_args(), fields_of)
