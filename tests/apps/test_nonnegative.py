"""Targets that are at least 0: predictions and rollouts have no smaller number in the data's units, in every type; scaling and losses are
NumPy's; on any ranks, over restarts and with recomputation the bits are the same; what cannot be bounded is refused."""
import re

import h5py
import numpy

from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text, layer
from support.run_folders import compare_runs, last_checkpoint

GRID = (6, 8)
LEVELS = 30
CONV = [layer("conv", outputs=8, kernel=3, edges="periodic", activation="gelu"), layer("conv", outputs=2, kernel=3)]


def write_fields(command):
    source = numpy.random.default_rng(7)
    heat = numpy.cumsum(source.normal(size=(LEVELS, *GRID)), 0)
    with h5py.File(command.folder / "weather.h5", "w") as file:
        file["heat"] = (heat - 2).astype("f4")
        file["rain"] = (1e-3 * numpy.maximum(heat - numpy.roll(heat, 1, 1) - 1, 0)).astype("f4")


def write_deck(command, compute="fp32", layers=CONV, **changes):
    usual = dict(run=dict(name="weather", steps=20), data=dict(train="weather.h5", batch=8, normalize="channel", test="weather.h5"),
                 data__arrays=dict(inputs=["/heat", "/rain"], targets=["/heat", "/rain"], axes="time y x"),
                 precision=dict(compute=compute), optimizer=dict(lr=1e-2), checkpoint=dict(every=10, keep_last=0))
    model = dict(type="chain", loss="mse", nonnegative=["/rain"]) | changes.pop("model", {})
    command.write("deck.toml", deck_text(layers=layers, model={key: value for key, value in model.items() if value is not None},
                                         **(usual | changes)))


def fields_of(path):
    with h5py.File(path) as file:
        return {name: file[name][:].reshape(-1, *GRID) for name in ("heat", "rain")}


def check_bounds(command):
    data = fields_of(command.folder / "weather.h5")
    for case, compute, model in (("free", "fp32", dict(nonnegative=None)), ("softplus", "fp32", {}),
                                 ("relu", "fp32", dict(nonnegative_form="relu")), ("half", "fp16", dict(nonnegative_form="relu")),
                                 ("brain", "bf16", {}), ("change", "bf16", dict(residual=True, nonnegative_form="relu"))):
        write_deck(command, compute, model=model)
        said = command.must("train", "deck.toml", f"run.folder={case}").stdout
        command.must("predict", case, "weather.h5", f"{case}.h5")
        found = fields_of(command.folder / f"{case}.h5")
        with h5py.File(last_checkpoint(command, case)) as file:
            scale, shift = (file[f"data/normalization/targets/{of}"][:].reshape(-1, 2) for of in ("scale", "shift"))
        numpy.testing.assert_allclose(scale[0], [1 / data[name].std(dtype="f8") for name in ("heat", "rain")], rtol=1e-6)
        assert (scale == scale[0]).all() and (shift == shift[0]).all()
        numpy.testing.assert_allclose(shift[0][0], data["heat"].mean(dtype="f8"), rtol=1e-6)
        assert (shift[0][1] == 0) == (case != "free"), shift[0]
        assert (found["rain"].min() >= 0) == (case != "free") and found["heat"].min() < 0, (case, found["rain"].min())
        assert (found["rain"] == 0).any() == (model.get("nonnegative_form") == "relu"), case
        if compute == "fp32":
            errors = [((found[name] - data[name][1:]) * scale[0][i]).astype("f8") for i, name in enumerate(("heat", "rain"))]
            loss = numpy.mean(numpy.square(errors))
            said = float(re.findall(r"test loss ([\d.e-]+)", said)[-1])
            assert abs(said - loss) < 1e-4 * loss, (case, said, loss)
        command.must("rollout", case, "weather.h5", "--steps", 12, "--out", "rolled.h5")
        assert (fields_of(command.folder / "rolled.h5")["rain"].min() >= 0) == (case != "free"), case
        print(f"{case}: rain from {found['rain'].min():g} to {found['rain'].max():g}", flush=True)
    command.must("export", "relu", "model.h5", "--type", "bf16")
    command.must("predict", "model.h5", "weather.h5", "exported.h5")
    assert fields_of(command.folder / "exported.h5")["rain"].min() >= 0
    command.must("report", "relu", "--out", "report.html")


