"""Networks that state their own error: what runs, `eval` and `predict` say of them is what the formulas say in NumPy; the same on any
ranks and micro-batches, after restarts and exports."""
import math
import re

import h5py
import numpy

from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import compare_runs, last_checkpoint

GRID = (6, 5)
WEIGHTS = dict(file="areas.h5", array="/area")


def network(*layers, **model):
    return dict(model=dict(loss="gaussian", **model), layers=layers)


MLP = network(type="mlp", hidden=[16], activation="gelu")
CHAIN = network(layer("conv", outputs=6, kernel=3, edges="periodic", activation="gelu"),
                layer("conv", outputs=2, kernel=3, edges="periodic"), type="chain")
# Name: (data, normalisation, [data.weights], network)
CASES = {
    "vector": ("numbers", "standard", None, MLP),
    "plain": ("numbers", "none", None, MLP),
    "field": ("fields", "channel", None, CHAIN),
    "weighted": ("fields", "channel", WEIGHTS, CHAIN),
    "unet": ("fields", "channel", None, network(type="unet", channels=[8], fields=2)),
    "fno": ("fields", "standard", None, network(type="fno", modes=[2, 3], width=4, blocks=1, fields=2, padding=0.25)),
    "flat": ("fields", "standard", None, network(layer("conv", outputs=2, kernel=3), layer("dense"), type="chain")),
}
erf = numpy.vectorize(math.erf)


def crps(p, sd, t):
    """Of normal distributions: Gneiting and Raftery 2007, equation 21 and the one after it."""
    z = (t - p) / sd
    cumulative = 0.5 * (1 + erf(z / math.sqrt(2)))
    density = numpy.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return sd * (z * (2 * cumulative - 1) + 2 * density - 1 / math.sqrt(math.pi))


def likelihood(p, sd, t):
    return numpy.log(sd) + ((t - p) / sd) ** 2 / 2 + 0.5 * math.log(2 * math.pi)


def write_problems(command):
    """The errors of the first target grow with |x|; those of the others are small."""
    source = numpy.random.default_rng(1)
    inputs = source.normal(size=(240, 5))
    sums = inputs @ source.normal(size=(5, 3)) + source.normal(size=(240, 3)) * (0.05 + numpy.abs(inputs[:, :1]) * [1, 0.1, 0.1])
    with h5py.File(command.folder / "numbers.h5", "w") as file:
        file["inputs"] = inputs.astype("f4")
        file["targets"] = (sums * [1, 30, 0.1] + [0, 100, 0]).astype("f4")
        file["target_names"] = "first\nsecond\nthird"
    fields = source.normal(size=(72, *GRID, 2))
    moved = 0.7 * fields + 0.4 * numpy.roll(fields, 1, 1) + source.normal(size=fields.shape) * [0.1, 0.5]
    write_data(command.folder / "fields.h5", inputs=fields.reshape(72, -1).astype("f4"),
               targets=(moved * [5, 0.2] + [1, 3]).reshape(72, -1).astype("f4"), shape=f"{GRID[0]} {GRID[1]} 2")
    write_data(command.folder / "areas.h5", area=numpy.cos(numpy.linspace(-1.2, 1.2, GRID[0]))[:, None] * numpy.ones(GRID))


def write_deck(command, case, compute="fp32"):
    data, normalize, weights, of_network = CASES[case]
    command.write("deck.toml", deck_text(
        run=dict(name="gaussian", steps=60, evaluate_every=20, metrics=["crps", "r2"]),
        data=dict(train=f"{data}.h5", test=f"{data}.h5", batch=24, normalize=normalize), data__weights=weights, **of_network,
        precision=dict(compute=compute), optimizer=dict(lr=1e-2), checkpoint=dict(every=20, keep_last=0, keep_best="test.crps")))


def evaluations_of(command, folder, part="test"):
    return [row for row in command.rows(f"{folder}/evaluations.csv") if row["part"] == part]


