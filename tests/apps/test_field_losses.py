"""Losses of fields: what a run and its metrics say is what numpy makes of its predictions, with weights of points, by channel and
with derivatives; the same on any ranks and micro-batches, after restarts, with recomputation and in rollouts."""
import re
import shutil

import h5py
import numpy

from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import compare_runs, losses_of

GRID = (6, 5)
WEIGHTS, MASK = "/area", "/mask"
OF_POINTS = {None: numpy.ones(GRID), WEIGHTS: numpy.cos(numpy.linspace(-1.2, 1.2, GRID[0]))[:, None] * numpy.ones(GRID),
             MASK: numpy.ones(GRID)}
OF_POINTS[MASK][1:3, 2] = 0
LAYERS = [layer("conv", outputs=8, kernel=3, edges="periodic", activation="gelu"), layer("conv", outputs=2, kernel=3, edges="periodic")]


def write_fields(command):
    source = numpy.random.default_rng(3)
    inputs = source.normal(size=(60, *GRID, 2))
    moved = 0.7 * inputs + 0.4 * numpy.roll(inputs, 1, 1) - 0.3 * numpy.roll(inputs, 1, 2)[..., ::-1]
    write_data(command.folder / "fields.h5", inputs=inputs.reshape(60, -1).astype("f4"),
               targets=(moved * [5, 0.2] + [1, 3]).reshape(60, -1).astype("f4"), shape=f"{GRID[0]} {GRID[1]} 2")
    area = OF_POINTS[WEIGHTS]
    with h5py.File(command.folder / "areas.h5", "w") as file:
        file["area"] = area
        file["mask"] = OF_POINTS[MASK].astype("u1")
        file["threes"] = numpy.full((1, *GRID), 3, "i4")
        file["other"] = area + 0.1
        file["transposed"] = area.T
        file["nothing"] = numpy.zeros(GRID)
        for name, value in (("negative", -1), ("missing", numpy.nan)):
            spoilt = area.copy()
            spoilt[4, 2] = value
            file[name] = spoilt
        file["large"] = numpy.ones((60, 50))


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


CASES = {  # the keys of [model], the array of [data.weights], and the loss of predictions with the weights
    "h1": (dict(loss="relative_h1"), None, lambda p, t, w: relative(p, t, w, "differences")),
    "h1-ends": (dict(loss="relative_h1", derivative="one_sided"), None, lambda p, t, w: relative(p, t, w, "one_sided")),
    "h1-spectral": (dict(loss="relative_h1", derivative="spectral", loss_per="channel"), WEIGHTS,
                    lambda p, t, w: relative(p, t, w, "spectral", "channel")),
    "h1-mask": (dict(loss="relative_h1", loss_per="channel"), MASK, lambda p, t, w: relative(p, t, w, "differences", "channel")),
    "h1-ends-mask": (dict(loss="relative_h1", derivative="one_sided"), MASK, lambda p, t, w: relative(p, t, w, "one_sided")),
    "l2-channels": (dict(loss="relative_l2", loss_per="channel"), None, lambda p, t, w: relative(p, t, w, per="channel")),
    "l2-areas": (dict(loss="relative_l2"), WEIGHTS, lambda p, t, w: relative(p, t, w)),
    "mse-areas": (dict(loss="mse"), WEIGHTS, lambda p, t, w: mean_of((p - t) ** 2, w)),
    "l1-mask": (dict(loss="l1"), MASK, lambda p, t, w: mean_of(abs(p - t), w)),
    "sum-areas": (dict(loss="sum", terms=[dict(loss="relative_h1", channels=[1], weight=0.5, derivative="spectral"),
                                          dict(loss="huber", channels=[0], huber_delta=0.3), dict(loss="mse", weight=3.0)]), WEIGHTS,
                  lambda p, t, w: (0.5 * relative(p[..., 1:], t[..., 1:], w, "spectral") + mean_of(huber((p - t)[..., :1]), w)
                                   + 3 * mean_of((p - t) ** 2, w))),
    "huber-areas": (dict(loss="huber", huber_delta=0.3), WEIGHTS, lambda p, t, w: mean_of(huber(p - t), w)),
}


