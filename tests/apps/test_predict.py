"""Predictions for data without answers: the same as with them, on any number of ranks; and what cannot learn from it."""
import os
import random
import re
import shutil

import h5py
import numpy

from small_problem import DECK, prepare
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint

REGRESSION = deck_text(run=dict(name="flow", epochs=2), data=dict(train="flow.h5", batch=64, normalize="standard"),
                       model=dict(type="mlp", hidden=[24], loss="mse"), precision=dict(compute="fp32"), optimizer=dict(lr=1e-2))
WIDE = deck_text(run=dict(name="wide", steps=1), data=dict(train="wide.h5", shape=[64, 64, 1], batch=2, normalize="none"),
                 model=dict(type="chain", loss="mse"),
                 layers=[layer("conv", outputs=128, kernel=1), layer("global_pool"), layer("dense")],
                 precision=dict(compute="fp32"))
SAMPLES = 2049  # more than a batch: on two ranks one has a batch more than the other
NO_ANSWERS = r"has neither /labels \[samples\] nor /targets \[samples, outputs\], so that only `mylos predict` can use it"


def write_flow(folder):
    """flow.csv: three inputs and two targets far from 0; new.csv: its inputs."""
    source = random.Random(4)
    with open(folder / "flow.csv", "w", encoding="utf-8") as flow, open(folder / "new.csv", "w", encoding="utf-8") as new:
        flow.write("angle,lift,speed,drag,height\n")
        new.write("angle,speed,height\n")
        for _ in range(SAMPLES):
            angle, speed, height = (source.gauss(mean, 2) for mean in (1, 30, -200))
            new.write(f"{angle:.6f},{speed:.6f},{height:.6f}\n")
            flow.write(f"{angle:.6f},{5000 + 70 * angle:.6f},{speed:.6f},{0.01 * speed:.6f},{height:.6f}\n")


def write_inputs_alone(path, source):
    """As a user's own program may, without anything else."""
    with h5py.File(source) as file, h5py.File(path, "w") as alone:
        alone["inputs"] = file["inputs"][:]


def predictions(command, run, data, ranks=1):
    output = f"{run}-{ranks}-{data}"
    said = command.must("predict", f"runs/{run}", data, output, ranks=ranks).stdout
    outputs = read_data(command.folder / output, "outputs")
    rows, columns = outputs.shape
    assert said.splitlines()[-1] == f"{output}: outputs of {rows} samples, [{rows}, {columns}]", said
    return outputs


def by_numpy(checkpoint, inputs):
    """The network of REGRESSION in double precision."""
    with h5py.File(checkpoint) as file:
        layer = {name: [file[f"model/{name}/{part}"][:].astype("f8") for part in ("weight", "bias")]
                 for name in ("hidden1", "head")}
        scaling = {of: [file[f"data/normalization/{of}/{part}"][:].astype("f8") for part in ("shift", "scale")]
                   for of in ("inputs", "targets")}
    x = (inputs - scaling["inputs"][0]) * scaling["inputs"][1]
    hidden = numpy.maximum(x @ layer["hidden1"][0].T + layer["hidden1"][1], 0)
    return (hidden @ layer["head"][0].T + layer["head"][1]) / scaling["targets"][1] + scaling["targets"][0]


def check_regression(command):
    write_flow(command.folder)
    command.must("prepare", "csv", "flow.csv", "--targets", "lift,drag", "--out", "flow.h5")
    said = command.must("prepare", "csv", "new.csv", "--out", "new.h5").stdout
    assert said == ("new.csv: line 1 names the columns: angle, speed, height\n"
                    f"new.h5: {SAMPLES} samples of 3 features, no labels or targets: for `mylos predict`\n"), said
    command.write("flow.toml", REGRESSION)
    command.must("train", "flow.toml")
    write_inputs_alone(command.folder / "own.h5", command.folder / "flow.h5")

    expected = predictions(command, "flow", "flow.h5")
    checkpoint = max((command.folder / "runs/flow/checkpoints").glob("*.h5"))
    with h5py.File(command.folder / "flow.h5") as file:
        assert numpy.allclose(expected, by_numpy(checkpoint, file["inputs"][:].astype("f8")), rtol=1e-5)
        assert numpy.abs(expected[:, 0] - file["targets"][:, 0]).max() < 100  # in the targets' own units
    for ranks in (1, 2, 3, 4):
        with_answers = predictions(command, "flow", "flow.h5", ranks)
        assert numpy.allclose(with_answers, expected, rtol=1e-6), ranks  # products may add in another order
        for data in ("new.h5", "own.h5"):
            assert numpy.array_equal(predictions(command, "flow", data, ranks), with_answers), (data, ranks)


def check_classes(command):
    prepare(command, DECK)
    command.must("train", "deck.toml")
    write_inputs_alone(command.folder / "own-test.h5", command.folder / "test.h5")
    expected = predictions(command, "small", "test.h5")
    assert expected.shape == (100, 3) and numpy.allclose(expected.sum(axis=1), 1, atol=1e-5)
    for ranks in (1, 3):
        alone, with_answers = (predictions(command, "small", data, ranks) for data in ("own-test.h5", "test.h5"))
        assert numpy.array_equal(alone, with_answers), ranks


