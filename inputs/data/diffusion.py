#!/usr/bin/python3
"""Trajectories of the diffusion equation du/dt = nu d2u/dx2 on a periodic line, exact to rounding."""
import numpy

from spectral import random_waves, wave_numbers
from trajectories import parser_of, write_trajectories


def fields_of(random, settings):
    start = numpy.fft.rfft(random_waves(random, settings.points, settings.cutoff))
    times = settings.interval * numpy.arange(settings.levels)[:, None]
    decay = numpy.exp(-settings.viscosity * wave_numbers(settings.points, settings.length) ** 2 * times)
    return {"u": numpy.fft.irfft(start * decay, settings.points)}


if __name__ == "__main__":
    parser = parser_of(__doc__, points=160, levels=51, interval=0.01, length=1.0)
    parser.add_argument("--viscosity", type=float, default=0.01, help="nu")
    parser.add_argument("--cutoff", type=int, default=5, help="periods of the finest wave of the initial state")
    write_trajectories("diffusion", parser.parse_args(), fields_of)
