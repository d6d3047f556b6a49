"""Losses of fields: what a run and its metrics say is what numpy makes of its predictions, with weights of points, by channel and
with derivatives; the same on any ranks and micro-batches, after restarts, with recomputation and in rollouts.

usage: test_field_losses.py MYLOS
"""
import csv
import pathlib
import re
import shutil
import sys
import tempfile

import h5py
import numpy

from support.command import Command
from support.run_folders import compare, last_checkpoint

GRID = (6, 5)
DECK = """[run]
peak_flops = 1e12
name = "fields"
steps = 20
evaluate_every = 20
{run}
[data]
train = "fields.h5"
test = "fields.h5"
batch = 12
{data}
[model]
type = "chain"
{model}
[[model.layers]]
kind = "conv"
outputs = 8
kernel = 3
edges = "periodic"
activation = "gelu"
[[model.layers]]
kind = "conv"
outputs = 2
kernel = 3
edges = "periodic"
[precision]
compute = "{compute}"
[optimizer]
lr = 3e-3
[checkpoint]
every = 10
keep_last = 0
"""
WEIGHTS = '[data.weights]\nfile = "areas.h5"\narray = "/area"'
MASK = '[data.weights]\nfile = "areas.h5"\narray = "/mask"'


def write_data(command):
    source = numpy.random.default_rng(3)
    inputs = source.normal(size=(60, *GRID, 2))
    moved = 0.7 * inputs + 0.4 * numpy.roll(inputs, 1, 1) - 0.3 * numpy.roll(inputs, 1, 2)[..., ::-1]
    with h5py.File(command.folder / "fields.h5", "w") as file:
        file["inputs"] = inputs.reshape(60, -1).astype("f4")
        file["targets"] = (moved * [5, 0.2] + [1, 3]).reshape(60, -1).astype("f4")
        file.attrs["shape"] = f"{GRID[0]} {GRID[1]} 2"
    area = numpy.cos(numpy.linspace(-1.2, 1.2, GRID[0]))[:, None] * numpy.ones(GRID)
    mask = numpy.ones(GRID)
    mask[1:3, 2] = 0
    with h5py.File(command.folder / "areas.h5", "w") as file:
        file["area"] = area
        file["mask"] = mask.astype("u1")
        file["threes"] = numpy.full((1, *GRID), 3, "i4")
        file["other"] = area + 0.1
        file["transposed"] = area.T
        file["nothing"] = numpy.zeros(GRID)
        for name, value in (("negative", -1), ("missing", numpy.nan)):
            spoilt = area.copy()
            spoilt[4, 2] = value
            file[name] = spoilt
        file["large"] = numpy.ones((60, 50))
    return {"": numpy.ones(GRID), WEIGHTS: area, MASK: mask}


