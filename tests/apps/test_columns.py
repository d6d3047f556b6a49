"""apps/columns: states that solve the equations of NumPy, by Newton's method and without derivatives, the same on all ranks."""
import re
import subprocess

import numpy

from source_networks import Reference, mlp, network
from support.cases import run_cases, skip
from support.command import LAUNCHER, environment
from support.run_folders import last_checkpoint

RUNS = ("formula, Newton", "network, Newton", "network, Picard")
SIZES = (7, 12, 4, 120), (200, 40, 24, 120)  # columns, layers, steps and their seconds: a sample, and all


def run(line, folder, **variables):
    result = subprocess.run(list(map(str, line)), cwd=folder, env=environment() | variables, capture_output=True, text=True)
    assert result.returncode == 0, f"{line}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def require_compiler():
    try:
        subprocess.run(["mpif90", "--version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        skip("no mpif90")


def saturation(temperature, pressure):
    return 622 * 6.112 * numpy.exp(17.67 * (temperature - 273.15) / (temperature - 29.65)) / pressure


def by_formula(x):
    """Condensation and rain of layers [..., 4]."""
    excess = x[..., 1] - saturation(x[..., 0], x[..., 3])
    rain = 2 * x[..., 2] * -numpy.expm1(-(x[..., 2] / 0.5)**2)
    return numpy.stack([3 * 0.5 * numpy.logaddexp(0, excess / 0.5), rain], -1)


def residual(before, after, pressure, rates, seconds):
    """Of an implicit Euler step, in K and g/kg: states [column, layer, 3], from above."""
    x = numpy.concatenate([after, numpy.broadcast_to(pressure[:, None], (*after.shape[:2], 1))], -1)
    condensation, rain = numpy.moveaxis(rates(x), -1, 0)
    change = numpy.stack([2.49 * condensation - 0.5, -condensation, condensation - rain], -1)
    change[:, -1, 1] += 2
    flux = numpy.diff(after, axis=1)
    change[:, :-1] += flux
    change[:, 1:] -= flux
    return after - before - seconds / 3600 * change


def row_of(text, name):
    return [float(word) for word in re.search(rf"^ *{re.escape(name)}  +(\S+) +(\S+) +(\S+)$", text, re.M).groups()]


def build(command, repository, full):
    """As the README says, by one command, here with few epochs."""
    keys = "run.peak_flops=1e12" + ("" if full else " run.epochs=6")
    speed = "-O3 -march=native" if full else "-O0 -fcheck=all,no-array-temps"
    run(["make", "-f", repository / "apps/columns/makefile", f"MYLOS={command.program}", f"TRAINING={keys}", f"FFLAGS={speed} -Werror"],
        command.folder)


def model(command, ranks, threads, columns, layers, steps, seconds, file="states"):
    words = ["--columns", columns, "--layers", layers, "--steps", steps, "--seconds", seconds, "--write", file]
    text = run([*LAUNCHER, "-n", ranks, "./columns", *words], command.folder, OMP_NUM_THREADS=str(threads))
    states = numpy.fromfile(command.folder / file).reshape(3, columns, 2, layers, 3)
    return text, states


def check_equations(command, repository, full):
    require_compiler()
    build(command, repository, full)
    columns, layers, seconds = SIZES[full][0], SIZES[full][1], SIZES[full][3]
    text, states = model(command, 1, 2, *SIZES[full])
    print(text, end="")
    reference = Reference(network(4, 2, **mlp([32, 32], "gelu_tanh")), last_checkpoint(command, "runs/microphysics"))
    of_network = lambda x: reference.forward(x.reshape(-1, 4)).reshape(*x.shape[:2], 2)
    pressure = 600 + 400 * (numpy.arange(layers) + 0.5) / layers
    iterations, halved = row_of(text, "iterations of a step"), row_of(text, "steps that were halved")
    water, temperature = row_of(text, "water that appeared, part of all"), row_of(text, "difference from formula: temperature, K")
    assert halved == [0, 0, 0] and iterations[1] < 5 and iterations[2] > 2 * iterations[1], (halved, iterations)
    for i, rates in enumerate((by_formula, of_network, of_network)):
        largest = numpy.abs(residual(states[i, :, 0], states[i, :, 1], pressure, rates, seconds)).max()
        assert largest < 1e-9, (RUNS[i], largest)
        assert abs(water[i]) < 1e-9, (RUNS[i], water[i])
        own = numpy.sqrt(((states[i] - states[0])[:, 1, :, 0]**2).mean())
        assert abs(own - temperature[i]) <= 0.01 * own, (RUNS[i], own, temperature[i])
    assert numpy.abs(states[0, :, 1] - states[0, :, 0]).max() > 1e-3, "nothing happens in a step"
    assert numpy.abs(states[2] - states[1]).max() < 1e-8
    assert temperature[1] < (0.1 if full else 1), temperature
    for ranks, threads in ((2, 1), (3, 2), (4, 1)) + ((1, 1), (8, 1)) * full:  # the same bits, whoever computes a column
        _, others = model(command, ranks, threads, *SIZES[full], "others")
        assert others.tobytes() == states.tobytes(), (ranks, threads)


def check_long_steps(command):
    """Newton's method solves steps that are as long as condensation takes; without derivatives they are halved."""
    text, _ = model(command, 1, 1, 2, 12, 2, 1200)
    halved, iterations = row_of(text, "steps that were halved"), row_of(text, "iterations of a step")
    assert halved[1] == 0 and halved[2] > 0 and iterations[2] > 5 * iterations[1], text


def check_mistakes(command):
    for words in (["--columns", "0"], ["--steps"], ["--seconds", "x"]):
        result = subprocess.run([command.folder / "columns", *words], cwd=command.folder, env=environment(), capture_output=True, text=True)
        assert result.returncode == 2 and "usage: " in result.stderr, (words, result)


run_cases(check_equations, check_long_steps, check_mistakes, arguments=["repository"])
