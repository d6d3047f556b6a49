"""Networks that state quantiles: 20 steps of training, what `eval` and `predict` say, and what runs measure are those of NumPy; the
same on any ranks, over restarts and in exports."""
import h5py
import numpy

from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import deck_text, layer
from support.run_folders import compare_runs, last_checkpoint

GRID = (6, 5)
LEVELS = [0.1, 0.4, 0.9]  # the second is the nearest to 0.5
Q = numpy.array(LEVELS)[:, None, None]
WEIGHTS = dict(file="areas.h5", array="/area")


def network(*layers, **model):
    return dict(model=dict(loss="quantile", quantiles=LEVELS, **model), layers=layers)


# Name: (data, normalisation, [data.weights], network)
CASES = {
    "vector": ("numbers", "standard", None, network(type="mlp", hidden=[8], activation="tanh")),
    "weighted": ("fields", "channel", WEIGHTS, network(layer("conv", outputs=4, kernel=3, edges="periodic", activation="gelu"),
                                                       layer("conv", outputs=2, kernel=3, edges="periodic"), type="chain")),
}


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
    area = numpy.cos(numpy.linspace(-1.2, 1.2, GRID[0]))[:, None] * numpy.ones(GRID)
    area[2, 3] = 0
    write_data(command.folder / "areas.h5", area=area)


def write_deck(command, case, compute="fp32"):
    data, normalize, weights, of_network = CASES[case]
    command.write("deck.toml", deck_text(
        run=dict(name="quantile", steps=60, evaluate_every=20, metrics=["r2"]),
        data=dict(train=f"{data}.h5", test=f"{data}.h5", batch=24, normalize=normalize), data__weights=weights, **of_network,
        precision=dict(compute=compute), optimizer=dict(lr=1e-2), checkpoint=dict(every=20, keep_last=0)))


def pinball(quantiles, targets):
    error = targets - quantiles
    return numpy.maximum(Q * error, (Q - 1) * error)


def check_steps(command):
    """Steps of gradient descent on all samples, from the weights of `mylos init`."""
    write_deck(command, "vector")
    plain = ("data.normalize=none", "data.batch=240", "optimizer.type=sgd", "optimizer.momentum=0", "optimizer.lr=0.05",
             "optimizer.weight_decay=0", "run.steps=20", "run.evaluate_every=20")
    with h5py.File(command.folder / "numbers.h5") as file, h5py.File(command.folder / "small.h5", "w") as small:
        x, t = file["inputs"][:], file["targets"][:] * [1, 0.03, 10] - [0, 3, 0]
        small["inputs"], small["targets"] = x, t.astype("f4")
    plain += ("data.train=small.h5", "data.test=small.h5")
    command.must("init", "deck.toml", "first.h5", *plain)
    command.must("train", "deck.toml", "run.folder=descent", *plain)
    w1, b1, w2, b2 = (numpy.array(each, "f8") for each in read_data(command.folder / "first.h5", "model/hidden1/weight", "model/hidden1/bias",
                                                                  "model/head/weight", "model/head/bias"))
    for _ in range(20):
        hidden = numpy.tanh(x @ w1.T + b1)
        outputs = hidden @ w2.T + b2  # of each level all targets
        error = t - outputs.reshape(-1, 3, 3).transpose(1, 0, 2)
        slope = numpy.where(error > 0, -Q, 1 - Q).transpose(1, 0, 2).reshape(240, 9) / (240 * 9)
        back = (slope @ w2) * (1 - hidden**2)
        w2, b2, w1, b1 = w2 - 0.05 * slope.T @ hidden, b2 - 0.05 * slope.sum(0), w1 - 0.05 * back.T @ x, b1 - 0.05 * back.sum(0)
    found = read_data(last_checkpoint(command, "descent"), "model/hidden1/weight", "model/hidden1/bias", "model/head/weight", "model/head/bias")
    worst = max(numpy.abs(one - other).max() for one, other in zip(found, (w1, b1, w2, b2)))
    print(f"weights after 20 steps differ from NumPy's by {worst:.2g}")
    assert worst < 1e-5, worst


def predicted(command, run, data, **options):
    command.must("predict", run, f"{data}.h5", "out.h5", **options)
    quantiles, outputs, levels = read_data(command.folder / "out.h5", "quantiles", "outputs", "levels")
    assert (levels == LEVELS).all() and (quantiles[1] == outputs).all()
    return quantiles.astype("f8"), read_data(command.folder / f"{data}.h5", "targets").astype("f8")


def evaluations_of(command, folder):
    return [row for row in command.rows(f"{folder}/evaluations.csv") if row["part"] == "test"]