def slope(field, axis, kind):
    """Of [samples, height, width, channels]; an axis is one unit long."""
    n = field.shape[axis]
    if kind == "spectral":
        waves = 2j * numpy.pi * numpy.fft.fftfreq(n, 1 / n)
        if n % 2 == 0:
            waves[n // 2] = 0
        shape = [1] * field.ndim
        shape[axis] = n
        return numpy.fft.ifft(numpy.fft.fft(field, axis=axis) * waves.reshape(shape), axis=axis).real
    result = (numpy.roll(field, -1, axis) - numpy.roll(field, 1, axis)) * n / 2
    if kind == "one_sided":
        x, d = numpy.moveaxis(field, axis, 0), numpy.moveaxis(result, axis, 0)
        d[0] = (-11 * x[0] + 18 * x[1] - 9 * x[2] + 2 * x[3]) * n / 6
        d[-1] = (11 * x[-1] - 18 * x[-2] + 9 * x[-3] - 2 * x[-4]) * n / 6
    return result


def slope_weights(weights, axis, kind):
    counts, n = weights > 0, weights.shape[axis]
    if kind == "spectral":
        return weights
    known = numpy.roll(counts, 1, axis) & numpy.roll(counts, -1, axis)
    if kind == "one_sided":
        of, into = numpy.moveaxis(counts, axis, 0), numpy.moveaxis(known, axis, 0)
        into[0], into[n - 1] = of[:4].all(0), of[-4:].all(0)
    return weights * known


def relative(p, t, weights, kind=None, per="sample"):
    def squares(x):
        total = (weights[..., None] * x * x).sum((1, 2))
        for axis in (0, 1) if kind else ():
            total = total + (slope_weights(weights, axis, kind)[..., None] * slope(x, axis + 1, kind) ** 2).sum((1, 2))
        return total if per == "channel" else total.sum(1)
    return numpy.sqrt(squares(p - t) / squares(t)).mean()


def mean_of(values, weights):
    return (weights[..., None] * values).mean() / weights.mean()


def huber(e):
    e = abs(e)
    return numpy.where(e < 0.3, e * e / 2, 0.3 * (e - 0.15))


CASES = {  # the keys of [model], [data.weights], and the loss of predictions with the weights
    "h1": ('loss = "relative_h1"', "", lambda p, t, w: relative(p, t, w, "differences")),
    "h1-ends": ('loss = "relative_h1"\nderivative = "one_sided"', "", lambda p, t, w: relative(p, t, w, "one_sided")),
    "h1-spectral": ('loss = "relative_h1"\nderivative = "spectral"\nloss_per = "channel"', WEIGHTS,
                    lambda p, t, w: relative(p, t, w, "spectral", "channel")),
    "h1-mask": ('loss = "relative_h1"\nloss_per = "channel"', MASK, lambda p, t, w: relative(p, t, w, "differences", "channel")),
    "h1-ends-mask": ('loss = "relative_h1"\nderivative = "one_sided"', MASK, lambda p, t, w: relative(p, t, w, "one_sided")),
    "l2-channels": ('loss = "relative_l2"\nloss_per = "channel"', "", lambda p, t, w: relative(p, t, w, per="channel")),
    "l2-areas": ('loss = "relative_l2"', WEIGHTS, lambda p, t, w: relative(p, t, w)),
    "mse-areas": ('loss = "mse"', WEIGHTS, lambda p, t, w: mean_of((p - t) ** 2, w)),
    "l1-mask": ('loss = "l1"', MASK, lambda p, t, w: mean_of(abs(p - t), w)),
    "huber-areas": ('loss = "huber"\nhuber_delta = 0.3', WEIGHTS, lambda p, t, w: mean_of(huber(p - t), w)),
}


def write_deck(command, case, compute="fp32", data="", run=""):
    model, weights, _ = CASES[case]
    text = DECK.format(model=model, compute=compute, data=data + "\n" + weights, run=run)
    (command.folder / "deck.toml").write_text(text, encoding="utf-8")


def history(command, folder):
    with open(command.folder / folder / "history.csv", newline="", encoding="utf-8") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def predicted(command, folder):
    command.must("predict", folder, "fields.h5", "out.h5")
    with h5py.File(command.folder / "out.h5") as out, h5py.File(command.folder / "fields.h5") as file:
        return [array[:].astype("f8").reshape(60, *GRID, 2) for array in (out["outputs"], file["targets"])]


def check_values(command, weights):
    for case, (_, of, loss) in CASES.items():
        write_deck(command, case)
        said = command.must("train", "deck.toml", f"run.folder={case}").stdout
        expected = loss(*predicted(command, case), weights[of])
        found = float(re.findall(r"test loss ([\d.e-]+)", said)[-1])
        assert abs(found - expected) < 1e-4 * expected, f"{case}: {found}, numpy {expected}\n{said}"
        losses = history(command, case)
        assert losses[-1] < losses[0], f"{case} does not learn: {losses}"
        print(f"{case}: {found} (numpy {expected:.6g}), from {losses[0]}", flush=True)
        said = command.must("eval", case).stdout
        assert f"loss {found:.6g} " in said, (found, said)
        command.must("export", case, "model.h5")
        said = command.must("eval", "model.h5").stdout
        assert f"loss {found:.6g} " in said, (found, said)


def check_metrics(command, weights):
    """In the units of the targets, whatever training scaled them by, and on any ranks."""
    asked = 'metrics = ["relative_l2", "relative_h1", "r2"]'
    for case, kind, per in (("h1", "differences", "sample"), ("l2-areas", "spectral", "channel"), ("mse-areas", "one_sided", "sample")):
        write_deck(command, case, data='normalize = "channel"', run=asked)
        keys = [f"model.derivative={kind}", f"model.loss_per={per}"]
        for ranks in (1, 3):
            folder = f"metrics-{case}-{ranks}"
            command.must("train", "deck.toml", f"run.folder={folder}", "checkpoint.keep_best=test.relative_h1", *keys, ranks=ranks)
            p, t = predicted(command, folder)
            with open(command.folder / folder / "evaluations.csv", newline="", encoding="utf-8") as file:
                row = [row for row in csv.DictReader(file) if row["part"] == "test"][-1]
            of = weights[CASES[case][1]]
            expected = relative(p, t, of, per=per), relative(p, t, of, kind, per)
            assert numpy.allclose([float(row["relative_l2"]), float(row["relative_h1"])], expected, rtol=1e-5), (row, expected)
            said = command.must("eval", folder, "--metrics", "relative_h1,relative_l2", ranks=ranks).stdout
            assert f"\nrelative H1 {float(row['relative_h1']):.6g}\nrelative L2 {float(row['relative_l2']):.6g}\n" in said, said


def check_ranks_and_restarts(command):
    for case in ("h1-mask", "mse-areas"):
        write_deck(command, case)
        for ranks, micro_batch in ((1, 5), (2, 0), (4, 2)):
            folder = f"{case}-{ranks}-{micro_batch}"
            command.must("train", "deck.toml", f"run.folder={folder}", f"data.micro_batch={micro_batch}", ranks=ranks)
            for one, other in zip(history(command, case), history(command, folder)):
                assert abs(one - other) < 1e-4 * max(1, one), f"{folder}: {one}, {other}"
        write_deck(command, case, "bf16")
        same = ["data.micro_batch=3", "run.reproducible=true"]
        for ranks, more in ((1, []), (2, []), (4, ["optimizer.shard=state"]), (1, ["memory.recompute=all"])):
            folder = f"{case}-same-{ranks}-{len(more)}"
            command.must("train", "deck.toml", f"run.folder={folder}", *same, *more, ranks=ranks)
            compare(last_checkpoint(command, f"{case}-same-1-0"), last_checkpoint(command, folder), folder)
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--stop-after", 10, *same, ranks=2, code=85)
        (command.folder / "areas.h5").rename(command.folder / "moved.h5")
        moved = 'data.weights.file="moved.h5"'
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--restart", "latest", moved, *same, ranks=2)
        (command.folder / "moved.h5").rename(command.folder / "areas.h5")
        compare(last_checkpoint(command, f"{case}-same-1-0"), last_checkpoint(command, f"{case}-parts"), case)
        command.must_refuse(["train", "deck.toml", f"run.folder={case}-parts", "--restart", "latest", "data.weights.array=/other"],
                            "restart-mismatch", "was trained with the weights", "areas.h5: array /other")
        command.must("train", "deck.toml", f"run.folder={case}-half", "precision.compute=fp16")


def check_mask(command):
    """Targets where the mask is 0 change nothing, to the last bit."""
    for case in ("l1-mask", "h1-mask"):
        write_deck(command, case)
        with h5py.File(command.folder / "fields.h5", "r+") as file:
            targets = file["targets"][:]
            changed = targets.reshape(60, *GRID, 2).copy()
            changed[:, 1:3, 2] = 1e3
            file["targets"][...] = changed.reshape(60, -1)
        command.must("train", "deck.toml", f"run.folder={case}-changed")
        with h5py.File(command.folder / "fields.h5", "r+") as file:
            file["targets"][...] = targets
        assert history(command, case) == history(command, f"{case}-changed"), case


def check_initial(command):
    """A deck without data gives initial weights the weights of its loss."""
    deck = command.folder / "deck.toml"
    stored = []
    for data in ("", "shape = [6, 5, 2]"):
        write_deck(command, "mse-areas")
        if data:
            text = deck.read_text(encoding="utf-8").replace('train = "fields.h5"\ntest = "fields.h5"\n', data + "\n")
            text = text.replace("evaluate_every = 20\n", "").replace('type = "chain"\n', 'type = "chain"\ninputs = 60\noutputs = 60\n')
            deck.write_text(text, encoding="utf-8")
        command.must("init", "deck.toml", "initial.h5")
        with h5py.File(command.folder / "initial.h5") as file:
            stored.append(file["loss/weights"][()].tobytes())
    assert stored[0] == stored[1], stored
    command.must_refuse(["init", "deck.toml", "initial.h5", "data.weights.array=/negative"], "bad-value", "areas.h5: array /negative[4, 2]")


def check_rollouts(command):
    """Equal weights are none, in every copy of the network."""
    source = numpy.random.default_rng(5)
    with h5py.File(command.folder / "walk.h5", "w") as file:
        file["u"] = numpy.cumsum(source.normal(size=(30, *GRID, 2)), 0).astype("f4")
    arrays = '[data.arrays]\ninputs = ["/u"]\ntargets = ["/u"]\naxes = "time y x channel"\n[rollout]\nsteps = 3\n'
    for loss in ("mse", "relative_h1"):
        text = DECK.format(model=f'loss = "{loss}"', compute="fp32", run="", data=arrays + "DETACH\nWEIGHTS").replace("fields.h5", "walk.h5")
        for detach in ("detach = false", "detach = true"):
            for name, weights in (("without", ""), ("with", WEIGHTS.replace("/area", "/threes"))):
                deck = text.replace("DETACH", detach).replace("WEIGHTS", weights)
                (command.folder / "deck.toml").write_text(deck, encoding="utf-8")
                command.must("train", "deck.toml", f"run.folder=walk-{name}", "checkpoint.every=0")
            for one, other in zip(history(command, "walk-without"), history(command, "walk-with")):
                assert abs(one - other) < 1e-5 * one, (loss, detach, one, other)
            for name in ("without", "with"):
                shutil.rmtree(command.folder / f"walk-{name}")


def check_refused(command):
    def expect(error_id, parts, *arguments):
        command.must_refuse(["train", "deck.toml", "run.folder=refused", *arguments], error_id, *parts)

    write_deck(command, "l2-areas")
    array = "data.weights.array=/"
    expect("data-mismatch", ["areas.h5: array /transposed has the shape [5, 6]", "[6, 5] points"], array + "transposed")
    expect("data-mismatch", ["areas.h5: array /large has the shape [60, 50]", "60 targets"], array + "large")
    expect("bad-value", ["areas.h5: array /negative[4, 2] (stored indices, counted from 0) is -1"], array + "negative")
    expect("not-finite", ["areas.h5: array /missing[4, 2] (stored indices, counted from 0) is nan"], array + "missing")
    expect("bad-value", ["all 30 numbers of areas.h5: array /nothing are 0"], array + "nothing")
    expect("missing-dataset", ["areas.h5", "/absent"], array + "absent")
    expect("keys-conflict", ["exclude each other"], "data.augment.shift=1")
    expect("key-without-effect", ["'model.derivative'", "relative_h1"], "model.derivative=spectral")
    write_deck(command, "h1-mask")
    expect("keys-conflict", ["model.derivative = \"spectral\"", "array /mask has weights of 0"], "model.derivative=spectral")
    write_deck(command, "mse-areas")
    expect("key-without-effect", ["'model.loss_per'", "model.loss = \"relative_l2\" or \"relative_h1\""], "model.loss_per=channel")
    write_deck(command, "h1")
    expect("missing-key", ["'data.weights.array'"], "data.weights.file=areas.h5")
    for case, part in (("h1", "model.loss = \"relative_h1\""), ("mse-areas", "data.weights")):
        write_deck(command, case)
        deck = command.folder / "deck.toml"
        text = deck.read_text(encoding="utf-8").replace('type = "chain"', 'type = "mlp"')
        first, last = text.index("[[model.layers]]"), text.index("[precision]")
        deck.write_text(text[:first] + text[last:], encoding="utf-8")
        expect("keys-conflict", [part, "a vector of 60 numbers"])
    deck.write_text(deck.read_text(encoding="utf-8").replace("[data.weights]\n", "").replace('file = "areas.h5"\n', "").replace(
        'array = "/area"\n', ""), encoding="utf-8")
    expect("not-measured", ["\"relative_h1\"", "a vector of 60 numbers"], "run.metrics=['relative_h1']")


with tempfile.TemporaryDirectory() as directory:
    mylos = Command(str(pathlib.Path(sys.argv[1]).resolve()), directory)
    fields = write_data(mylos)
    check_values(mylos, fields)
    check_metrics(mylos, fields)
    check_ranks_and_restarts(mylos)
    check_mask(mylos)
    check_initial(mylos)
    check_rollouts(mylos)
    check_refused(mylos)