def check_ranks_and_restarts(command, full):
    write_deck(command, "bf16", rollout=dict(steps=2))
    same = ["run.reproducible=true", "data.micro_batch=2"]
    for ranks, *more in ((1,), (4, "optimizer.shard=state"), (1, "memory.recompute=all"), *([(2,), (3,)] if full else [])):
        folder = f"same-{ranks}-{len(more)}"
        command.must("train", "deck.toml", f"run.folder={folder}", *(same if ranks != 3 else same[1:]), *more, ranks=ranks)
        if ranks != 3:
            compare_runs(command, "same-1-0", folder)
    command.must("train", "deck.toml", "run.folder=parts", *same, "--stop-after", 10, ranks=2, code=85)
    command.must_refuse(["train", "deck.toml", "run.folder=parts", *same, "--restart", "latest", "model.nonnegative=['/heat']"],
                        "restart-mismatch", "model.nonnegative")
    command.must("train", "deck.toml", "run.folder=parts", *same, "--restart", "latest", ranks=2)
    compare_runs(command, "same-1-0", "parts")


def check_tables(command):
    """Columns by name, in whatever order a file has them."""
    source = numpy.random.default_rng(9)
    inputs = source.normal(size=(64, 3)).astype("f4")
    targets = numpy.stack([inputs[:, 0], numpy.maximum(inputs[:, 1], 0), inputs.sum(1)], 1)
    names = ["a", "b", "c"]
    for name, order in (("table", [0, 1, 2]), ("swapped", [1, 2, 0])):
        write_data(command.folder / f"{name}.h5", inputs=inputs, targets=targets[:, order], target_names=[names[i] for i in order])
    write_deck(command, layers=(), data=dict(train="table.h5", test="swapped.h5", batch=16, normalize="standard"), data__arrays=None,
               model=dict(type="mlp", hidden=[16], nonnegative=["b"], nonnegative_form="relu"))
    said = command.must("train", "deck.toml", "run.folder=table").stdout
    found = re.findall(r"test loss ([\d.e-]+)", said)[-1]
    for data in ("table.h5", "swapped.h5"):
        assert f"loss {found} " in (evaluated := command.must("eval", "table", "--data", data).stdout), (found, evaluated)
    command.must("predict", "table", "table.h5", "columns.h5")
    with h5py.File(command.folder / "columns.h5") as file:
        least = file["outputs"][:].min(0)
    assert least[1] >= 0 and least[0] < 0 and least[2] < 0, least
    command.must_refuse(["export", "table", "model.c"], "unsupported-feature", "'nonnegative'")


def check_initial_weights(command):
    """Weights of a network whose targets were shifted do not keep that."""
    write_deck(command)
    start = ["train", "deck.toml", "run.initial=free", "initial.ignore=['model.nonnegative', 'model.nonnegative_form']"]
    said = command.must(*start[:3], "initial.ignore=model.nonnegative", "run.folder=tuned").stdout
    assert "inputs kept from free" in said and "shifts targets that 'model.nonnegative'" in said, said
    command.must_refuse([*start[:3], "run.folder=tuned-2"], "model-mismatch", "model.nonnegative")


def check_refused(command):
    def expect(error_id, *parts, layers=CONV, **changes):
        write_deck(command, layers=layers, **changes)
        command.must_refuse(["train", "deck.toml", "run.folder=refused"], error_id, *parts)

    write_deck(command)
    place = next(i for i, line in enumerate(command.text("deck.toml").splitlines(), 1) if line.startswith("nonnegative"))
    expect("unknown-name", f"deck.toml:{place}: model.nonnegative", '"/rainy"', "rain", model=dict(nonnegative=["/rainy"]))
    expect("key-without-effect", "'model.nonnegative'", "gaussian", model=dict(loss="gaussian"))
    expect("key-without-effect", "'model.nonnegative_form'", model=dict(nonnegative=None, nonnegative_form="relu"))
    expect("bad-value", "'model.nonnegative_form'", model=dict(nonnegative_form="exp"))
    arrays = dict(inputs=["/heat", "/rain"], targets=["/heat", "/rain"], axes="time y x")
    expect("keys-conflict", '"/rain"', data__arrays=arrays | dict(targets_are="difference"))
    expect("keys-conflict", '"/rain"', data__arrays=arrays | dict(differences=["/rain"]))
    expect("keys-conflict", "'model.nonnegative'", layers=[*CONV, layer("conserve", skip_from="input")])
    write_deck(command, data__arrays=arrays | dict(differences=["/heat"]))
    command.must("train", "deck.toml", "run.folder=mixed")


run_cases(write_fields, check_bounds, check_ranks_and_restarts, check_tables, check_initial_weights, check_refused)
