"""mylos convert NET.onnx NET.h5: networks of other programs compute in Mylos what ONNX Runtime and PyTorch compute, and what Mylos
exports comes back.

usage: test_onnx_import.py MYLOS GPT_LOGITS [--full]

Random models and decks: a sample, or with --full 300 of each. Files of real exporters: those of the folder exported_onnx, and what the
exporters that are here write. The environment variable MYLOS_ONNX_PYTHON names an interpreter that has onnx and onnxruntime,
MYLOS_TORCH_PYTHON one that has also PyTorch and onnxscript, MYLOS_KERAS_PYTHON one that has also Keras, TensorFlow and tf2onnx,
MYLOS_SKLEARN_PYTHON one that has also skl2onnx; without one of the last three its part is left out.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import h5py
import numpy

from onnx_decks import NETWORKS, write_deck
from random_chains import draw
from small_problem import gpt_deck, prepare_text
from support.cases import run_cases, skip
from support.command import environment
from support.data_files import write_data
from support.run_folders import last_checkpoint

TOLERANCE = 1e-5  # of the largest output
MODELS = pathlib.Path(__file__).with_name("onnx_models.py")
# Files of exporters, for those who lack them: NAME.onnx, as the programs below write them, and their inputs and outputs.
EXPORTED = pathlib.Path(__file__).with_name("exported_onnx")
# What mylos export writes and mylos convert refuses.
NOT_READ = {"finer", "globe", "kept", "levels", "levels-fields", "operator", "operator-line", "operator-solid", "positive", "positive-columns", "vit", "vit-classes",
            "waves"}
GPTS = {"gpt": dict(vocabulary=28), "padded": dict(vocabulary=40), "plain": dict(vocabulary=28, bias=False, heads=1),
        "rotary": dict(vocabulary=28, positions="rotary", norm="rmsnorm", feed_forward="swiglu", bias=False, tied=False)}


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
        names = [name for name in ("outputs", "probabilities", "standard_deviation") if name in file]
        return numpy.concatenate([file[name][()].reshape(len(inputs), -1) for name in names], 1)


def logits_of(command, checkpoint, tokens, context):
    """Samples are as long as the context: what follows the tokens does not change their logits."""
    samples = numpy.zeros((len(tokens), context), "i4")
    samples[:, :tokens.shape[1]] = tokens
    (command.folder / "tokens.bin").write_bytes(samples.tobytes())
    subprocess.run([GPT_LOGITS, checkpoint, "tokens.bin", "logits.bin"], cwd=command.folder, env=environment(), check=True)
    logits = numpy.fromfile(command.folder / "logits.bin", numpy.float32)
    return logits.reshape(*samples.shape, -1)[:, :tokens.shape[1]]


def converted_outputs(command, inputs, is_of_tokens):
    if not is_of_tokens:
        return outputs_of(command, "net.h5", inputs)
    context = int(re.search(r"^context = (\d+)$", command.text("net.toml"), re.MULTILINE)[1])
    return logits_of(command, "net.h5", inputs.astype("i4"), context).reshape(len(inputs), -1)


def compare_model(command, model, arrays, is_of_tokens=False):
    """Returns the largest error, relative to the largest output."""
    command.must("convert", model, "net.h5")
    assert command.text("net.toml").startswith("# The network of "), command.text("net.toml")
    found = converted_outputs(command, arrays["inputs"], is_of_tokens)
    error = abs(found - arrays["outputs"]).max() / abs(arrays["outputs"]).max()
    assert error <= TOLERANCE, f"{model.name}: {error:.2g} of the largest output\n{command.text('net.toml')}"
    print(f"  {model.stem}: {error:.1e}", flush=True)
    return error


def require_refusal(command, model):
    error_id, *parts = model.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    refused = command.must_refuse(["convert", model, "no.h5"], error_id, model.name, *parts)
    print(f"  {model.stem}: refused, {refused.stderr.partition(model.name)[2][2:120]}", flush=True)


def compare_models(command, folder, is_of_tokens=False):
    """Returns the number of models. Those with a text are refused."""
    models = sorted((command.folder / folder).glob("*.onnx"))
    errors = []
    for model in models:
        if model.with_suffix(".txt").exists():
            require_refusal(command, model)
        else:
            errors.append(compare_model(command, model, numpy.load(model.with_suffix(".npz")), is_of_tokens))
    print(f"{len(errors)} models of {folder}: at most {max(errors):.1e} of the largest output; {len(models) - len(errors)} refused", flush=True)
    return len(models)


def check_models(command, full):
    if ONNX_PYTHON is None:
        return
    (command.folder / "onnx").mkdir()
    subprocess.run([ONNX_PYTHON, MODELS, command.folder / "onnx", "1", "300" if full else "6"], check=True, env=environment())
    assert compare_models(command, "onnx") > 15


def check_exporters(command):
    for name, (python, least) in EXPORTERS.items():
        if python is None:
            print(f"no exporter of {name} here: it was not compared")
            continue
        (command.folder / name).mkdir()
        subprocess.run([python, MODELS.with_name(f"onnx_{name}_models.py"), command.folder / name], check=True, env=environment())
        assert compare_models(command, name) >= least
        if (command.folder / name / "tokens").exists():
            assert compare_models(command, f"{name}/tokens", is_of_tokens=True) > 5


def check_exported_files(command):
    arrays = numpy.load(EXPORTED / "outputs.npz")
    models = sorted(EXPORTED.glob("*.onnx"))
    assert models
    for model in models:
        inputs, outputs = arrays[f"{model.stem}-inputs"], arrays[f"{model.stem}-outputs"]
        compare_model(command, model, {"inputs": inputs, "outputs": outputs}, is_of_tokens=inputs.dtype.kind == "i")


def check_own_gpts(command):
    prepare_text(command, "the quick brown fox jumps over the lazy dog. " * 40)
    tokens = numpy.random.default_rng(1).integers(0, 28, (14, 16))
    for name, model in GPTS.items():
        command.write("gpt.toml", gpt_deck(run=dict(steps=6), data=dict(batch=6), model=model))
        command.must("train", "gpt.toml", f"run.folder={name}", "precision.compute=fp32")
        command.must("export", name, f"{name}.onnx")
        command.must("convert", f"{name}.onnx", "back.h5")
        expected = logits_of(command, last_checkpoint(command, name), tokens, 16)
        error = abs(logits_of(command, "back.h5", tokens, 16) - expected).max() / abs(expected).max()
        assert error <= TOLERANCE, f"{name}: {error:.2g} of the largest logit"
        command.must("export", "back.h5", "again.onnx")
    command.must("train", "gpt.toml", "run.folder=further", "run.initial=back.h5", "run.steps=2")


def check_external_data(command):
    """Beside the file they are read."""
    if ONNX_PYTHON is None:
        return
    subprocess.run([ONNX_PYTHON, MODELS.with_name("onnx_external_model.py"), command.folder], check=True, env=environment())
    compare_model(command, command.folder / "external.onnx", numpy.load(command.folder / "external.npz"))


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
        require_refusal(command, model)
    assert not list(command.folder.glob("no.*")), list(command.folder.glob("no.*"))
    content = (command.folder / "bad-operator.onnx").read_bytes()
    source = numpy.random.default_rng(1)
    for _ in range(20):  # any bytes: a message, not a crash
        changed = bytearray(content)
        for place in source.integers(0, len(content), 3):
            changed[place] = source.integers(0, 256)
        (command.folder / "changed.onnx").write_bytes(changed)
        assert command.run("convert", "changed.onnx", "changed.h5").returncode in (0, 2), changed


GPT_LOGITS = sys.argv[2]
ONNX_PYTHON = interpreter("MYLOS_ONNX_PYTHON", "onnx, onnxruntime")
# Name: the interpreter, the least number of models.
EXPORTERS = {"torch": (interpreter("MYLOS_TORCH_PYTHON", "torch, onnx, onnxscript, onnxruntime"), 50),
             "keras": (interpreter("MYLOS_KERAS_PYTHON", "keras, tensorflow, tf2onnx, onnxruntime"), 20),
             "sklearn": (interpreter("MYLOS_SKLEARN_PYTHON", "skl2onnx, onnxruntime"), 20)}

run_cases(check_refusals, check_models, check_exported_files, check_external_data, check_exporters, check_own_exports, check_own_gpts,
          check_random_decks, check_further_use, arguments=("program",))