def fields_deck(model, weights, compute="fp32", data=None, run=None, layers=LAYERS, **sections):
    """`model`, `data` and `run`: more keys of these sections; `weights`: the array of [data.weights]."""
    return deck_text(run=dict(name="fields", steps=20, evaluate_every=20) | (run or {}),
                     data=dict(train="fields.h5", test="fields.h5", batch=12) | (data or {}), **sections,
                     data__weights=weights and dict(file="areas.h5", array=weights), model=dict(type="chain") | model, layers=layers,
                     precision=dict(compute=compute), optimizer=dict(lr=3e-3), checkpoint=dict(every=10, keep_last=0))


def write_deck(command, case, compute="fp32", **changes):
    model, weights, _ = CASES[case]
    command.write("deck.toml", fields_deck(model, weights, compute, **changes))


def predicted(command, folder):
    command.must("predict", folder, "fields.h5", "out.h5")
    with h5py.File(command.folder / "out.h5") as out, h5py.File(command.folder / "fields.h5") as file:
        return [array[:].astype("f8").reshape(60, *GRID, 2) for array in (out["outputs"], file["targets"])]


def check_values(command):
    for case, (_, of, loss) in CASES.items():
        write_deck(command, case)
        said = command.must("train", "deck.toml", f"run.folder={case}").stdout
        expected = loss(*predicted(command, case), OF_POINTS[of])
        found = float(re.findall(r"test loss ([\d.e-]+)", said)[-1])
        assert abs(found - expected) < 1e-4 * expected, f"{case}: {found}, numpy {expected}\n{said}"
        losses = losses_of(command, case)
        assert losses[-1] < losses[0], f"{case} does not learn: {losses}"
        print(f"{case}: {found} (numpy {expected:.6g}), from {losses[0]}", flush=True)
        said = command.must("eval", case).stdout
        assert f"loss {found:.6g} " in said, (found, said)
        command.must("export", case, "model.h5")
        said = command.must("eval", "model.h5").stdout
        assert f"loss {found:.6g} " in said, (found, said)


def check_metrics(command):
    """In the units of the targets, whatever training scaled them by, and on any ranks."""
    asked = dict(metrics=["relative_l2", "relative_h1", "r2"])
    for case, kind, per in (("h1", "differences", "sample"), ("l2-areas", "spectral", "channel"), ("mse-areas", "one_sided", "sample")):
        write_deck(command, case, data=dict(normalize="channel"), run=asked)
        keys = [f"model.derivative={kind}", f"model.loss_per={per}"]
        for ranks in (1, 3):
            folder = f"metrics-{case}-{ranks}"
            command.must("train", "deck.toml", f"run.folder={folder}", "checkpoint.keep_best=test.relative_h1", *keys, ranks=ranks)
            p, t = predicted(command, folder)
            row = [row for row in command.rows(f"{folder}/evaluations.csv") if row["part"] == "test"][-1]
            of = OF_POINTS[CASES[case][1]]
            expected = relative(p, t, of, per=per), relative(p, t, of, kind, per)
            assert numpy.allclose([float(row["relative_l2"]), float(row["relative_h1"])], expected, rtol=1e-5), (row, expected)
            said = command.must("eval", folder, "--metrics", "relative_h1,relative_l2", ranks=ranks).stdout
            assert f"\nrelative H1 {float(row['relative_h1']):.6g}\nrelative L2 {float(row['relative_l2']):.6g}\n" in said, said


