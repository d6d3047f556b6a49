"""mylos export RUN MODEL.onnx: files that onnx's checker accepts and that ONNX Runtime computes as `mylos predict` does.

usage: test_onnx.py MYLOS GPT_LOGITS
The environment variable MYLOS_ONNX_PYTHON names an interpreter that has onnx and onnxruntime, in case /usr/bin/python3 has not.
Without one only the command is tested, and the test counts as skipped; with one missing but asked for, it fails.
"""
import os
import pathlib
import subprocess
import sys

import h5py
import numpy

from onnx_decks import NETWORKS, write_deck
from small_problem import gpt_deck, prepare_text
from support.cases import run_cases, skip
from support.command import environment
from support.decks import deck_text
from support.run_folders import last_checkpoint

TOLERANCE = 1e-5  # of the largest output
HALF_TOLERANCE = 2e-3
SCRIPT = pathlib.Path(__file__).with_name("onnx_outputs.py")
GPTS = {"gpt": dict(vocabulary=28), "padded": dict(vocabulary=40),
        "rotary": dict(vocabulary=28, positions="rotary", norm="rmsnorm", feed_forward="swiglu", bias=False, tied=False)}


def interpreter():
    """Python with onnx and onnxruntime; None: there is none."""
    asked = os.environ.get("MYLOS_ONNX_PYTHON")
    python = asked or sys.executable
    found = subprocess.run([python, "-c", "import onnx, onnxruntime"], capture_output=True, check=False).returncode == 0
    assert found or not asked, f"{asked} has not both onnx and onnxruntime"
    return python if found else None


def runtime_outputs(command, python, inputs_by_model):
    """By file. One process computes all, as importing ONNX Runtime takes longer than a network does."""
    words = []
    for model, inputs in inputs_by_model.items():
        numpy.save(command.folder / f"{model}.npy", inputs)
        words += [model, f"{model}.npy", f"{model}.npz"]
    subprocess.run([python, SCRIPT, *words], cwd=command.folder, check=True, env=environment())
    return {model: dict(numpy.load(command.folder / f"{model}.npz")) for model in inputs_by_model}


def require_close(name, found, expected, tolerance):
    for batch in (1, 2, 7):
        ours = found[f"batch{batch}"].reshape(expected.shape)
        error = numpy.abs(ours - expected).max() / numpy.abs(expected).max()
        assert error <= tolerance, f"{name}, batches of {batch}: {error:.2g} of the largest output, at most {tolerance:g}"
    print(f"{name}: {error:.1e} of the largest output", flush=True)


def check_numbers(command, python):
    variants = {"": ([], TOLERANCE), "-21": (["--opset", "21"], TOLERANCE), "-half": (["--type", "fp16"], HALF_TOLERANCE)}
    inputs, expected, stated = {}, {}, {}
    for name in NETWORKS:
        rows = write_deck(command.folder, name)
        command.must("train", f"{name}.toml")
        run, model = f"runs/{name}", f"{name}.onnx"
        said = command.must("export", run, model).stdout
        assert said.startswith(f"{model}: ONNX graph of step 6 in fp32, opset 17, "), said
        command.must("predict", run, f"{name}-data.h5", "predicted.h5")
        with h5py.File(command.folder / "predicted.h5") as file:
            expected[name] = file["outputs"][()]
            stated[name] = {"standard_deviation": file["standard_deviation"][()]} if "standard_deviation" in file else {}
            if "levels" in file:
                stated[name] = {f"quantile_{level:g}": file["quantiles"][i] for i, level in enumerate(file["levels"])}
        for variant, (options, _) in variants.items():
            command.must("export", run, f"{name}{variant}.onnx", *options)
            inputs[f"{name}{variant}.onnx"] = rows
    if python is None:
        return
    outputs = runtime_outputs(command, python, inputs)
    for name in NETWORKS:
        for variant, (options, tolerance) in variants.items():
            found = outputs[f"{name}{variant}.onnx"]
            assert list(found["ports"]) == ["inputs", "outputs", *stated[name]], found["ports"]
            metadata = dict(zip(found["keys"], found["values"]))
            assert metadata["mylos.run"] == name and metadata["mylos.step"] == "6", metadata
            assert metadata["mylos.digest"].encode() in last_checkpoint(command, f"runs/{name}").read_bytes()[:512], metadata
            require_close(f"{name} {' '.join(options)}", found, expected[name], tolerance)
            for port, numbers in stated[name].items():
                beside = {key.removeprefix(f"{port}-"): value for key, value in found.items() if f"{port}-" in key}
                require_close(f"{name}, {port} {' '.join(options)}", beside, numbers, tolerance)


