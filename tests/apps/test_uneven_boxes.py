"""Samples divided over ranks into boxes that differ: losses, evaluations and weights are those of whole samples, what `mylos plan` says that
a rank sends is what is sent, restarts and trained networks know nothing of it.

usage: test_uneven_boxes.py MYLOS
"""
import json
import re

import h5py
import numpy

from support.cases import run_cases
from support.decks import layer
from support.mesh import plane_deck, write_plane
from support.run_folders import compare_runs, last_checkpoint, losses_of, weights_of

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
TILES = dict(kernels=dict(gemm="tiles"))
AREAS = dict(data__arrays=dict(mask="/sea"), data__weights=dict(file="plane.h5", array="/area"))


def agree(command, whole, split, tolerance=2e-5):
    numpy.testing.assert_allclose(losses_of(command, split), losses_of(command, whole), rtol=tolerance, err_msg=split)
    evaluations = [[float(row["loss"]) for row in command.rows(f"{folder}/evaluations.csv")] for folder in (split, whole)]
    numpy.testing.assert_allclose(*evaluations, rtol=tolerance, err_msg=split)
    a, b = (weights_of(last_checkpoint(command, folder)) for folder in (whole, split))
    for name in a:
        numpy.testing.assert_allclose(b[name], a[name], atol=20 * tolerance * (numpy.abs(a[name]).max() + 1e-3), err_msg=f"{split} {name}")


def check_training(command):
    """A U-Net of two levels on 36 x 18 points: 9 units of columns on 2 ranks, 18 units of rows on 4; with areas and a mask."""
    write_plane(command.folder / "plane.h5", high=36, wide=18)
    command.write("unet.toml", plane_deck(**TILES, **AREAS, model=dict(channels=[4, 6])))
    command.must("train", "unet.toml", "run.folder=unet")
    said = command.must("train", "unet.toml", "run.folder=unet-2", "mesh.space=[1, 2]", ranks=2).stdout
    assert "1 x 2 boxes of up to 36 x 10 points" in said, said
    agree(command, "unet", "unet-2")
    planned = json.loads(command.must("plan", "unet.toml", "mesh.space=[1, 2]", "--ranks", "2", "--json").stdout)["exchanges"]
    assert planned["box_points"] == 360 and json.loads(command.text("unet-2/plan.json"))["exchanges"] == planned, planned
    command.must("train", "unet.toml", "run.folder=unet-recompute", "mesh.space=[1, 2]", "memory.recompute=all", ranks=2)
    compare_runs(command, "unet-2", "unet-recompute")
    checkpoint = "unet-2/checkpoints/step-0000000003.h5"
    for folder, ranks, *keys in (("unet-whole", 1), ("unet-other", 4, "mesh.space=[4, 1]"), ("unet-again", 2, "mesh.space=[1, 2]")):
        command.must("train", "unet.toml", f"run.folder={folder}", *keys, "--restart", checkpoint, ranks=ranks)
        a, b = (weights_of(last_checkpoint(command, each)) for each in ("unet-2", folder))
        for name in a:
            numpy.testing.assert_allclose(a[name], b[name], atol=2e-5, err_msg=f"{folder} {name}")
    compare_runs(command, "unet-2", "unet-again")


MIXED = [layer("conv", outputs=6, kernel=3, edges="reflect", activation="gelu", norm="groupnorm", norm_groups=2, dropout=0.1, name="first"),
         layer("max_pool", kernel=3, stride=2, padding=1), layer("conv", outputs=8, kernel=3, edges="periodic", activation="tanh"),
         layer("upsample", factor=2, between="linear"), layer("add", skip_from="first"), layer("coordinates"),
         layer("conv", outputs=2, kernel=3, edges="reflect")]
CHAIN = dict(type="chain", channels=None, blocks=None, fields=None, edges=None, norm=None, activation=None)


