"""Models that compute in double, opened through the C library, against NumPy in double of the same weights: outputs, deviations and
bounds, and derivatives against steps along the imaginary axis, within 1e-12 of the largest number.

usage: test_double.py MYLOS BUILD SOURCE CXX [--full]
"""
import ctypes
import pathlib

import h5py
import numpy

import programs  # noqa: F401, after which the helpers of tests/apps are on the path
from source_networks import NETWORKS, Reference, random_network, write
from support.cases import run_cases
from support.run_folders import last_checkpoint

TOLERANCE = 1e-12
SAMPLE = ("smooth", "classes", "sure", "graph")
OK = 0
FP64 = 1


class Rows(ctypes.Structure):
    """mylos_array and mylos_const_array."""

    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32), ("extents", ctypes.c_int64 * 5),
                ("strides", ctypes.c_int64 * 5), ("on_device", ctypes.c_int32), ("order", ctypes.c_int32)]

    def __init__(self, array):
        super().__init__(data=array.ctypes.data, type=FP64, rank=array.ndim)
        for d, extent in enumerate(array.shape):
            self.extents[d], self.strides[d] = extent, array.strides[d] // array.itemsize


class Model:
    """A model in double, of the shapes of a Reference."""

    def __init__(self, library, path, inputs, targets):
        self.library, self.inputs, self.targets = library, inputs, targets
        self.handle = ctypes.c_void_p()
        self.require(library.mylos_model_open_in_double(1, str(path).encode(), None, 1, 0, None, ctypes.byref(self.handle)))

    def require(self, status):
        assert status == OK, self.library.mylos_last_error().decode()

    def call(self, function, arrays, shape, *more):
        """What the function writes to an array of this shape, after those that it reads."""
        result = numpy.full(shape, numpy.nan)
        given = [numpy.ascontiguousarray(array) for array in arrays]
        described = [ctypes.byref(Rows(array)) for array in [*given, result]]
        self.require(getattr(self.library, f"mylos_model_{function}")(self.handle, *described, *more))
        return result

    def infer(self, x):
        return self.call("infer", [x], (len(x), self.targets), 0)

    def uncertain(self, x):
        """Means, deviations, lower and upper bounds."""
        arrays = [numpy.full((len(x), self.targets), numpy.nan) for _ in range(4)]
        self.require(self.library.mylos_model_infer_uncertain(self.handle, *(ctypes.byref(Rows(array)) for array in [x, *arrays])))
        return arrays


def require_near(what, found, expected):
    assert found.shape == expected.shape and numpy.isfinite(found).all(), what
    error = numpy.abs(found - expected).max() / max(numpy.abs(expected).max(), 1e-30)
    assert error <= TOLERANCE, f"{what}: {error:.2g}, at most {TOLERANCE:.2g}"


def load_library(build):
    library = ctypes.CDLL(str(pathlib.Path(build) / "lib/libmylos.so"))
    library.mylos_last_error.restype = library.mylos_last_error_id.restype = ctypes.c_char_p
    return library


def check_network(command, library, name, described):
    x = write(command.folder, name, described).astype(float)
    x += numpy.random.default_rng(3).normal(size=x.shape) * 1e-9  # no floats
    command.must("train", f"{name}.toml")
    checkpoint = command.folder / last_checkpoint(command, f"runs/{name}")
    reference = Reference(described, checkpoint)
    targets = described["targets"]
    model = Model(library, checkpoint, x.shape[1], targets)
    require_near(f"{name}: outputs", model.infer(x), reference.forward(x)[:, :targets])
    jacobian = reference.exact_jacobian(x)[:, :targets]
    require_near(f"{name}: jacobian", model.call("jacobian", [x], jacobian.shape, 0), jacobian)
    source = numpy.random.default_rng(5)
    dx, dy = source.normal(size=x.shape), source.normal(size=(len(x), targets))
    require_near(f"{name}: vjp", model.call("vjp", [x, dy], x.shape, 0), numpy.einsum("soi,so->si", jacobian, dy))
    require_near(f"{name}: jvp", model.call("jvp", [x, dx], dy.shape, 0), numpy.einsum("soi,si->so", jacobian, dx))
    if described["loss"] == "gaussian":
        check_bounds(command, library, name, reference, x)
    model.require(library.mylos_model_destroy(model.handle))


def check_bounds(command, library, name, reference, x):
    write(command.folder, f"{name}-held", reference.described)
    command.must("calibrate", f"runs/{name}", "--data", f"{name}-held-data.h5", "--coverage", "0.5", "--out", f"{name}-calibrated.h5")
    path = command.folder / f"{name}-calibrated.h5"
    with h5py.File(path) as file:
        quantiles, score = file["calibration/quantiles"][()], file["calibration/score"][()]
    targets = reference.described["targets"]
    expected = reference.forward(x)
    means, deviations = expected[:, :targets], expected[:, targets:]
    width = quantiles * (deviations if score in (b"scaled", "scaled") else 1)
    model = Model(library, path, x.shape[1], targets)
    for what, found, wanted in zip(("means", "deviations", "lower", "upper"), model.uncertain(x),
                                   (means, deviations, means - width, means + width)):
        require_near(f"{name}: {what}", found, wanted)
    model.require(library.mylos_model_destroy(model.handle))


def check(command, build, full):
    library = load_library(build)
    described = {name: NETWORKS[name] for name in (NETWORKS if full else SAMPLE)}
    described |= {f"random{seed}": random_network(seed) for seed in range(200, 260) if full}
    for name, each in described.items():
        check_network(command, library, name, each)


if __name__ == "__main__":
    run_cases(check, arguments=("build", "source", "cxx"))