def check_ranks_and_restarts(command, full):
    for case in ("h1-mask", "mse-areas", "sum-areas") if full else ("h1-mask", "sum-areas"):
        write_deck(command, case)
        for ranks, micro_batch in ((1, 5), (2, 0), (4, 2)) if full else ((1, 5), (4, 2)):
            folder = f"{case}-{ranks}-{micro_batch}"
            command.must("train", "deck.toml", f"run.folder={folder}", f"data.micro_batch={micro_batch}", ranks=ranks)
            for one, other in zip(losses_of(command, case), losses_of(command, folder)):
                assert abs(one - other) < 1e-4 * max(1, one), f"{folder}: {one}, {other}"
        write_deck(command, case, "bf16")
        same = ["data.micro_batch=3", "run.reproducible=true"]
        for ranks, more in ((1, []), *([(2, [])] if full else []), (4, ["optimizer.shard=state"]), (1, ["memory.recompute=all"])):
            folder = f"{case}-same-{ranks}-{len(more)}"
            command.must("train", "deck.toml", f"run.folder={folder}", *same, *more, ranks=ranks)
            compare_runs(command, f"{case}-same-1-0", folder)
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--stop-after", 10, *same, ranks=2, code=85)
        (command.folder / "areas.h5").rename(command.folder / "moved.h5")
        moved = 'data.weights.file="moved.h5"'
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--restart", "latest", moved, *same, ranks=2)
        (command.folder / "moved.h5").rename(command.folder / "areas.h5")
        compare_runs(command, f"{case}-same-1-0", f"{case}-parts", case)
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
        assert losses_of(command, case) == losses_of(command, f"{case}-changed"), case


def check_initial(command):
    """A deck without data gives initial weights the weights of its loss."""
    without = dict(train=None, test=None, shape=[6, 5, 2])
    model, weights, _ = CASES["mse-areas"]
    stored = []
    for deck in (fields_deck(model, weights),
                 fields_deck(model | dict(inputs=60, outputs=60), weights, data=without, run=dict(evaluate_every=None))):
        command.write("deck.toml", deck)
        command.must("init", "deck.toml", "initial.h5")
        stored.append(read_data(command.folder / "initial.h5", "loss/weights").tobytes())
    assert stored[0] == stored[1], stored
    command.must_refuse(["init", "deck.toml", "initial.h5", "data.weights.array=/negative"], "bad-value", "areas.h5: array /negative[4, 2]")


def check_rollouts(command):
    """Equal weights are none, in every copy of the network."""
    source = numpy.random.default_rng(5)
    write_data(command.folder / "walk.h5", u=numpy.cumsum(source.normal(size=(30, *GRID, 2)), 0).astype("f4"))
    arrays = dict(inputs=["/u"], targets=["/u"], axes="time y x channel")
    for loss in ("mse", "relative_h1"):
        for detach in (False, True):
            for name, weights in (("without", None), ("with", "/threes")):
                command.write("deck.toml", fields_deck(
                    dict(loss=loss), weights, data=dict(train="walk.h5", test="walk.h5"), data__arrays=arrays,
                    rollout=dict(steps=3, detach=detach)))
                command.must("train", "deck.toml", f"run.folder=walk-{name}", "checkpoint.every=0")
            for one, other in zip(losses_of(command, "walk-without"), losses_of(command, "walk-with")):
                assert abs(one - other) < 1e-5 * one, (loss, detach, one, other)
            for name in ("without", "with"):
                shutil.rmtree(command.folder / f"walk-{name}")


def terms_of(key, first, second):
    return dict(loss="sum", terms=[{"loss": "relative_h1", key: first, "weight": 0.5}, {"loss": "huber", key: second}])


