"""The generators of trajectories in inputs/data, against solutions in closed form.

usage: test_trajectories.py REPOSITORY
"""
import pathlib
import subprocess
import sys
import tempfile
import types

import h5py
import numpy

GENERATORS = pathlib.Path(sys.argv[1]) / "inputs/data"
sys.path.insert(0, str(GENERATORS))
import burgers
import decay_turbulence
import kuramoto_sivashinsky

FILES = {"advection": "advection", "diffusion": "diffusion", "burgers": "burgers", "kuramoto_sivashinsky": "ks",
         "decay_turbulence": "decay-turbulence"}


def make(name, folder, *options):
    subprocess.run([sys.executable, GENERATORS / f"{name}.py", "--out", folder, *map(str, options)], check=True,
                   stdout=subprocess.DEVNULL)
    return sorted(folder.iterdir())


def series(state, x, length):
    """The trigonometric polynomial through the values `state`, evaluated at any points x."""
    spectrum = numpy.fft.rfft(state) / len(state)
    k = 2 * numpy.pi / length * numpy.arange(len(spectrum))
    weights = numpy.where(k == 0, 1, 2)[:, None]
    return (weights * spectrum[:, None] * numpy.exp(1j * k[:, None] * x)).real.sum(axis=0)


def require_close(found, exact, tolerance, what):
    error = numpy.abs(found - exact).max()
    assert error < tolerance, f"{what}: differs by {error}"
    return error


def check_advection(folder):
    """u(x, t) = u(x - c t, 0), which needs no transform in time."""
    path = make("advection", folder, "--trajectories", 1, "--points", 96, "--levels", 7, "--speed", 1.7, "--length", 3)[0]
    with h5py.File(path) as file:
        u, x, times = file["u"][()], file["x"][()], file["time"][()]
        assert u.dtype == numpy.float64 and u.shape == (7, 96) and [d[0].name for d in file["u"].dims] == ["/time", "/x"]
    for level, time in zip(u, times):
        require_close(level, series(u[0], x - 1.7 * time, 3), 1e-12, "advection")


def check_diffusion(folder):
    """A convolution with the heat kernel, of all images of the domain, by quadrature."""
    path = make("diffusion", folder, "--trajectories", 1, "--points", 96, "--levels", 4, "--viscosity", 0.02)[0]
    with h5py.File(path) as file:
        u, x, times = file["u"][()], file["x"][()], file["time"][()]
    for level, time in list(zip(u, times))[1:]:
        distance = x[:, None] - x[None, :] + numpy.arange(-5, 6)[:, None, None]
        kernel = numpy.exp(-distance ** 2 / (4 * 0.02 * time)).sum(axis=0) / numpy.sqrt(4 * numpy.pi * 0.02 * time)
        require_close(level, kernel @ u[0] / len(x), 1e-12, "diffusion")


def check_burgers():
    """Cole and Hopf: u = -2 nu d(log h)/dx, where h obeys the heat equation."""
    settings = types.SimpleNamespace(points=192, length=1.0, levels=5, interval=0.05, viscosity=0.01, step=0.0005)
    x = numpy.arange(settings.points) / settings.points
    start = 0.6 * numpy.sin(2 * numpy.pi * x) - 0.4 * numpy.cos(4 * numpy.pi * x + 0.3)
    found = burgers.evolve(start, settings)
    fine = 1024
    k = 2 * numpy.pi * numpy.fft.rfftfreq(fine, 1 / fine)
    spectrum = numpy.fft.rfft(series(start, numpy.arange(fine) / fine, 1.0))
    integral = numpy.fft.irfft(spectrum / numpy.where(k > 0, 1j * k, 1) * (k > 0), fine)
    heat = numpy.fft.rfft(numpy.exp(-integral / (2 * settings.viscosity)))
    for number, level in enumerate(found):
        now = heat * numpy.exp(-settings.viscosity * k ** 2 * number * settings.interval)
        exact = -2 * settings.viscosity * numpy.fft.irfft(1j * k * now, fine) / numpy.fft.irfft(now, fine)
        require_close(level, series(exact, x, 1.0), 1e-6, f"Burgers, level {number}")