def check_images_without_labels(command):
    header = bytes([0, 0, 8, 3]) + b"".join(count.to_bytes(4, "big") for count in (2, 2, 4))
    (command.folder / "images").write_bytes(header + bytes(range(16)))
    command.must("prepare", "idx", "images", "--out", "images.h5")
    outputs = predictions(command, "small", "images.h5")
    assert outputs.shape == (2, 3)
    assert numpy.allclose(predictions(command, "small", "images.h5", 4), outputs, atol=0.01), "ranks without a sample"


def refuse(command, message, *arguments, ranks=1):
    with command.writes_nothing():
        result = command.must_say_once(message, *arguments, ranks=ranks)
    assert result.stderr.count("mylos:") == 1 and "ended with it" not in result.stderr, result.stderr


def check_refusals(command):
    for ranks in (1, 3):
        train = ["train", "flow.toml", "data.train=new.h5", "run.folder=refused"]
        refuse(command, r"new\.h5: " + NO_ANSWERS, *train, ranks=ranks)
        refuse(command, r"new\.h5: " + NO_ANSWERS, *train, "--check", ranks=ranks)
        refuse(command, r"new\.h5: " + NO_ANSWERS, "eval", "runs/flow", "--data", "new.h5", ranks=ranks)
        refuse(command, r"new\.h5: has 3 inputs per sample, but runs/small/checkpoints/step-\d+\.h5 was trained on 8.* "
               r"\[data-mismatch\]\n", "predict", "runs/small", "new.h5", "refused.h5", ranks=ranks)
    write_data(command.folder / "four-inputs.h5", inputs=numpy.zeros((5, 4), "f4"), targets=numpy.zeros((5, 2), "f4"))
    refuse(command, r"four-inputs\.h5: has 4 inputs per sample, but runs/flow/.* was trained on 3.* \[data-mismatch\]\n",
           "eval", "runs/flow", "--data", "four-inputs.h5")
    write_data(command.folder / "four.h5", inputs=numpy.zeros((5, 8), "f4"), labels=numpy.arange(5) % 4, classes=4)
    refuse(command, r"four\.h5: has 4 classes, but runs/small/.* was trained on 3.* \[data-mismatch\]\n",
           "predict", "runs/small", "four.h5", "refused.h5")


def check_what_is_read_is_not_written(command):
    """Neither as the output, nor as the name that the output has at first."""
    data = (command.folder / "new.h5").read_bytes()
    (command.folder / "p.h5.tmp").write_bytes(data)
    for ranks in (1, 3):
        refuse(command, r"p\.h5\.tmp: .* p\.h5 .* \[arguments-conflict\]$",
               "predict", "runs/flow", "p.h5.tmp", "p.h5", ranks=ranks)
        refuse(command, r"p\.h5\.tmp: .* \[arguments-conflict\]$", "predict", "runs/flow", "p.h5.tmp", "p.h5.tmp", ranks=ranks)
        refuse(command, r"outputs/: .* \[not-a-file\]$", "predict", "runs/flow", "new.h5", "outputs/", ranks=ranks)
    assert (command.folder / "p.h5.tmp").read_bytes() == data
    (command.folder / "p.h5.tmp").unlink()


def check_outputs_find_room_before_they_are_computed(command):
    write_data(command.folder / "many.h5", inputs=numpy.zeros((3 << 19, 3), "f4"))
    before = sorted(command.folder.iterdir())
    run = command.start_line(["prlimit", f"--fsize={12 << 20}", *command.line("predict", "runs/flow", "many.h5", "outputs.h5")])
    said = run.communicate()[1]
    assert run.returncode == 1, f"{run.returncode}: {said}"
    assert re.fullmatch(rf"mylos: outputs\.h5\.tmp: .* 12(\.\d+)? MiB \(\d+ bytes\), .* {12 << 20} bytes "
                        r".*`ulimit -f` .* \[cannot-write\]\n", said), said
    assert sorted(command.folder.iterdir()) == before, "something is left"


def check_checkpoints_of_strangers(command):
    sound = last_checkpoint(command, "runs/flow")
    for path, values, message in [
            ("data/normalization/inputs", numpy.ones(2), r"/data/normalization/inputs has 2 columns, .* 3 \[damaged\]"),
            ("data/normalization/targets", numpy.ones(1), r"/data/normalization/targets has 1 columns, .* 2 \[damaged\]"),
            ("model/head/weight", numpy.zeros((1 << 40, 0), "f4"), r"/model/head/weight .*\[outputs, inputs\] \[bad-dataset\]"),
            ("model/hidden1/weight", numpy.zeros(72, "f4"), r"/model/hidden1/weight .*\[outputs, inputs\] \[bad-dataset\]")]:
        crafted = command.folder / "crafted.h5"
        paths = [f"{path}/shift", f"{path}/scale"] if "normalization" in path else [path]
        replace_signed(sound, crafted, dict.fromkeys(paths, values))
        for ranks in (1, 2):
            refuse(command, rf"crafted\.h5: {message}\n", "predict", "crafted.h5", "new.h5", "refused.h5", ranks=ranks)
        refuse(command, rf"crafted\.h5: {message}\n", "eval", "crafted.h5", "--data", "flow.h5")