def check_names(command):
    """Terms of named targets are those of their channels, in whatever order the data have them."""
    source = read_data(command.folder / "fields.h5", "inputs"), read_data(command.folder / "fields.h5", "targets")
    for name, order in (("named", (0, 1)), ("swapped", (1, 0))):
        write_data(command.folder / f"{name}.h5", inputs=source[0], shape=f"{GRID[0]} {GRID[1]} 2",
                   targets=source[1].reshape(60, *GRID, 2)[..., list(order)].reshape(60, -1),
                   target_names=[["speed", "heat"][i] for i in order])
    numbers, names = terms_of("channels", [1], [0, 1]), terms_of("variables", ["heat"], ["speed", "heat"])
    data = dict(train="named.h5", test="swapped.h5")
    command.write("deck.toml", fields_deck(numbers, None, data=data))
    command.must("train", "deck.toml", "run.folder=numbers")
    command.write("deck.toml", fields_deck(names, None, data=data))
    for ranks, more in ((1, []), (3, ["data.micro_batch=2"])):
        folder = f"names-{ranks}"
        said = command.must("train", "deck.toml", f"run.folder={folder}", *more, "--stop-after", 10, ranks=ranks, code=85)
        said = command.must("train", "deck.toml", f"run.folder={folder}", *more, "--restart", "latest", ranks=ranks).stdout
        for one, other in zip(losses_of(command, "numbers"), losses_of(command, folder)):
            assert abs(one - other) < (1e-4 if more else 0) + 1e-12, f"{folder}: {one}, {other}"
    found = re.findall(r"test loss ([\d.e-]+)", said)[-1]
    command.must("export", folder, "model.h5")
    for network, data in ((folder, "named.h5"), (folder, "swapped.h5"), ("model.h5", "swapped.h5")):
        assert f"loss {found} " in (said := command.must("eval", network, "--data", data).stdout), (found, said)
    command.must_refuse(["train", "deck.toml", f"run.folder={folder}", "--restart", "latest", "data.train=swapped.h5"], "restart-mismatch")
    place = next(i for i, line in enumerate(command.text("deck.toml").splitlines(), 1) if line.startswith("terms"))
    command.must_refuse(["train", "deck.toml", "data.train=fields.h5", "data.test=fields.h5"], "data-mismatch", f"deck.toml:{place}", "no names of targets are known")
    command.write("deck.toml", fields_deck(terms_of("variables", ["het"], ["speed"]), None, data=dict(train="named.h5", test="named.h5")))
    command.must_refuse(["train", "deck.toml"], "unknown-name", f"deck.toml:{place}", '"het"', "the most similar are heat, speed")
    both = terms_of("variables", ["heat"], ["speed", "speed[1]"])
    command.write("deck.toml", fields_deck(both, None, data=dict(train="named.h5", test="named.h5")))
    command.must_refuse(["train", "deck.toml"], "unknown-name", "model.terms: term 2", '"speed[1]"')
    both["terms"][1]["channels"] = [0]
    command.write("deck.toml", fields_deck(both, None))
    command.must_refuse(["train", "deck.toml"], "keys-conflict", "'channels'", "'variables'")
    walk = dict(data=dict(train="walk.h5", test="walk.h5"), data__arrays=dict(inputs=["/u"], targets=["/u"], axes="time y x channel"),
                rollout=dict(steps=2))
    for name, model in (("numbers", terms_of("channels", [0, 1], [1])), ("names", terms_of("variables", ["/u"], ["/u[1]"]))):
        command.write("deck.toml", fields_deck(model, None, **walk))
        command.must("train", "deck.toml", f"run.folder=steps-{name}")
    assert losses_of(command, "steps-numbers") == losses_of(command, "steps-names")


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
        model, weights, _ = CASES[case]
        command.write("deck.toml", fields_deck(model | dict(type="mlp"), weights, layers=()))
        expect("keys-conflict", [part, "a vector of 60 numbers"])
    command.write("deck.toml", fields_deck(model | dict(type="mlp"), None, layers=()))
    expect("not-measured", ["\"relative_h1\"", "a vector of 60 numbers"], "run.metrics=['relative_h1']")


run_cases(write_fields, check_values, check_metrics, check_ranks_and_restarts, check_mask, check_initial, check_rollouts, check_names,
          check_refused)
