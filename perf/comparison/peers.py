"""What there is on this machine to compare with: packages of the peers' Python, programs of the build, FTorch, a device."""
import json
import os
import pathlib
import re
import shutil

import harness

# Name of the package: what people call it.
PACKAGES = {"torch": "PyTorch", "onnxruntime": "ONNX Runtime", "neuraloperator": "neuraloperator", "numpy": "NumPy"}
QUESTION = """
import importlib.metadata, json, platform, sys
found = {"Python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def packages_of(python):
    """{package: version} of an interpreter, with Python's own; empty if it does not run."""
    found = harness.output_if_any(python, "-c", QUESTION, *PACKAGES)
    return json.loads(found) if found else {}


def ftorch_prefix(named):
    """The folder in which FTorch is installed: `named`, or one of FTORCH_PREFIX and CMAKE_PREFIX_PATH that has it; None."""
    folders = [str(named)] if named else [os.environ.get("FTORCH_PREFIX", ""), *re.split("[:;]", os.environ.get("CMAKE_PREFIX_PATH", ""))]
    for folder in filter(None, folders):
        if any(pathlib.Path(folder).glob("lib*/cmake/FTorch/FTorchConfig.cmake")):
            return pathlib.Path(folder)
    return None


def ftorch_version(prefix):
    for path in prefix.glob("lib*/pkgconfig/ftorch.pc"):
        if found := re.search(r"^Version: *(\S+)", path.read_text(encoding="utf-8"), re.M):
            return found.group(1)
    return f"at {prefix}, which states no version"


class Machine:
    """What is found once, before anything is measured."""

    def __init__(self, build, python, ftorch, device_build):
        self.build, self.python, self.device_build = build, python, device_build
        self.packages = packages_of(python)
        self.ftorch = ftorch_prefix(ftorch)
        self.mylos_version = harness.output_if_any(build / "bin/mylos", "--version").strip()

    def versions(self):
        """{name: version} of the peers that are here."""
        found = {PACKAGES.get(name, name): version for name, version in self.packages.items()}
        return found | ({"FTorch": ftorch_version(self.ftorch)} if self.ftorch else {})

    def missing(self, comparison):
        """Why a comparison cannot be measured, and how to get what it lacks; None if nothing is missing."""
        for need in comparison.needs:
            if reason := NEEDS[need](self):
                return reason
        if not self.packages:
            return f"no Python runs as {self.python}: scripts/peers installs one with the peers, --python names another"
        for package in comparison.packages:
            if package not in self.packages:
                return f"{self.python} has no {PACKAGES[package]}: scripts/peers installs it"
        for program in comparison.programs:
            if not (self.build / "bin" / program).exists():
                return f"no {self.build / 'bin' / program}: cmake --build {self.build} --target {program}, with Mylos_ENABLE_PERF=ON"
        return None


def no_onnx(machine):
    if "ONNX: none" in machine.mylos_version:
        return "this build of mylos writes no ONNX: install libonnx-dev and configure again"
    return None


def no_ftorch(machine):
    if machine.ftorch is None:
        return "no FTorch in FTORCH_PREFIX or CMAKE_PREFIX_PATH: --ftorch PREFIX names where it is installed"
    lacking = [tool for tool in ("cmake", "gfortran") if not shutil.which(tool)]
    return f"no {lacking[0]}, which FTorch's program needs" if lacking else None


def no_device(machine):
    if not harness.output_if_any("nvidia-smi", "-L").strip():
        return "no NVIDIA device here"
    if not (machine.device_build / "bin/mylos").exists():
        return f"no {machine.device_build / 'bin/mylos'}: build for the device, or name the build with --device-build"
    return None


def no_mpirun(machine):
    return None if shutil.which("mpirun") else "no mpirun in PATH"


NEEDS = {"onnx": no_onnx, "ftorch": no_ftorch, "device": no_device, "mpirun": no_mpirun}
