#!/usr/bin/python3
"""Trajectories of decaying turbulence in two dimensions, on a periodic square.

The vorticity w is advected and diffuses: dw/dt = -u dw/dx - v dw/dy + nu (d2w/dx2 + d2w/dy2), where u and v are the velocity of an
incompressible flow. Initially the velocity is random with a mean square of 1, most of it in waves of --periods periods. A file has
the arrays vorticity, u and v.
"""
import numpy

from spectral import ExponentialRungeKutta, kept_after_products, signed_wave_numbers, wave_numbers
from trajectories import integrate, parser_of, substeps, write_trajectories


class Plane:
    """Wave numbers and derivatives of spectra [ky, kx] of fields [y, x]."""

    def __init__(self, points, length):
        self.shape = (points, points)
        self.kx, self.ky = wave_numbers(points, length)[None, :], signed_wave_numbers(points, length)[:, None]
        self.square = self.kx ** 2 + self.ky ** 2
        self.kept = kept_after_products(self.kx) & kept_after_products(self.ky)

    def field(self, spectrum):
        return numpy.fft.irfft2(spectrum, self.shape)

    def velocity(self, vorticity):
        """Spectra of u and v: those of the stream function w / k^2, differentiated."""
        stream = vorticity / numpy.where(self.square > 0, self.square, 1)
        return 1j * self.ky * stream, -1j * self.kx * stream

    def advection(self, vorticity):
        """The spectrum of -d(u w)/dx - d(v w)/dy."""
        u, v = (self.field(part) for part in self.velocity(vorticity))
        w = self.field(vorticity)
        return -1j * self.kept * (self.kx * numpy.fft.rfft2(u * w) + self.ky * numpy.fft.rfft2(v * w))


def random_vorticity(random, plane, wave_number):
    noise = numpy.fft.rfft2(random.standard_normal(plane.shape))
    scaled = plane.square / wave_number ** 2
    spectrum = plane.kept * noise * scaled * numpy.exp(-scaled)
    u, v = (plane.field(part) for part in plane.velocity(spectrum))
    return spectrum / numpy.sqrt((u ** 2 + v ** 2).mean())


def evolve(vorticity, settings):
    """Vorticity, u and v [levels, y, x] of the flow that begins with this spectrum."""
    plane = Plane(settings.points, settings.length)
    count, step = substeps(settings.interval, settings.step)
    stepper = ExponentialRungeKutta(-settings.viscosity * plane.square, plane.advection, step)
    levels = [(w, *plane.velocity(w)) for w in integrate(stepper, vorticity, settings.levels, count)]
    return dict(zip(("vorticity", "u", "v"), (plane.field(numpy.stack(field)) for field in zip(*levels))))


def fields_of(random, settings):
    wave_number = 2 * numpy.pi / settings.length * settings.periods
    return evolve(random_vorticity(random, Plane(settings.points, settings.length), wave_number), settings)


if __name__ == "__main__":
    parser = parser_of(__doc__, points=64, levels=51, interval=0.1, length=2 * numpy.pi, dimensions=2)
    parser.add_argument("--viscosity", type=float, default=0.004, help="nu")
    parser.add_argument("--periods", type=float, default=4.0, help="periods of the typical initial wave in the domain")
    parser.add_argument("--step", type=float, default=0.02, help="longest step in time")
    write_trajectories("decay-turbulence", parser.parse_args(), fields_of)
