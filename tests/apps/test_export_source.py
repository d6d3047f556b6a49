"""mylos export RUN net.c | net.hpp | net.f90: source that compiles without warnings, and computes what NumPy computes in double of the
same weights, and `mylos predict` in float; derivatives against central differences and against each other.

usage: test_export_source.py MYLOS [--full]
With --full and MYLOS_TORCH_PYTHON, a Python that has PyTorch, also derivatives in double against PyTorch. Languages without a
compiler are not tested.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

import h5py
import numpy

import source_programs
from small_problem import gpt_deck, prepare_text
from source_networks import NETWORKS, Reference, error_of, random_column, random_network, require, write
from source_programs import LANGUAGES, SAMPLES
from support.cases import run_cases, skip
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint

FLOAT = float(numpy.finfo(numpy.float32).eps)
ULPS = 1  # of the largest output, for each layer; 0.25 were seen
PREDICT = 1e-5  # of the largest output, as for ONNX
DOUBLE = 1e-12
DIFFERENCES = 1e-6
DERIVATIVES = ("jacobian", "jvp", "vjp")
TORCH_PYTHON = os.environ.get("MYLOS_TORCH_PYTHON")
TORCH_NETWORKS = pathlib.Path(__file__).with_name("source_torch.py")


class Exported:
    """A trained network, its files and what they should compute."""

    def __init__(self, command, name, described, derivatives):
        self.name = name
        inputs = write(command.folder, name, described)
        command.must("train", f"{name}.toml")
        self.reference = Reference(described, last_checkpoint(command, f"runs/{name}"))
        self.depth = 2 + len(described["layers"])
        source = numpy.random.default_rng(7)
        self.x = inputs[:SAMPLES].astype(float)
        self.dx = source.normal(size=self.x.shape).astype("f4").astype(float)
        self.ybar = source.normal(size=(SAMPLES, self.reference.outputs())).astype("f4").astype(float)
        self.y = self.reference.forward(self.x)
        self.jacobian = self.reference.jacobian(self.x)
        self.torch = None
        self.networks = [self.export(command, name, real, derivative) for real, derivative in derivatives]
        command.must("predict", f"runs/{name}", f"{name}-data.h5", "predicted.h5")
        with h5py.File(command.folder / "predicted.h5") as file:
            parts = [file["outputs"][()]] + ([file["standard_deviation"][()]] if "standard_deviation" in file else [])
            if "quantiles" in file:
                parts = list(file["quantiles"][()])
        self.predicted = numpy.concatenate([each.reshape(len(each), -1) for each in parts], -1)[:SAMPLES]

    def export(self, command, name, real, derivative):
        prefix = f"{name}_{real}_{derivative}"
        network = source_programs.Network(prefix, real, derivative, self.x.shape[1], self.y.shape[1])
        for language in LANGUAGES:
            if language.available():
                command.must("export", f"runs/{name}", f"{prefix}.{language.ending}", "--real", real, "--derivative", derivative)
        network.write_input(command.folder, self.x, self.dx, self.ybar)
        return network

    def write_for_torch(self, folder):
        reference = self.reference
        (folder / f"{self.name}.network.json").write_text(json.dumps(reference.described), encoding="utf-8")
        arrays = {f"weight:{name}": value for name, value in reference.weights.items()}
        arrays.update({f"scaling:{of}_{what}": value for (of, what), value in reference.scaling.items()})
        numpy.savez(folder / f"{self.name}.network.npz", x=self.x, dx=self.dx, ybar=self.ybar, **arrays)

    def read_torch(self, folder):
        """The derivatives that PyTorch finds replace differences."""
        with numpy.load(folder / f"{self.name}.torch.npz") as file:
            require(f"{self.name}: PyTorch and NumPy", error_of(file["y"], self.y), DOUBLE)
            self.torch = {name: file[name] for name in ("jacobian", "jvp", "vjp")}

    def check_torch(self, network, found, what):
        """Of derivatives in double."""
        for name in DERIVATIVES:
            if name in found:
                values = found[name][:, 1] if name == "jvp" else found[name]
                require(f"{network.name} {what} {name} and PyTorch", error_of(values, self.torch[name]), DOUBLE)

    def check(self, network, found, what):
        if self.torch and network.real == "double":
            self.check_torch(network, found, what)
        what = f"{network.name} {what}"
        is_double = network.real == "double"
        tolerance = DOUBLE if is_double else ULPS * self.depth * FLOAT
        for function in ("evaluate", "block", "rows"):
            if function in found:
                require(f"{what} {function}", error_of(found[function], self.y), tolerance)
        require(f"{what} and predict", error_of(found["evaluate"], self.predicted), PREDICT)
        differences = DIFFERENCES if is_double else 16 * self.depth * FLOAT
        if "jacobian" in found:
            require(f"{what} jacobian", error_of(found["jacobian"], self.jacobian), differences)
        if "jvp" in found:
            require(f"{what} y of jvp", error_of(found["jvp"][:, 0], self.y), tolerance)
            require(f"{what} jvp", error_of(found["jvp"][:, 1], numpy.einsum("soi,si->so", self.jacobian, self.dx)), 4 * differences)
        if "vjp" in found:
            require(f"{what} vjp", error_of(found["vjp"], numpy.einsum("soi,so->si", self.jacobian, self.ybar)), 4 * differences)

    def check_together(self, found):
        """The derivatives in double against each other, which are more exact than differences."""
        jacobian = found["jacobian"]["jacobian"]
        for name, expected in (("jvp", numpy.einsum("soi,si->so", jacobian, self.dx)),
                               ("vjp", numpy.einsum("soi,so->si", jacobian, self.ybar))):
            if name in found:
                values = found[name][name]
                require(f"{name} and jacobian", error_of(values[:, 1] if name == "jvp" else values, expected), DOUBLE)


def check_networks(command, described, derivatives_of, full):
    """`derivatives_of`: the number of a network -> its (real, derivative)."""
    exported = [Exported(command, name, each, derivatives_of(i)) for i, (name, each) in enumerate(described.items())]
    networks = [network for each in exported for network in each.networks]
    if full and TORCH_PYTHON:
        folder = command.folder / "torch"
        folder.mkdir(exist_ok=True)
        for each in exported:
            each.write_for_torch(folder)
        subprocess.run([TORCH_PYTHON, TORCH_NETWORKS, folder], check=True)
        for each in exported:
            each.read_torch(folder)
        print(f"PyTorch: {len(exported)} networks", flush=True)
    for language in LANGUAGES:
        for compiler in language.run(command.folder, networks, full):
            for each in exported:
                doubles = {}
                for network in each.networks:
                    found = network.read_output(command.folder, language.ending == "f90")
                    each.check(network, found, compiler)
                    if network.real == "double":
                        doubles[network.derivative] = found
                each.check_together(doubles)
            print(f"{compiler}: {len(networks)} files", flush=True)


def check_layers(command, full):
    check_networks(command, NETWORKS, lambda i: [("double", "jacobian"), ("float", ["none", *DERIVATIVES][i % 4])] +
                   [("double", DERIVATIVES[1 + i % 2])] * (i in (0, 4, 7, 8)) + [("double", "jvp")] * (i == 9), full)


def check_random(command, full):
    networks = {f"random{seed}": random_network(seed) for seed in range(100, 160 if full else 102)}
    networks.update({f"column{seed}": random_column(seed) for seed in range(200, 230 if full else 200)})
    names = list(networks)
    for first in range(0, len(names), 20):
        described = {name: networks[name] for name in names[first:first + 20]}
        check_networks(command, described, lambda i: [("double", "jacobian"), ("float", "none")] if not full else
                       [(real, each) for real in ("double", "float") for each in DERIVATIVES], full)


def check_options(command):
    text = command.text("smooth_double_jacobian.c")
    with h5py.File(command.folder / "smooth-data.h5") as file:
        smallest = file["inputs"][:, 0].min()
    assert f"{smallest:.7g}" in text, f"the smallest first input, {smallest:.7g}, is missing"
    assert "dropout = 0.1" in text, "the deck is missing"
    for name in ("one.c", "two.c"):
        command.must("export", "runs/smooth", name, "--name", "Other")
    assert command.text("one.c") == command.text("two.c") and "void Other_evaluate(const float *x" in command.text("one.c")
    command.must("train", "smooth.toml", "run.folder=kept", "optimizer.average=0.5")
    command.must("export", "kept", "average.c", "--average", "--real", "double")
    weights = Reference(NETWORKS["smooth"], last_checkpoint(command, "kept"), average=True).weights["hidden1/weight"]
    numbers = [float(number) for number in re.search(r"hidden1_weight\[\d+\] = \{(.*?)\}", command.text("average.c"), re.S)[1].split(",")]
    assert numbers == weights.T.ravel().tolist(), "the average of the weights is not in the file"
    command.must_refuse(["export", "runs/smooth", "x.c", "--average"], "no-average", "optimizer.average")


def check_refusals(command):
    run, refuse = "runs/smooth", command.must_refuse
    for name in ("if", "for", "end", "subroutine", "double", "namespace", "do", "a-b", "9lives", "_x", "x" * 41, "ä"):
        refuse(["export", run, "x.f90", "--name", name], "bad-argument", "--name")
        refuse(["export", run, "x.c", "--name", name], "bad-argument", "--name")
    refuse(["export", run, "my-net.hpp"], "bad-argument", "my-net")
    refuse(["export", run, "linear.f90"], "bad-argument", "linear")
    command.must("export", run, "linear.c")
    for option in (["--type", "fp32"], ["--opset", "17"], ["--input-statistics"]):
        refuse(["export", run, "x.c", *option], "arguments-conflict", option[0], "x.c")
    for option in (["--real", "double"], ["--name", "x"], ["--derivative", "jvp"]):
        refuse(["export", run, "x.h5", *option], "arguments-conflict", option[0], "x.h5")
        refuse(["export", run, "x.onnx", *option], "arguments-conflict", option[0], "x.onnx")
    refuse(["export", run, "x.c", "--real", "half"], "bad-argument", "--real")
    refuse(["export", run, "x.c", "--derivative", "hessian"], "bad-argument", "--derivative")
    for name in ("x.cpp", "x.h", "x.f", "x.C", "x.c.gz"):
        refuse(["export", run, name], "bad-argument", name)
    (command.folder / "folder.c").mkdir()
    refuse(["export", run, "folder.c"], "not-a-file", "folder.c")
    assert not list(command.folder.glob("x.*")), list(command.folder.glob("x.*"))


GRIDS = {"groups": [layer("conv", name="edge", outputs=2, kernel=3), layer("conv", name="alone", outputs=2, kernel=3, groups=2), layer("dense")],
         "transposed": [layer("conv", name="finer", outputs=2, kernel=2, padding=0, stride=2, transposed=True), layer("dense")],
         "groupnorm": [layer("norm", name="grouped", norm="groupnorm", norm_groups=1), layer("dense")],
         "spectral": [layer("spectral", name="waves", outputs=2, modes=2), layer("dense")],
         "finer": [layer("upsample", name="finer"), layer("dense")]}


def check_unsupported(command):
    source = numpy.random.default_rng(1)
    with h5py.File(command.folder / "grid.h5", "w") as file:
        file["inputs"] = source.normal(size=(16, 8)).astype("f4")
        file["targets"] = source.normal(size=(16, 2)).astype("f4")
    for name, layers in GRIDS.items():
        command.write("grid.toml", deck_text(run=dict(name=name), data=dict(train="grid.h5", batch=8, shape=[8, 1]),
                                             model=dict(type="chain", loss="mse"), layers=layers, precision=dict(compute="fp32")))
        command.must("init", "grid.toml", f"{name}-start.h5")
        command.must_refuse(["export", f"{name}-start.h5", "x.c"], "unsupported-feature", layers[-2]["name"])
    command.write("plane.toml", deck_text(run=dict(name="plane"), data=dict(train="grid.h5", batch=8, shape=[2, 4, 1]),
                                          model=dict(type="chain", loss="mse"), layers=[layer("conv", name="plane", outputs=2, kernel=3), layer("dense")],
                                          precision=dict(compute="fp32")))
    command.must("init", "plane.toml", "plane-start.h5")
    command.must_refuse(["export", "plane-start.h5", "x.c"], "unsupported-feature", "plane")
    prepare_text(command, "the quick brown fox jumps over the lazy dog. " * 40)
    command.write("gpt.toml", gpt_deck(run=dict(steps=2), data=dict(batch=6), model=dict(vocabulary=28)))
    command.must("init", "gpt.toml", "gpt-start.h5")
    command.must_refuse(["export", "gpt-start.h5", "x.f90"], "unsupported-feature", "embedding")
    command.write("thick.toml", deck_text(run=dict(name="thick"), data=dict(train="grid.h5", batch=8),
                                          model=dict(type="mlp", hidden=[70000], loss="mse"), precision=dict(compute="fp32")))
    command.must("init", "thick.toml", "thick.h5")
    command.must_refuse(["export", "thick.h5", "x.c"], "too-large", "65536")


def check_page(command):
    """The programs of docs/how-to/source.md are right as they are."""
    text = (pathlib.Path(__file__).parents[2] / "docs/how-to/source.md").read_text(encoding="utf-8")
    shown = []
    for ending, line in (("c", ["gcc", "-std=c99", "main.c", "closure.c", "-lm"]), ("f90", ["gfortran", "-std=f2008", "closure.f90", "main.f90"]),
                         ("cpp", ["g++", "-std=c++17", "main.cpp"])):
        if not shutil.which(line[0]):
            continue
        command.must("export", "runs/smooth", f"closure.{ending.replace('cpp', 'hpp')}")
        command.write(f"main.{ending}", re.search(rf"File `main\.{ending}`:\n\n```.*?\n(.*?)```", text, re.S)[1])
        subprocess.run([line[0], "-O1", *line[1:], "-o", "page"], cwd=command.folder, check=True)
        shown.append(subprocess.run(["./page"], cwd=command.folder, check=True, capture_output=True, text=True).stdout.split())
    expected = Reference(NETWORKS["smooth"], last_checkpoint(command, "runs/smooth")).forward(numpy.zeros((1, 5)))[0]
    for numbers in shown:
        require("page", error_of(numpy.array(numbers, float), expected), 1e-5)


def check_fortran(command):
    """Names that contain words of the text, and vectors whose arrays gfortran would make static, for threads to share."""
    if not shutil.which("gfortran"):
        return
    for name in ("MYNAME", "INPUTS_NET", "outputs"):
        command.must("export", "runs/wide", f"{name}.f90", "--derivative", "jacobian")
    for derivative in ("none", "vjp"):
        command.must("init", "thick.toml", f"broad-{derivative}.h5", "model.hidden=[20,2048,20]")
        command.must("export", f"broad-{derivative}.h5", f"broad_{derivative}.f90", "--derivative", derivative)
    for name in ("MYNAME", "INPUTS_NET", "outputs", "broad_none", "broad_vjp"):
        subprocess.run(["gfortran", "-std=f2008", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c", f"{name}.f90"], cwd=command.folder, check=True)


def check_compilers(_):
    if not any(language.available() for language in LANGUAGES):
        skip("no compiler, so that no number was compared")


run_cases(check_layers, check_random, check_page, check_options, check_refusals, check_unsupported, check_fortran, check_compilers)
