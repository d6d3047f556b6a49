"""Edges by axis: names of axes become places, a U-Net on latitudes and longitudes trains on any ranks and restarts with the same bits,
commutes with turns around the poles, and what has no meaning is refused."""
import h5py
import numpy

from support.cases import run_cases
from support.decks import deck_text, layer
from support.run_folders import compare_runs, losses_of

LATITUDES, LONGITUDES = 8, 12
UNET = dict(type="unet", channels=[8, 8], fields=1, edges={"lon": "periodic", "lat": "pole"}, loss="mse")
NO_ARRAYS = dict(data=dict(train="flat.h5", batch=4, shape=[8, 12, 1]), data__arrays=None)


def deck(layers=(), **sections):
    usual = dict(run=dict(name="globe", steps=6, evaluate_every=0), data=dict(train="globe.h5", batch=4, normalize="channel"),
                 data__arrays=dict(inputs=["/u"], targets=["/u"], axes="time lat lon"), model=UNET, precision=dict(compute="bf16"),
                 optimizer=dict(lr=1e-2))
    return deck_text(layers=layers, **(usual | sections))


def write_fields(command):
    source = numpy.random.default_rng(5)
    for name, grid in (("globe", (LATITUDES, LONGITUDES)), ("other", (6, 8)), ("odd", (6, 10))):
        field = source.normal(size=(14, *grid)).astype("f4")
        with h5py.File(command.folder / f"{name}.h5", "w") as file:
            file["u"] = field
        if name == "globe":
            with h5py.File(command.folder / "turned.h5", "w") as file:
                file["u"] = numpy.roll(field, 2, 2)  # the finest stride of the U-Net's levels
            with h5py.File(command.folder / "swapped.h5", "w") as file:
                file["u"] = numpy.swapaxes(field, 1, 2)
    with h5py.File(command.folder / "flat.h5", "w") as file:
        file["inputs"] = source.normal(size=(14, 96)).astype("f4")
        file["targets"] = source.normal(size=(14, 96)).astype("f4")


def predicted(command, folder, data):
    command.must("predict", folder, data, "out.h5")
    with h5py.File(command.folder / "out.h5") as file:
        return file["u"][()]


def check_names(command):
    command.write("deck.toml", deck(precision=dict(compute="fp32")))
    command.must("train", "deck.toml")
    resolved = command.text("runs/globe/resolved.toml")
    assert resolved.count('edges = ["pole", "periodic"]') == 6 and "lat =" not in resolved, resolved
    command.must("train", "deck.toml", "run.folder=list", "model.edges=" + deck_value(["pole", "periodic"]))
    compare_runs(command, "runs/globe", "list")
    swapped = ["data.arrays.axes=time lon lat", 'data.train="swapped.h5"', "run.folder=swapped"]
    assert '\nedges = ["periodic", "pole"]\n' in command.must("train", "deck.toml", *swapped, "--check").stdout
    first = layer("conv", outputs=4, kernel=3, edges={"lon": "periodic"})
    pad = layer("pad", margin=[0, 0.25], edges={"lon": "periodic"})
    command.write("chain.toml", deck([first, pad, layer("crop", like="input"), layer("conv", outputs=1)], model=dict(type="chain", loss="mse")))
    command.must("train", "chain.toml", "run.folder=chain")
    assert command.text("chain/resolved.toml").count('edges = ["zero", "periodic"]') == 2


def deck_value(edges):
    if isinstance(edges, list):
        return str(edges).replace("'", '"')
    return "{" + ", ".join(f'{name} = "{edge}"' for name, edge in edges.items()) + "}"


def check_turns(command):
    """What lies beyond the edges turns with the field, so that a turned field has the turned outputs."""
    still, turned = predicted(command, "runs/globe", "globe.h5"), predicted(command, "runs/globe", "turned.h5")
    assert abs(still).max() > 0.1
    numpy.testing.assert_allclose(turned, numpy.roll(still, 2, 2), atol=1e-5)
    command.must("train", "deck.toml", "run.folder=mirrored", 'model.edges=["reflect", "reflect"]')
    other = predicted(command, "mirrored", "turned.h5") - numpy.roll(predicted(command, "mirrored", "globe.h5"), 2, 2)
    assert abs(other).max() > 1e-3


GLOBE = {"lon": "periodic", "lat": "pole"}
POOLS = [layer("conv", outputs=4, kernel=1, activation="gelu"), layer("max_pool", kernel=3, stride=1, padding=1, edges=GLOBE),
         layer("average_pool", kernel=3, stride=2, padding=1, edges=GLOBE),
         layer("upsample", between="linear", edges={"lon": "periodic", "lat": "reflect"}), layer("conv", outputs=1, kernel=1)]