def check_kuramoto_sivashinsky():
    """Small waves grow as exp((k^2 - k^4) t); the mean stays; halving the steps leaves a sixteenth of the error."""
    settings = types.SimpleNamespace(points=64, length=22.0, levels=3, interval=4.0, warmup=0.0, step=0.1)
    x = numpy.arange(64) * 22 / 64
    for periods in (1, 3, 5):
        k = 2 * numpy.pi / 22 * periods
        wave = 1e-9 * numpy.cos(k * x)
        found = kuramoto_sivashinsky.evolve(wave, settings)
        require_close(found[2] / wave[0], found[0] / wave[0] * numpy.exp((k ** 2 - k ** 4) * 8), 1e-6, f"{periods} waves")
    start = 0.5 + numpy.cos(2 * numpy.pi * x / 22) + numpy.sin(6 * numpy.pi * x / 22)
    ends = []
    for step in (0.2, 0.1, 0.0125):
        settings.step = step
        ends.append(kuramoto_sivashinsky.evolve(start, settings)[-1])
        require_close(ends[-1].mean(), 0.5, 1e-13, "mean")
    errors = [numpy.abs(end - ends[-1]).max() for end in ends[:2]]
    assert 10 < errors[0] / errors[1] < 24, errors


def check_turbulence():
    """Taylor and Green's vortices, which diffuse without moving; and a random flow: no divergence, the energy that it loses is
    what viscosity takes."""
    settings = types.SimpleNamespace(points=32, length=2 * numpy.pi, levels=4, interval=0.5, viscosity=0.05, step=0.02)
    x = numpy.arange(32) * 2 * numpy.pi / 32
    vortices = numpy.sin(3 * x)[:, None] * numpy.sin(4 * x)[None, :]
    found = decay_turbulence.evolve(numpy.fft.rfft2(vortices), settings)
    for number, vorticity in enumerate(found["vorticity"]):
        require_close(vorticity, vortices * numpy.exp(-0.05 * 25 * 0.5 * number), 1e-12, "vortices")
    plane = decay_turbulence.Plane(32, 2 * numpy.pi)
    start = decay_turbulence.random_vorticity(numpy.random.default_rng(1), plane, 4.0)
    settings.levels, settings.interval = 41, 0.025
    flow = decay_turbulence.evolve(start, settings)
    energy = (flow["u"] ** 2 + flow["v"] ** 2).mean(axis=(1, 2)) / 2
    loss = 0.05 * (flow["vorticity"] ** 2).mean(axis=(1, 2))
    require_close(energy[0], 0.5, 1e-12, "energy")
    require_close(energy[0] - energy[-1], numpy.trapz(loss, dx=0.025), 1e-3, "loss of energy")
    for u, v, vorticity in zip(flow["u"], flow["v"], flow["vorticity"]):
        du, dv = numpy.fft.rfft2(u), numpy.fft.rfft2(v)
        require_close(plane.field(1j * plane.kx * du + 1j * plane.ky * dv), 0, 1e-11, "divergence")
        require_close(plane.field(1j * plane.kx * dv - 1j * plane.ky * du), vorticity, 1e-11, "curl of the velocity")


def check_files(folder):
    """Every generator: help, a file for each trajectory, the same bits for the same number, others for others."""
    for name, stem in FILES.items():
        said = subprocess.run([sys.executable, GENERATORS / f"{name}.py", "--help"], check=True, capture_output=True, text=True)
        assert "--seed" in said.stdout and "--levels" in said.stdout, said
        sizes = ["--points", 32, "--levels", 3, "--seed", 5, "--length", 16]
        all_of_them = make(name, folder / f"{name}-all", "--trajectories", 3, *sizes)
        assert [path.name for path in all_of_them] == [f"{stem}-{number:03d}.h5" for number in range(3)], all_of_them
        again = make(name, folder / f"{name}-again", "--trajectories", 1, "--first", 1, *sizes, "--gzip", 4)
        with h5py.File(all_of_them[0]) as first, h5py.File(all_of_them[1]) as second, h5py.File(again[0]) as same:
            for array in same:
                assert numpy.array_equal(second[array][()], same[array][()]), f"{name}: {array}"
            array = "u"
            assert same[array].compression == "gzip" and not numpy.array_equal(first[array][()], second[array][()])
            assert numpy.isfinite(first[array][()]).all() and same.attrs["seed"] == 5


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        check_advection(folder / "advection")
        check_diffusion(folder / "diffusion")
        check_burgers()
        check_kuramoto_sivashinsky()
        check_turbulence()
        check_files(folder)
    print("trajectories: as their closed forms say")


main()
