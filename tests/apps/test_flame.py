"""apps/flame: NumPy computes the same flames, with the closed form of the reaction and with the weights of the trained network."""
import re
import subprocess

import numpy

from source_networks import Reference, mlp, network
from support.cases import run_cases
from support.command import environment
from support.run_folders import last_checkpoint

SIDE, STEPS = (24, 96), (60, 320)  # a sample, and all
WIDTH = 0.25  # of a cell
FORMS = ("formula", "network by threads", "network by teams")


def run(line, folder, **variables):
    result = subprocess.run(list(map(str, line)), cwd=folder, env=environment() | {"OMP_PROC_BIND": "false"} | variables,
                            capture_output=True, text=True)
    assert result.returncode == 0, f"{line}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def build(command, repository, cmake, cxx, kokkos, full):
    """As the README says, by one command, here for a program that compiles fast."""
    keys = "run.peak_flops=1e12" + ("" if full else ";run.epochs=6")
    speed = ["-DCMAKE_BUILD_TYPE=Release"] if full else ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1", "-DCMAKE_UNITY_BUILD=ON"]
    run([cmake, "-S", repository / "apps/flame", "-B", "flame", "-G", "Ninja", *speed, f"-DCMAKE_CXX_COMPILER={cxx}",
         f"-DKokkos_DIR={kokkos}", f"-DMYLOS={command.program}", f"-DTRAINING={keys}"], command.folder)
    run([cmake, "--build", "flame"], command.folder)


def first_state(side):
    place = (numpy.arange(side) + 0.5) / side - 0.5
    x, y = numpy.meshgrid(place, place)  # a row of cells has one y
    total = 1 + 0.2 * numpy.sin(4 * numpy.pi * x)
    burnt = (1 - numpy.tanh((numpy.hypot(x, y) - 0.15) * side * WIDTH)) / 2
    return numpy.stack([total * burnt, total * (1 - burnt)], -1)


def by_formula(state):
    """One irreversible reaction of Zeldovich number 5, 1 - density ratio 0.8."""
    missing = 1 - state[..., 0]
    return 12.5 * state[..., 1] * numpy.exp(-5 * missing / (1 - 0.8 * missing))


def computed(side, steps, rate):
    state = first_state(side)
    for _ in range(steps):
        around = sum(numpy.roll(state, shift, axis) for axis in (0, 1) for shift in (1, -1))
        burnt = 0.2 * WIDTH**2 * numpy.maximum(rate(state), 0)
        state = state + 0.2 * (around - 4 * state) + numpy.stack([burnt, -burnt], -1)
    return state


def row_of(text, name):
    return [float(word) for word in re.search(rf"^{re.escape(name)}  +(\S+) +(\S+) +(\S+)$", text, re.M).groups()]


def check_flames(command, repository, cmake, cxx, kokkos, full):
    build(command, repository, cmake, cxx, kokkos, full)
    side, steps = SIDE[full], STEPS[full]
    reference = Reference(network(2, 1, **mlp([32, 32], "gelu_tanh")), last_checkpoint(command, "flame/network/runs/reaction"))
    expected = [computed(side, steps, by_formula),
                computed(side, steps, lambda state: reference.forward(state.reshape(-1, 2)).reshape(side, side))]
    expected.append(expected[1])
    for threads in (1, 2) if full else (2,):
        text = run(["flame/flame", "--side", side, "--steps", steps, "--write", "states"], command.folder, OMP_NUM_THREADS=str(threads))
        states = numpy.fromfile(command.folder / "states").reshape(3, side, side, 2)
        print(text, end="")
        change, error = row_of(text, "change of the sum of both quantities"), row_of(text, "temperature: rms error")
        for i, (form, limit) in enumerate(zip(FORMS, (1e-12, 2e-5, 2e-5))):
            difference = numpy.abs(states[i] - expected[i]).max()
            assert difference < limit, (form, threads, difference)
            assert change[i] < 1e-13 and abs(states[i].sum() / first_state(side).sum() - 1) < 1e-13, (form, change[i])
            own_error = numpy.sqrt(((states[i] - states[0])[..., 0]**2).mean())
            assert abs(own_error - error[i]) <= 0.01 * own_error, (form, own_error, error[i])
            assert error[i] < (0.02 if full else 0.1), (form, error[i])


def check_timer(command):
    """Half of the threads are one, where OpenMP may divide them."""
    text = run(["flame/flame", "--time", "--side", 4], command.folder, OMP_NUM_THREADS="2", OMP_MAX_ACTIVE_LEVELS="2")
    assert "concurrency 1 and 2" in text and all(row_of(text, form)[0] > 0 for form in FORMS), text


def check_mistakes(command):
    for words in (["--side", "2"], ["--steps"], ["--sides", "8"], ["--write", ""]):
        result = subprocess.run([command.folder / "flame/flame", *words], env=environment(), capture_output=True, text=True)
        assert result.returncode == 2 and "usage: " in result.stderr, (words, result)


run_cases(check_flames, check_timer, check_mistakes, arguments=["repository", "cmake", "cxx", "kokkos"])
