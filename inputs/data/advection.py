#!/usr/bin/python3
"""Trajectories of the advection equation du/dt = -c du/dx on a periodic line, exact to rounding."""
import numpy

from spectral import random_waves, wave_numbers
from trajectories import parser_of, write_trajectories


def fields_of(random, settings):
    start = numpy.fft.rfft(random_waves(random, settings.points, settings.cutoff))
    times = settings.interval * numpy.arange(settings.levels)[:, None]
    phases = numpy.exp(-1j * settings.speed * wave_numbers(settings.points, settings.length) * times)
    return {"u": numpy.fft.irfft(start * phases, settings.points)}


if __name__ == "__main__":
    parser = parser_of(__doc__, points=160, levels=51, interval=0.025, length=1.0)
    parser.add_argument("--speed", type=float, default=1.0, help="c")
    parser.add_argument("--cutoff", type=int, default=5, help="periods of the finest wave of the initial state")
    write_trajectories("advection", parser.parse_args(), fields_of)