def check_tokens(command, python, program):
    text = "the quick brown fox jumps over the lazy dog. " * 40
    prepare_text(command, text)
    tokens = numpy.random.default_rng(1).integers(0, 28, (14, 16)).astype(numpy.int32)
    for name, model in GPTS.items():
        command.write("gpt.toml", gpt_deck(run=dict(steps=12), data=dict(batch=6), model=model))
        command.must("train", "gpt.toml", f"run.folder={name}", "precision.compute=fp32")
        command.must("export", name, f"{name}.onnx")
        (command.folder / "tokens.bin").write_bytes(tokens.tobytes())
        subprocess.run([program, last_checkpoint(command, name), "tokens.bin", "logits.bin"], cwd=command.folder,
                       env=environment(), check=True)
        logits = numpy.fromfile(command.folder / "logits.bin", numpy.float32).reshape(*tokens.shape, -1)[..., :28]
        command.must("export", name, f"{name}-few.onnx")
        command.must("export", name, f"{name}-half.onnx", "--type", "fp16")
        if python is None:
            continue
        cases = {f"{name}.onnx": (16, TOLERANCE), f"{name}-few.onnx": (5, TOLERANCE), f"{name}-half.onnx": (16, HALF_TOLERANCE)}
        outputs = runtime_outputs(command, python, {model: tokens[:, :length].astype(numpy.int64) for model, (length, _) in cases.items()})
        for model, (length, tolerance) in cases.items():
            found = outputs[model]
            assert list(found["ports"]) == ["tokens", "logits"], found["ports"]
            require_close(f"{model}, {length} tokens", found, logits[:, :length], tolerance)
    (command.folder / "few.bin").write_bytes(tokens[0, :5].tobytes())
    for checkpoint, file, part in ((last_checkpoint(command, name), "few.bin", "few.bin: has 5 tokens"),
                                   (last_checkpoint(command, "runs/mlp"), "tokens.bin", "is no GPT")):
        refused = subprocess.run([program, checkpoint, file, "no.bin"], cwd=command.folder, env=environment(),
                                 capture_output=True, text=True, check=False)
        assert refused.returncode == 1 and part in refused.stderr, (refused.returncode, refused.stderr)


ARRAYS = deck_text(run=dict(name="arrays", steps=4), data=dict(train="flow.h5", batch=4, normalize="channel"),
                   data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], constants=["/mask"], axes="time y x", history=2,
                                     differences=["/u"]),
                   model=dict(type="unet", channels=[8, 8], fields=2, edges="periodic", loss="mse", nonnegative=["/v"]), precision=dict(compute="fp32"))