def predicted(command, run, data):
    command.must("predict", run, f"{data}.h5", "out.h5")
    with h5py.File(command.folder / "out.h5") as out, h5py.File(command.folder / f"{data}.h5") as file:
        p, sd, t = out["outputs"][:], out["standard_deviation"][:], file["targets"][:]
    assert p.shape == sd.shape == t.shape and p.dtype == sd.dtype, (p.shape, sd.shape, t.shape)
    assert (sd > 0).all()
    return p.astype("f8"), sd.astype("f8"), t.astype("f8")


def weights_of(command, case):
    if CASES[case][2] != WEIGHTS:
        return 1.0
    area = read_data(command.folder / "areas.h5", "area")
    return numpy.repeat((area / area.mean()).ravel(), 2)


def check_values(command):
    for case, (data, normalize, _, _) in CASES.items():
        write_deck(command, case)
        command.must("train", "deck.toml", f"run.folder={case}")
        p, sd, t = predicted(command, case, data)
        scale = 1.0
        with h5py.File(last_checkpoint(command, case)) as file:
            if normalize != "none":
                scale = file["data/normalization/targets/scale"][:]
        weights = weights_of(command, case)
        expected = ((likelihood(p, sd, t) - numpy.log(1 / scale)) * weights).mean()
        last = evaluations_of(command, case)[-1]
        assert abs(float(last["loss"]) - expected) < 1e-4 * max(1, abs(expected)), f"{case}: {last}, numpy {expected}"
        score = (crps(p, sd, t) * weights).mean()
        assert abs(float(last["crps"]) - score) < 1e-5 * score, f"{case}: {last}, numpy {score}"
        r2 = (1 - ((t - p) ** 2).sum(0) / ((t - t.mean(0)) ** 2).sum(0)).mean()
        assert abs(float(last["r2"]) - r2) < 1e-4, f"{case}: {last}, numpy {r2}"
        first = evaluations_of(command, case)[0]
        assert float(last["loss"]) < float(first["loss"]) and float(last["crps"]) < float(first["crps"]), (case, first, last)
        said = command.must("eval", case, "--metrics", "crps", ranks=2).stdout
        assert f"CRPS {float(last['crps']):.6g}" in said, (said, last)
        best = min(evaluations_of(command, case), key=lambda row: float(row["crps"]))
        kept = command.document(f"{case}/summary.json")["best"]
        assert kept["metric"] == "test.crps" and kept["step"] == int(best["step"]), (kept, best)
        print(f"{case}: loss {expected:.6g}, crps {score:.6g}, r2 {r2:.4f}", flush=True)


def check_what_it_learns(command):
    """Deviations follow those of the data."""
    write_deck(command, "vector")
    command.must("train", "deck.toml", "run.folder=longer", "run.steps=600", "run.evaluate_every=300", "checkpoint.every=0")
    p, sd, t = predicted(command, "longer", "numbers")
    with h5py.File(command.folder / "numbers.h5") as file:
        size = numpy.abs(file["inputs"][:, 0])
    found = numpy.corrcoef(sd[:, 0], size)[0, 1]
    within = (numpy.abs(t - p) < sd).mean()
    print(f"correlation of deviations with the data's {found:.3f}, {within:.3f} of the targets within one deviation", flush=True)
    assert found > 0.5, found
    assert 0.5 < within < 0.85, within


def check_table(command):
    command.must("predict", "vector", "numbers.h5", "out.csv")
    p, sd, _ = predicted(command, "vector", "numbers")
    rows = command.rows("out.csv")
    for i, name in enumerate(("first", "second", "third")):
        assert numpy.allclose([float(row[name]) for row in rows], p[:, i], rtol=1e-6)
        assert numpy.allclose([float(row[f"{name}_sd"]) for row in rows], sd[:, i], rtol=1e-6)