def check_pools_and_interpolations(command):
    """Windows and interpolations reach around the globe too; the same bits on any ranks and with recomputation."""
    pools = dict(run=dict(name="pools", steps=6, reproducible=True), data=dict(train="globe.h5", batch=4, micro_batch=1, normalize="channel"),
                 model=dict(type="chain", loss="mse"), precision=dict(compute="fp32"))
    command.write("pools.toml", deck(POOLS, **pools))
    command.must("train", "pools.toml")
    resolved = command.text("runs/pools/resolved.toml")
    assert resolved.count('edges = ["pole", "periodic"]') == 2 and resolved.count('edges = ["reflect", "periodic"]') == 1, resolved
    still, turned = predicted(command, "runs/pools", "globe.h5"), predicted(command, "runs/pools", "turned.h5")
    assert abs(still).max() > 0.01
    numpy.testing.assert_allclose(turned, numpy.roll(still, 2, 2), atol=1e-5)
    for number, (ranks, *more) in enumerate(((2, "optimizer.shard=state"), (4,), (1, "memory.recompute=all"))):
        command.must("train", "pools.toml", f"run.folder=pools-{number}", *more, ranks=ranks)
        compare_runs(command, "runs/pools", f"pools-{number}")
    for number, edges, error, *parts in ((2, {"x": "periodic"}, "bad-value", "'max_pool2'", "lat, lon"),
                                         (2, {"lat": "pole"}, "bad-layer", "'max_pool2'", "0 are periodic"),
                                         (4, GLOBE, "bad-layer", "'upsample4'", "poles"),
                                         (2, None, "key-without-effect", "'max_pool2'", "'padding'"),
                                         (4, None, "key-without-effect", "'upsample4'", "linear")):
        wrong = [dict(each) for each in POOLS]
        wrong[number - 1] |= {"edges": edges} if edges else {"padding": 0} if number == 2 else {"between": "nearest"}
        command.write("wrong.toml", deck(wrong, **pools))
        command.must_refuse(["train", "wrong.toml"], error, *parts)


def check_ranks_and_restarts(command, full):
    command.write("deck.toml", deck())
    for ranks in (1, 2, 3, 4) if full else (1, 2):
        folder, parts = f"same-{ranks}", f"parts-{ranks}"
        more = {1: [], 2: ["optimizer.shard=state"], 3: [], 4: ["memory.recompute=all"]}[ranks]
        if ranks != 3:  # which cannot share 4 samples evenly
            more += ["run.reproducible=true", "data.micro_batch=1"]
        command.must("train", "deck.toml", *more, f"run.folder={folder}", ranks=ranks)
        command.must("train", "deck.toml", *more, f"run.folder={parts}", "--stop-after", 3, ranks=ranks, code=85)
        command.must("train", "deck.toml", *more, f"run.folder={parts}", "--restart", "latest", ranks=ranks)
        compare_runs(command, folder, parts)
        if ranks != 3:
            compare_runs(command, "same-1", folder)
    assert losses_of(command, "same-1")[-1] < losses_of(command, "same-1")[0]


def check_other_grids(command):
    assert predicted(command, "runs/globe", "other.h5").shape[1:] == (6, 8)
    command.must_refuse(["predict", "runs/globe", "odd.h5", "out.h5"], "bad-layer", "runs/globe", "6 x 10", "'deepest_1'", "5 points in width",
                        "around the poles of height")


def check_refusals(command):
    lines = command.text("deck.toml").splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if text.startswith("edges"))
    refuse = command.must_refuse
    for edges, error, *parts in (
            ({"x": "periodic"}, "bad-value", '"x"', "the axes of the grid are lat, lon"),
            ({"lat": "pol"}, "bad-value", "'lat' is the string \"pol\""),
            ({}, "bad-value", "an empty table"),
            (["zero"] * 3, "bad-layer", "3 words in 'edges'", "2 axes"),
            (["zero"] * 4, "bad-value", "a list"),
            ({"lat": "pole"}, "bad-layer", "0 are periodic"),
            ({"lat": "pole", "lon": "pole"}, "bad-layer", "2 axes have poles"),
            ("wrap", "bad-value", '"wrap"', '"periodic"')):
        value = f'"{edges}"' if isinstance(edges, str) else deck_value(edges)
        command.write("wrong.toml", "\n".join([*lines[:line - 1], f"edges = {value}", *lines[line:]]) + "\n")
        place = [] if error == "bad-layer" else [f"wrong.toml:{line}: "]
        refuse(["train", "wrong.toml"], error, "edges" if error != "bad-layer" else "'down1_1'", *place, *parts)
    command.write("wrong.toml", deck(**NO_ARRAYS))
    refuse(["train", "wrong.toml"], "keys-conflict", "'edges' of [model]", "data.arrays.axes")
    named = layer("conv", outputs=1, edges={"height": "zero"})
    command.write("wrong.toml", deck([named], model=dict(type="chain", loss="mse")))
    refuse(["train", "wrong.toml"], "bad-value", "'edges' of layer 'conv1'", '"height"', "lat, lon")


run_cases(write_fields, check_names, check_turns, check_pools_and_interpolations, check_ranks_and_restarts, check_other_grids, check_refusals)