def check_together(command):
    """What reads points of neighbours, what is drawn by place, and what counts points or targets, on 36 x 18 points."""
    write_plane(command.folder / "plane.h5", high=36, wide=18)
    cases = dict(gaps=dict(model=CHAIN, layers=[*MIXED[:4], layer("conv", outputs=2, kernel=3, edges="reflect")], run=dict(metrics=["r2"]),
                           data__arrays=dict(inputs=["/w", "/v"], targets=["/w", "/v"], missing=["/w"])),
                 areas=dict(model=CHAIN | dict(loss="huber"), layers=[*MIXED[:4], *MIXED[5:]], **AREAS),
                 rollout=dict(rollout=dict(steps=2, noise=0.1), model=dict(channels=[4, 6], edges="reflect")))
    for name, sections in cases.items():
        command.write(f"{name}.toml", plane_deck(**TILES, **sections))
        command.must("train", f"{name}.toml", f"run.folder={name}")
        for space, ranks in (("[4, 1]", 4), ("[1, 2]", 2), ("[1, 2]", 4)):
            command.must("train", f"{name}.toml", f"run.folder={name}-{space[1]}-{ranks}", f"mesh.space={space}", ranks=ranks)
            agree(command, name, f"{name}-{space[1]}-{ranks}", 1e-4)


def check_exchanges(command):
    """Three ranks of which the middle one sends most, of forward, backward and sums over points."""
    write_plane(command.folder / "plane.h5", high=20, wide=14)
    fno = dict(type="fno", width=6, modes=[5, 4], blocks=1, channels=None, edges=None, norm=None)
    for name, model in dict(fno=fno, unet=dict(channels=[4, 6])).items():
        command.write(f"{name}.toml", plane_deck(model=model, data=dict(test=None)))
        space = dict(fno="[1, 3]", unet="[3, 1]")[name]
        planned = json.loads(command.must("plan", f"{name}.toml", f"mesh.space={space}", "--ranks", "3", "--json").stdout)["exchanges"]
        command.must("train", f"{name}.toml", f"mesh.space={space}", "run.steps=3", f"run.folder={name}-3", ranks=3)
        sent = json.loads(command.text(f"{name}-3/summary.json"))["exchanged"]
        assert sent == dict(bytes=3 * planned["bytes"], messages=3 * planned["messages"]), (name, sent, planned)


def check_trained(command):
    """Predictions, evaluations and rollouts on boxes that differ."""
    write_plane(command.folder / "plane.h5", high=20, wide=14)
    command.write("deck.toml", plane_deck(**TILES, **AREAS, model=dict(channels=[4, 6])))
    command.must("train", "deck.toml", "run.folder=run")
    outputs = {}
    for space, ranks in (("", 1), ("3,1", 3), ("1,2", 2)):
        more = ["--space", space] if space else []
        for words in (["predict", "run", "plane.h5", f"p{ranks}.h5"],
                      ["rollout", "run", "plane.h5", "--steps", "2", "--start", "0:3", "--truth", "plane.h5", "--out", f"r{ranks}.h5"]):
            command.must(*words, *more, ranks=ranks)
        said = command.must("eval", "run", "--variables", *more, ranks=ranks).stdout
        files = {}
        for name in (f"p{ranks}.h5", f"r{ranks}.h5"):
            with h5py.File(command.folder / name) as file:
                file.visititems(lambda key, item: files.update({name[0] + key: item[()]}) if isinstance(item, h5py.Dataset) else None)
        outputs[ranks] = (files, said, command.text(f"r{ranks}.errors.csv"))
    for ranks in (2, 3):
        (files, said, errors), (whole, expected, expected_errors) = outputs[ranks], outputs[1]
        assert files.keys() == whole.keys() and len(whole) > 2, whole.keys()
        for name, values in whole.items():
            numpy.testing.assert_array_equal(files[name], values, err_msg=f"{ranks} ranks: {name}")
        assert errors == expected_errors, (ranks, errors, expected_errors)
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (said, expected)]
        numpy.testing.assert_allclose(*numbers, rtol=1e-5, err_msg=f"{said} {expected}")


def check_refusals(command):
    write_plane(command.folder / "plane.h5", high=18)
    command.write("sums.toml", plane_deck(run=dict(reproducible=True), mesh=dict(sums=[2, 1], space=[2, 1]), data=dict(micro_batch=4),
                                          model=dict(channels=[4, 4]), **TILES))
    command.must_refuse(["train", "sums.toml"], "not-reproducible", "mesh.sums", "differ", ranks=2)
    command.write("halo.toml", plane_deck(mesh=dict(space=[4, 1]), model=dict(channels=[4, 4], kernel=7, edges="zero")))
    command.must_refuse(["train", "halo.toml"], "bad-layer", "mesh.space", "2 points", ranks=4)


run_cases(check_training, check_together, check_exchanges, check_trained, check_refusals)