def check_ranks_restarts_and_types(command, full):
    for case in ("vector", "weighted"):
        write_deck(command, case)
        for ranks, micro_batch in ((1, 5), (2, 0), (3, 4), (4, 0)) if full else ((1, 5), (3, 4)):
            folder = f"{case}-{ranks}-{micro_batch}"
            command.must("train", "deck.toml", f"run.folder={folder}", f"data.micro_batch={micro_batch}", "run.steps=20", ranks=ranks)
            one, other = evaluations_of(command, case)[0], evaluations_of(command, folder)[0]
            assert abs(float(one["crps"]) - float(other["crps"])) < 1e-3 * float(one["crps"]), (folder, one, other)
        write_deck(command, case, "bf16")
        counts = (1, 2, 4) if full else (1, 4)
        for ranks in counts:
            folder = f"{case}-same-{ranks}"
            command.must("train", "deck.toml", f"run.folder={folder}", "data.micro_batch=6", "run.reproducible=true", "run.steps=40", ranks=ranks)
            compare_runs(command, f"{case}-same-1", folder)
        scores = [[row["crps"] for row in evaluations_of(command, f"{case}-same-{ranks}")] for ranks in counts]
        assert all(one == scores[0] for one in scores), scores
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--stop-after", 20, ranks=2, code=85)
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--restart", "latest", ranks=2)
        command.must("train", "deck.toml", f"run.folder={case}-whole", ranks=2)
        compare_runs(command, f"{case}-whole", f"{case}-parts", case)
        command.must("train", "deck.toml", f"run.folder={case}-sharded", "optimizer.shard=state", ranks=2)
        command.must("train", "deck.toml", f"run.folder={case}-again", "memory.recompute=all", ranks=2)
        compare_runs(command, f"{case}-whole", f"{case}-again", f"{case} recomputed")
        command.must("train", "deck.toml", f"run.folder={case}-half", "precision.compute=fp16")
        halves = [float(evaluations_of(command, f"{case}-{kind}")[-1]["crps"]) for kind in ("half", "whole", "sharded")]
        assert max(halves) < 1.2 * min(halves), halves


def check_exports(command):
    for case in ("vector", "field"):
        data = CASES[case][0]
        p, sd, _ = predicted(command, case, data)
        command.must("export", case, f"{case}-model.h5")
        again = predicted(command, f"{case}-model.h5", data)
        assert (p == again[0]).all() and (sd == again[1]).all(), case
        command.must("predict", case, f"{data}.h5", "ranks.h5", ranks=3)
        with h5py.File(command.folder / "ranks.h5") as out:
            assert (out["outputs"][:] == p).all() and (out["standard_deviation"][:] == sd).all(), case


def check_plan(command):
    write_deck(command, "unet")
    said = command.plan("deck.toml").stdout
    assert re.search(r"\bhead\b.*\bconv\b.*\b6 x 5 x 4\b", said), said


def check_refused(command):
    def expect(error_id, part, *arguments):
        command.must_refuse(["train", "deck.toml", "run.folder=refused", *arguments], error_id, *part)

    write_deck(command, "vector")
    expect("not-measured", ['"crps" of \'run.metrics\'', 'model.loss = "gaussian"', "'model.loss' is \"mse\""], "model.loss=mse")
    expect("key-without-effect", ["'model.residual'", "model.loss"], "model.residual=true")
    expect("keys-conflict", ["[rollout]", '"gaussian"'], "rollout.steps=2", "data.arrays.inputs=['/u']", "data.arrays.targets=['/u']",
           "data.arrays.axes=time x", "data.normalize=channel")
    expect("not-measured", ['"test.relative_l2"', "run.metrics"], "checkpoint.keep_best=test.relative_l2")
    command.must("train", "deck.toml", "run.folder=squares", "model.loss=mse", "run.metrics=['r2']", "checkpoint.keep_best=test.r2", "run.steps=20")
    command.must_refuse(["eval", "squares", "--metrics", "crps"], "not-measured", "has no crps: ", "model.loss", "gaussian")
    write_data(command.folder / "classes.h5", inputs=numpy.zeros((48, 5), "f4"), labels=(numpy.arange(48) % 3).astype("i4"),
               classes=3)
    expect("data-mismatch", ["classes.h5", '"gaussian"', '"cross_entropy"'], "data.train=classes.h5", "data.test=classes.h5")
    write_deck(command, "field")
    text = command.text("deck.toml")
    command.write("deck.toml", text.replace("[precision]", '[[model.layers]]\nkind = "norm"\nnorm = "groupnorm"\nnorm_groups = 1\n[precision]'))
    expect("bad-layer", ["layer 'norm3'", "means and log variances"])


run_cases(write_problems, check_values, check_what_it_learns, check_table, check_exports, check_plan, check_refused,
          check_ranks_restarts_and_types)
