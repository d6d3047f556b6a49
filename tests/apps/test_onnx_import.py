"""mylos convert NET.onnx NET.h5: networks of other programs compute in Mylos what ONNX Runtime and PyTorch compute, and what Mylos
exports comes back.

usage: test_onnx_import.py MYLOS [--full]

Random models and decks: a sample, or with --full 300 of each. The environment variable MYLOS_ONNX_PYTHON names an interpreter that has
onnx and onnxruntime, MYLOS_TORCH_PYTHON one that has PyTorch and its exporters; without the second its part is left out.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import numpy

from onnx_decks import NETWORKS, write_deck
from random_chains import draw
from support.cases import run_cases, skip
from support.command import environment
from support.data_files import write_data

TOLERANCE = 1e-5  # of the largest output
MODELS = pathlib.Path(__file__).with_name("onnx_models.py")
TORCH_MODELS = pathlib.Path(__file__).with_name("onnx_torch_models.py")
# What mylos export writes and mylos convert refuses, with a word of the message.
NOT_READ = {"sure": "outputs", "sure-plain": "outputs", "sure-fields": "outputs", "finer": "", "operator": "", "operator-line": "",
            "operator-solid": "", "waves": ""}


def interpreter(variable, modules):
    asked = os.environ.get(variable)
    python = asked or sys.executable
    found = subprocess.run([python, "-c", f"import {modules}"], capture_output=True, check=False).returncode == 0
    assert found or not asked, f"{asked} has not all of {modules}"
    return python if found else None


def outputs_of(command, checkpoint, inputs):
    with h5py.File(command.folder / "samples.h5", "w") as file:
        file["inputs"] = inputs
    command.must("predict", checkpoint, "samples.h5", "predicted.h5")
    with h5py.File(command.folder / "predicted.h5") as file:
        name = next(name for name in ("outputs", "probabilities") if name in file)
        return file[name][()].reshape(len(inputs), -1)


def compare_models(command, folder):
    """Returns the number of models and the largest error, relative to the largest output."""
    worst, models = 0.0, sorted((command.folder / folder).glob("*.onnx"))
    for model in models:
        command.must("convert", model, "net.h5")
        assert command.text("net.toml").startswith("# The network of "), command.text("net.toml")
        arrays = numpy.load(model.with_suffix(".npz"))
        found = outputs_of(command, "net.h5", arrays["inputs"])
        error = abs(found - arrays["outputs"]).max() / abs(arrays["outputs"]).max()
        assert error <= TOLERANCE, f"{model.name}: {error:.2g} of the largest output\n{command.text('net.toml')}"
        worst = max(worst, error)
    print(f"{len(models)} models of {folder}: at most {worst:.1e} of the largest output", flush=True)
    return models


def check_models(command, full):
    if ONNX_PYTHON is None:
        return
    (command.folder / "onnx").mkdir()
    subprocess.run([ONNX_PYTHON, MODELS, command.folder / "onnx", "1", "300" if full else "6"], check=True, env=environment())
    assert len(compare_models(command, "onnx")) > 15


def check_torch(command):
    if TORCH_PYTHON is None:
        print("no PyTorch here: its exporters were not compared")
        return
    (command.folder / "torch").mkdir()
    subprocess.run([TORCH_PYTHON, TORCH_MODELS, command.folder / "torch"], check=True, env=environment())
    assert len(compare_models(command, "torch")) > 20


def round_trip(command, checkpoint, inputs):
    """Returns the error of what was exported and read back; None: it is refused."""
    exported = command.run("export", checkpoint, "trip.onnx")
    if exported.returncode:
        return None
    converted = command.run("convert", "trip.onnx", "trip.h5")
    if converted.returncode:
        assert converted.returncode == 2 and "[unsupported-feature]" in converted.stderr, converted.stderr
        return None
    expected = outputs_of(command, checkpoint, inputs)
    found = outputs_of(command, "trip.h5", inputs)
    return abs(found - expected).max() / max(abs(expected).max(), 1e-30)


def check_own_exports(command, full):
    names = [*NETWORKS][:: 1 if full else 3]
    for name in names:
        rows = write_deck(command.folder, name)
        command.must("train", f"{name}.toml", "run.steps=2")
        error = round_trip(command, f"runs/{name}", rows.reshape(len(rows), -1))
        assert (error is None) == (name in NOT_READ), f"{name}: {error}"
        assert error is None or error <= TOLERANCE, f"{name}: {error:.2g} of the largest output"
    print(f"{sum(name not in NOT_READ for name in names)} of {len(names)} networks came back")


def check_random_decks(command, full):
    errors, refused = [], 0
    for number in range(300 if full else 6):
        deck = draw(5, number, 0, True)
        command.write("deck.toml", deck.text())
        write_data(command.folder / "data.h5", **deck.arrays)
        write_data(command.folder / "test.h5", **deck.arrays)
        shutil.rmtree(command.folder / "run", ignore_errors=True)
        if command.run("train", "deck.toml").returncode:
            continue
        inputs = numpy.asarray(deck.arrays["inputs"])
        error = round_trip(command, "run", inputs.reshape(len(inputs), -1))
        if error is None:
            refused += 1
            continue
        assert error <= TOLERANCE, f"deck {number}: {error:.2g} of the largest output\n{deck.text()}\n{command.text('trip.toml')}"
        errors.append(error)
    print(f"{len(errors)} random decks came back, at most {max(errors):.1e} of the largest output; {refused} refused")
    assert 2 * len(errors) >= refused


def check_further_use(command):
    """evaluate, fine-tuning, and the exports."""
    rows = write_deck(command.folder, "mlp")
    command.must("train", "mlp.toml", "run.folder=first")
    command.must("export", "first", "first.onnx")
    command.must("convert", "first.onnx", "first.h5")
    expected = outputs_of(command, "first", rows)
    assert abs(outputs_of(command, "first.h5", rows) - expected).max() <= TOLERANCE * abs(expected).max()
    command.must("eval", "first.h5", "--data", "mlp-data.h5")
    command.must("export", "first.h5", "again.onnx")
    command.must("export", "first.h5", "net.c")
    command.must("train", "first.toml", "data.train=mlp-data.h5", "run.initial=first.h5", "run.steps=2", "data.batch=8", "run.peak_flops=1e12")
    converted = command.must("convert", "again.onnx", "first.h5").stdout
    assert "first.toml: deck of its" in converted and "first.h5: checkpoint of step 0" in converted, converted


def check_refusals(command):
    if "ONNX: none" in command.must("--version").stdout:
        write_data(command.folder / "data.h5", inputs=numpy.zeros((2, 2), "f4"))
        (command.folder / "net.onnx").write_bytes(b"x")
        command.must_refuse(["convert", "net.onnx", "net.h5"], "not-in-build", "libonnx-dev")
        skip("this build reads no ONNX files")
    (command.folder / "damaged.onnx").write_bytes(b"\x08\x08\x12\x07pytorch" + bytes(60))
    refuse = command.must_refuse
    refuse(["convert", "damaged.onnx", "no.h5"], "wrong-format", "damaged.onnx")
    refuse(["convert", "missing.onnx", "no.h5"], "no-such-file", "missing.onnx")
    refuse(["convert", "damaged.onnx", "no.h5", "--heads", "2"], "arguments-conflict", "--heads")
    refuse(["convert", "damaged.onnx", "no.txt"], "bad-argument", "no.txt")
    command.write("taken.toml", "[run]\n")
    refuse(["convert", "damaged.onnx", "taken.h5"], "already-exists", "taken.toml")
    if ONNX_PYTHON is None:
        skip("no python here has onnx and onnxruntime (scripts/onnx-python), so that no model was compared")
    subprocess.run([ONNX_PYTHON, MODELS.with_name("onnx_bad_models.py"), command.folder], check=True, env=environment())
    for model in sorted(command.folder.glob("bad-*.onnx")):
        error_id, *parts = model.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
        refuse(["convert", model.name, "no.h5"], error_id, model.name, *parts)
    assert not list(command.folder.glob("no.*")), list(command.folder.glob("no.*"))
    content = (command.folder / "bad-operator.onnx").read_bytes()
    source = numpy.random.default_rng(1)
    for _ in range(20):  # any bytes: a message, not a crash
        changed = bytearray(content)
        for place in source.integers(0, len(content), 3):
            changed[place] = source.integers(0, 256)
        (command.folder / "changed.onnx").write_bytes(changed)
        assert command.run("convert", "changed.onnx", "changed.h5").returncode in (0, 2), changed


ONNX_PYTHON = interpreter("MYLOS_ONNX_PYTHON", "onnx, onnxruntime")
TORCH_PYTHON = interpreter("MYLOS_TORCH_PYTHON", "torch, onnx, onnxscript")

run_cases(check_refusals, check_models, check_torch, check_own_exports, check_random_decks, check_further_use)