def check_values(command):
    for case, (data, _, weights, _) in CASES.items():
        write_deck(command, case)
        command.must("train", "deck.toml", f"run.folder={case}")
        quantiles, targets = predicted(command, case, data)
        scale = read_data(last_checkpoint(command, case), "data/normalization/targets/scale")
        of_points = numpy.ones(60)
        if weights:
            area = read_data(command.folder / "areas.h5", "area")
            of_points = numpy.repeat((area / area.mean()).ravel(), 2)
        else:
            of_points = numpy.ones(3)
        scale = numpy.tile(scale, len(of_points) // len(scale))
        expected = (pinball(quantiles, targets) * scale * of_points).mean()
        rows = evaluations_of(command, case)
        assert abs(float(rows[-1]["loss"]) - expected) < 1e-5 * expected, (case, rows[-1], expected)
        assert float(rows[-1]["loss"]) < float(rows[0]["loss"]), rows
        r2 = (1 - ((targets - quantiles[1]) ** 2).sum(0) / ((targets - targets.mean(0)) ** 2).sum(0)).mean()
        assert abs(float(rows[-1]["r2"]) - r2) < 1e-4, (case, rows[-1], r2)
        said = command.must("eval", case, ranks=2).stdout
        counts = of_points > 0
        below = ", ".join(f"{(targets <= each)[:, counts].mean():.4f} at {level}" for level, each in zip(LEVELS, quantiles))
        assert f"targets at or below predicted quantiles: {below}" in said, (said, below)
        crossed = (numpy.diff(quantiles, axis=0) < 0).any(0)[:, counts].mean()
        assert (f"do not ascend: of {crossed:.4f} of" in said) == (crossed > 0), (said, crossed)


def check_what_it_learns(command):
    """About as many targets as the levels say lie below."""
    write_deck(command, "vector")
    command.must("train", "deck.toml", "run.folder=longer", "model.hidden=[16]", "model.activation=gelu", "run.steps=600", "run.evaluate_every=600", "checkpoint.every=0")
    quantiles, targets = predicted(command, "longer", "numbers")
    shares = [(targets <= each).mean() for each in quantiles]
    print("shares below the levels:", [f"{share:.3f}" for share in shares])
    assert all(abs(share - level) < 0.06 for share, level in zip(shares, LEVELS)), shares
    size = numpy.abs(read_data(command.folder / "numbers.h5", "inputs")[:, 0])
    assert numpy.corrcoef(quantiles[2, :, 0] - quantiles[0, :, 0], size)[0, 1] > 0.4


def check_files(command):
    quantiles, _ = predicted(command, "vector", "numbers")
    command.must("predict", "vector", "numbers.h5", "out.csv")
    rows = command.rows("out.csv")
    for i, name in enumerate(("first", "second", "third")):
        for level, of_level in zip(LEVELS, quantiles):
            assert numpy.allclose([float(row[f"{name}_q{level}"]) for row in rows], of_level[:, i], rtol=1e-6)
        assert [row[name] for row in rows] == [row[f"{name}_q0.4"] for row in rows]
    command.must("export", "vector", "model.h5")
    for other, options in (("model.h5", {}), ("vector", dict(ranks=3))):
        assert (predicted(command, other, "numbers", **options)[0] == quantiles).all(), other
    with h5py.File(command.folder / "numbers.h5") as file, h5py.File(command.folder / "fresh.h5", "w") as fresh:
        fresh["inputs"], fresh["targets"], fresh["target_names"] = file["inputs"][::3] * 0.5, file["targets"][::3], "first\nsecond\nthird"
    said = command.must("calibrate", "vector", "--data", "fresh.h5", "--out", "calibrated.h5").stdout
    assert "absolute" in said, said
    quantiles, _ = predicted(command, "calibrated.h5", "numbers")
    lower, upper = read_data(command.folder / "out.h5", "lower", "upper")
    assert numpy.allclose((lower + upper) / 2, quantiles[1], rtol=1e-5, atol=1e-4)


def check_ranks_and_restarts(command, full):
    for case in CASES if full else ("weighted",):
        write_deck(command, case, "bf16")
        counts = (1, 2, 4) if full else (1, 4)
        for ranks in counts:
            folder = f"{case}-same-{ranks}"
            command.must("train", "deck.toml", f"run.folder={folder}", "data.micro_batch=6", "run.reproducible=true", "run.steps=40",
                         "optimizer.shard=state", ranks=ranks)
            compare_runs(command, f"{case}-same-1", folder)
        assert len({tuple(row["r2"] for row in evaluations_of(command, f"{case}-same-{ranks}")) for ranks in counts}) == 1
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--stop-after", 20, ranks=2, code=85)
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--restart", "latest", ranks=2)
        command.must("train", "deck.toml", f"run.folder={case}-whole", "memory.recompute=all", ranks=2)
        compare_runs(command, f"{case}-whole", f"{case}-parts", case)
        command.must("train", "deck.toml", f"run.folder={case}-half", "precision.compute=fp16")
        losses = [float(evaluations_of(command, f"{case}-{kind}")[-1]["loss"]) for kind in ("half", "whole")]
        assert max(losses) < 1.2 * min(losses), losses


def check_refused(command):
    def expect(error_id, part, *arguments):
        command.must_refuse(["train", "deck.toml", "run.folder=refused", *arguments], error_id, *part)

    write_deck(command, "vector")
    for levels in ("[0.5, 0.1]", "[0.5, 0.5]", "[]"):
        expect("bad-value", ["'model.quantiles'", "ascend"], f"model.quantiles={levels}")
    expect("bad-value", ["'model.quantiles'", "between 0 and 1"], "model.quantiles=[0.5, 1.0]")
    expect("key-without-effect", ["'model.quantiles'", '"quantile"'], "model.loss=mse")
    expect("key-without-effect", ["'model.residual'", "model.loss"], "model.residual=true")
    expect("keys-conflict", ["[rollout]", '"quantile"'], "rollout.steps=2", "data.arrays.inputs=['/u']", "data.arrays.targets=['/u']",
           "data.arrays.axes=time x", "data.normalize=channel")
    command.must_refuse(["eval", "vector", "--metrics", "crps"], "not-measured", "has no crps: ", "gaussian")
    command.must_refuse(["predict", "--mc-dropout", 3, "vector", "numbers.h5", "out.h5"], "not-measured", "averages of quantiles")
    write_deck(command, "weighted")
    text = command.text("deck.toml")
    command.write("deck.toml", text.replace("[precision]", '[[model.layers]]\nkind = "norm"\nnorm = "groupnorm"\nnorm_groups = 1\n[precision]'))
    expect("bad-layer", ["layer 'norm3'", "quantiles"])


run_cases(write_problems, check_steps, check_values, check_what_it_learns, check_files, check_refused, check_ranks_and_restarts)