def check_bad_value_ends_all_ranks(command):
    write_inputs_alone(command.folder / "nan.h5", command.folder / "flow.h5")
    with h5py.File(command.folder / "nan.h5", "r+") as file:
        file["inputs"][SAMPLES - 1, 2] = numpy.nan
    for ranks in (1, 3):
        refuse(command, rf"nan\.h5: /inputs row {SAMPLES - 1}, column 2 \(counted from 0\) is nan",
               "predict", "runs/flow", "nan.h5", "refused.h5", ranks=ranks)


def beyond(outputs):
    """What is said of outputs that are inf or NaN."""
    bad = ~numpy.isfinite(outputs)
    rows = bad.any(axis=1)
    first = numpy.argmax(rows)
    return (f"{bad.sum()} of {bad.size} outputs, in {rows.sum()} of {len(rows)} rows, are inf or NaN, the first in row {first}, "
            f"column {numpy.argmax(bad[first])} (counted from 0)")


def check_outputs_beyond_half_are_not_written_without_a_word(command):
    command.must("train", "flow.toml", "precision.compute=fp16", "run.folder=runs/half", "run.epochs=1")
    sound = last_checkpoint(command, "runs/half")
    with h5py.File(sound) as file:
        louder = {path: file[path][:] * numpy.float32(300)
                  for path in ("model/hidden1/weight", "model/hidden1/bias", "model/head/weight")}
    replace_signed(sound, command.folder / "loud.h5", louder)  # normalised targets of some 1 become some 90,000
    older = None
    for ranks in (1, 2, 3):
        said = command.must("predict", "loud.h5", "new.h5", "allowed.h5", "--allow-nonfinite", ranks=ranks).stdout
        outputs = read_data(command.folder / "allowed.h5", "outputs")
        older = older or shutil.copyfile(command.folder / "allowed.h5", command.folder / "half.h5").read_bytes()
        assert 100 < numpy.isfinite(outputs).all(axis=1).sum() < SAMPLES - 100
        expected = (beyond(outputs) + "; fp16, in which the network computes, ends at 65504: bf16 and fp32 go further")
        assert said == f"allowed.h5: outputs of {SAMPLES} samples, [{SAMPLES}, 2]\nwarning: {expected}\n", said
        refused = command.must_refuse(["predict", "loud.h5", "new.h5", "half.h5"], "not-finite", "half.h5: ", expected,
                                      "--allow-nonfinite", ranks=ranks, code=1)
        assert refused.stdout == "" and (command.folder / "half.h5").read_bytes() == older
        assert not list(command.folder.glob("*.tmp"))
    assert numpy.isfinite(predictions(command, "half", "new.h5", 2)).all()


def check_probabilities_of_no_number(command):
    sound = last_checkpoint(command, "runs/small")
    with h5py.File(sound) as file:
        louder = {path: file[path][:] * numpy.float32(1e20) for path in ("model/hidden1/weight", "model/head/weight")}
    replace_signed(sound, command.folder / "loud-classes.h5", louder)
    command.must("predict", "loud-classes.h5", "test.h5", "far.h5", "--allow-nonfinite")
    expected = beyond(read_data(command.folder / "far.h5", "outputs"))
    command.must_refuse(["predict", "loud-classes.h5", "test.h5", "no.h5"], "not-finite", "no.h5: ", expected, "--allow-nonfinite",
                        code=1)
    assert not list(command.folder.glob("no.h5*"))


def check_batches_take_bounded_memory(command):
    """As many samples as a batch of rows has would take 2 GiB of activations."""
    samples = 1024
    write_data(command.folder / "wide.h5", inputs=numpy.zeros((samples, 64 * 64), "f4"), targets=numpy.ones((samples, 1), "f4"))
    command.write("wide.toml", WIDE)
    command.must("train", "wide.toml")
    run = command.start("predict", "runs/wide", "wide.h5", "wide-outputs.h5")
    _, status, used = os.wait4(run.pid, 0)
    assert status == 0, run.stderr.read()
    run.returncode = status
    assert used.ru_maxrss < 1_600_000, f"{used.ru_maxrss} KiB"


run_cases(check_regression, check_classes, check_images_without_labels, check_refusals, check_what_is_read_is_not_written,
          check_outputs_find_room_before_they_are_computed, check_checkpoints_of_strangers, check_bad_value_ends_all_ranks,
          check_outputs_beyond_half_are_not_written_without_a_word, check_probabilities_of_no_number,
          check_batches_take_bounded_memory)