def check_arrays(command, python):
    """The grid and the names are those of the arrays; one output is a difference, to which `predict` adds the newest level, and the
    other at least 0."""
    source = numpy.random.default_rng(1)
    u, v = source.normal(size=(2, 12, 8, 16)).astype("f4") * 3 + 7
    mask = source.uniform(size=(8, 16)).astype("f4")
    with h5py.File(command.folder / "flow.h5", "w") as file:
        for name, values in (("u", u), ("v", v), ("mask", mask)):
            file[name] = values
    command.write("arrays.toml", ARRAYS)
    command.must("train", "arrays.toml")
    command.must("export", "runs/arrays", "arrays.onnx")
    command.must("predict", "runs/arrays", "flow.h5", "predicted.h5")
    if python is None:
        return
    inputs = numpy.stack([numpy.stack([u[t], v[t], u[t + 1], v[t + 1], mask], -1) for t in range(10)])
    found = runtime_outputs(command, python, {"arrays.onnx": inputs})["arrays.onnx"]
    metadata = dict(zip(found["keys"], found["values"]))
    assert metadata["mylos.input_names"] == "u(t-1)\nv(t-1)\nu(t)\nv(t)\nmask", metadata
    assert metadata["mylos.target_names"] == "u\nv", metadata
    with h5py.File(command.folder / "predicted.h5") as file:
        expected = numpy.stack([file["u"][()], file["v"][()]], -1)
    added = {batch: outputs + inputs[..., 2:4] * [1, 0] for batch, outputs in found.items() if batch.startswith("batch")}
    assert expected[..., 1].min() >= 0, expected[..., 1].min()
    require_close("arrays", added, expected, TOLERANCE)


def check_average(command, python):
    inputs = write_deck(command.folder, "mlp")
    command.must("train", "mlp.toml", "run.folder=kept", "optimizer.average=0.5")
    command.must("export", "kept", "kept.onnx", "--average")
    command.must("predict", "kept", "mlp-data.h5", "predicted.h5", "--average")
    if python is None:
        return
    with h5py.File(command.folder / "predicted.h5") as file:
        found = runtime_outputs(command, python, {"kept.onnx": inputs})["kept.onnx"]
        require_close("average", found, file["outputs"][()], TOLERANCE)
    command.must_refuse(["export", "runs/mlp", "x.onnx", "--average"], "no-average", "optimizer.average")


def check_refusals(command):
    run = "runs/mlp"
    refuse = command.must_refuse
    refuse(["export", run, "x.onnx", "--opset", "16"], "bad-argument", "norm1", "LayerNormalization", "17")
    for opset in ("12", "22", "x"):
        refuse(["export", run, "x.onnx", "--opset", opset], "bad-argument", "--opset")
    refuse(["export", run, "x.onnx.gz"], "bad-argument", "x.onnx.gz", "MODEL.onnx")
    refuse(["export", run, "x.onnx", "--type", "bf16"], "arguments-conflict", "x.onnx", "fp16")
    refuse(["export", run, "x.h5", "--opset", "17"], "arguments-conflict", "--opset", "x.h5")
    (command.folder / "folder.onnx").mkdir()
    refuse(["export", run, "folder.onnx"], "not-a-file", "folder.onnx")
    command.must("export", run, "model.h5")
    refuse(["export", "model.h5", "x.onnx"], "weights-only", "model.h5")
    assert not list(command.folder.glob("x.*")), list(command.folder.glob("x.*"))
    before = command.must("export", run, "same.onnx") and (command.folder / "same.onnx").read_bytes()
    command.must("export", run, "same.onnx")
    assert (command.folder / "same.onnx").read_bytes() == before, "two exports differ"


def check_build(command):
    if "ONNX: none" in command.must("--version").stdout:
        write_deck(command.folder, "mlp")
        command.must("train", "mlp.toml")
        command.must_refuse(["export", "runs/mlp", "x.onnx"], "not-in-build", "libonnx-dev", "Mylos_ENABLE_ONNX")
        skip("this build writes no ONNX files")


def check_interpreter(_):
    if PYTHON is None:
        skip("no python here has onnx and onnxruntime (scripts/onnx-python), so that no number was compared")


PYTHON = interpreter()

run_cases(check_build, (check_numbers, PYTHON), (check_tokens, PYTHON), (check_arrays, PYTHON), (check_average, PYTHON), check_refusals,
          check_interpreter, arguments=["program"])
