"""Fourier methods on periodic grids: wave numbers, random states, and a time stepper of fourth order."""
import numpy


def wave_numbers(points, length):
    """Angular wave numbers of numpy.fft.rfft along an axis: 0, 2 pi / length, ..."""
    return 2 * numpy.pi * numpy.fft.rfftfreq(points, length / points)


def signed_wave_numbers(points, length):
    """Those of numpy.fft.fft, negative ones in the second half."""
    return 2 * numpy.pi * numpy.fft.fftfreq(points, length / points)


def random_waves(random, points, cutoff):
    """A state of mean 0 and magnitude 1: waves with 1 to `cutoff` periods in the domain, with random amplitudes."""
    if not 0 < cutoff < points // 2:
        raise SystemExit(f"{points} points have waves of 1 to {points // 2 - 1} periods, not {cutoff}")
    spectrum = numpy.zeros(points // 2 + 1, dtype=complex)
    spectrum[1:cutoff + 1] = random.uniform(-1, 1, cutoff) + 1j * random.uniform(-1, 1, cutoff)
    state = numpy.fft.irfft(spectrum, points)
    return state / numpy.abs(state).max()


def kept_after_products(wave_numbers_of_axis):
    """Orszag's two thirds: a product of two fields of such waves has no aliases among them."""
    return numpy.abs(wave_numbers_of_axis) < 2 / 3 * numpy.abs(wave_numbers_of_axis).max()


class ExponentialRungeKutta:
    """Steps du/dt = L u + N(u) of spectra: exact for the diagonal linear part L (real), of fourth order for N.

    ETDRK4 of Cox and Matthews (2002) with the coefficients of Kassam and Trefethen (2005): each is the mean of its formula over a
    circle around L dt, because the formula itself cancels where L dt is small.
    """

    CIRCLE = 32

    def __init__(self, linear, nonlinear, step):
        self.nonlinear = nonlinear
        angles = numpy.pi * (numpy.arange(self.CIRCLE) + 0.5) / self.CIRCLE  # the other half is the conjugate
        z = step * linear[..., None] + numpy.exp(1j * angles)

        def mean(values):
            return step * values.mean(axis=-1).real

        self.full, self.half = numpy.exp(step * linear), numpy.exp(step * linear / 2)
        self.to_half = mean((numpy.exp(z / 2) - 1) / z)
        self.at_begin = mean((-4 - z + numpy.exp(z) * (4 - 3 * z + z ** 2)) / z ** 3)
        self.in_between = mean(2 * (2 + z + numpy.exp(z) * (z - 2)) / z ** 3)
        self.at_end = mean((-4 - 3 * z - z ** 2 + numpy.exp(z) * (4 - z)) / z ** 3)

    def step(self, u):
        of_u = self.nonlinear(u)
        a = self.half * u + self.to_half * of_u
        of_a = self.nonlinear(a)
        b = self.half * u + self.to_half * of_a
        of_b = self.nonlinear(b)
        c = self.half * a + self.to_half * (2 * of_b - of_u)
        of_c = self.nonlinear(c)
        return self.full * u + self.at_begin * of_u + self.in_between * (of_a + of_b) + self.at_end * of_c


def convection(points, length):
    """The function that gives the spectrum of -u du/dx = -d(u^2 / 2)/dx from that of u, without aliases."""
    k = wave_numbers(points, length)
    factor = -0.5j * k * kept_after_products(k)
    return lambda spectrum: factor * numpy.fft.rfft(numpy.fft.irfft(spectrum, points) ** 2)
