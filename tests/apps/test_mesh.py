"""Samples divided over ranks ([mesh]): losses, weights and evaluations are those of whole samples, on any split and mix with the batch, in
all types, with recomputation, shards, averages, frozen layers and rollouts, and across restarts; what cannot be divided is refused.

usage: test_mesh.py MYLOS [--full]
"""
import json
import re
import shutil
import signal

import h5py
import numpy

from support.cases import run_cases
from support.data_files import write_data
from support.decks import layer
from support.mesh import plane_deck, write_plane
from support.processes import finish, ranks_of, require_none_left, send, wait_until
from support.run_folders import compare_runs, last_checkpoint, losses_of, weights_of

STRIDED = dict(model=dict(type="chain", loss="huber", channels=None, blocks=None, fields=None, edges=None, norm=None, activation=None), layers=[
    layer("conv", outputs=6, kernel=5, edges="periodic", activation="gelu"),
    layer("conv", outputs=8, kernel=3, stride=2, activation="silu", norm="batchnorm", bias=False),
    layer("conv", outputs=8, kernel=3, dilation=2, groups=2, edges="periodic", activation="relu"),
    layer("max_pool", kernel=2), layer("conv", outputs=8, kernel=3, groups=8, activation="tanh"),
    layer("upsample", factor=2), layer("conv", outputs=6, kernel=4, stride=2, padding=1, transposed=True, activation="gelu"),
    layer("conv", outputs=2, kernel=1)])


def agree(command, whole, split, tolerance, what):
    """Losses of all steps, evaluations, and the last weights relative to how far they have moved at most."""
    numpy.testing.assert_allclose(losses_of(command, split), losses_of(command, whole), rtol=tolerance, err_msg=what)
    evaluations = [[float(row[name]) for row in command.rows(f"{folder}/evaluations.csv") for name in ("loss", "r2") if row[name]]
                   for folder in (split, whole)]
    numpy.testing.assert_allclose(*evaluations, rtol=tolerance, err_msg=what)
    a, b = (weights_of(last_checkpoint(command, folder)) for folder in (whole, split))
    assert a.keys() == b.keys()
    for name in a:
        scale = numpy.abs(a[name]).max() + 1e-3
        assert numpy.abs(a[name] - b[name]).max() <= 20 * tolerance * scale, (what, name, numpy.abs(a[name] - b[name]).max(), scale)


FNO = dict(model=dict(type="fno", width=8, modes=[9, 6], blocks=2, channels=None, edges=None, norm=None))


SPLITS = (([2, 1], 2), ([1, 2], 2), ([3, 1], 3), ([2, 2], 4), ([2, 1], 4), ([1, 4], 4))


def splits_of(number, full):
    """All of them for each network, or for each another two."""
    return SPLITS if full else SPLITS[2 - number % 3::3]


def check_splits(command, full):
    write_plane(command.folder / "plane.h5")
    for number, (name, keys) in enumerate(dict(unet={}, chain=STRIDED, fno=FNO).items()):
        command.write(f"{name}.toml", plane_deck(**keys))
        command.must("train", f"{name}.toml", f"run.folder={name}")
        for space, ranks in splits_of(number, full):
            folder = f"{name}-{space[0]}x{space[1]}-{ranks}"
            command.must("train", f"{name}.toml", f"run.folder={folder}", f"mesh.space={space}", ranks=ranks)
            agree(command, name, folder, 2e-5, folder)


def check_exchanges(command, full):
    """What `mylos plan` says that a rank sends in a step is what the ranks of a run have sent, also of what runs forward again and of
    rollouts."""
    decks = dict(unet={}, chain=STRIDED, fno=FNO, halves=STRIDED | dict(data=dict(batch=6, micro_batch=4)), rollout=dict(rollout=dict(steps=3)),
                 detached=dict(rollout=dict(steps=2, detach=True)))
    for number, (name, keys) in enumerate(decks.items()):
        command.write(f"{name}-sent.toml", plane_deck(**(keys | dict(data=keys.get("data", {}) | dict(test=None)))))
        for index, (space, ranks) in enumerate(splits_of(number, full)):
            for way in ("none", "all") if full else (("none", "all")[index],):
                keys = [f"{name}-sent.toml", f"mesh.space={space}", f"memory.recompute={way}"]
                planned = json.loads(command.must("plan", *keys, "--ranks", str(ranks), "--json").stdout)["exchanges"]
                folder = f"sent-{name}-{space[0]}x{space[1]}-{ranks}-{way}"
                command.must("train", *keys, "run.steps=3", f"run.folder={folder}", ranks=ranks)
                sent = json.loads(command.text(f"{folder}/summary.json"))["exchanged"]
                assert json.loads(command.text(f"{folder}/plan.json"))["exchanges"] == planned
                assert sent == dict(bytes=3 * planned["bytes"], messages=3 * planned["messages"]), (folder, sent, planned)
                parts = [planned[part] for part in ("forward_faces", "backward_faces", "sums")]
                assert sum(part["bytes"] for part in parts) == planned["bytes"]
                assert sum(part["messages"] for part in parts) == planned["messages"]
    table = command.must("plan", "unet-sent.toml", "mesh.space=[2, 2]", "--ranks", "4").stdout
    assert "faces, forward" in table and "gradients, added up over 4 ranks" in table, table
    assert "faces, forward" not in command.must("plan", "unet-sent.toml").stdout


def check_types_and_memory(command, full):
    """test_mesh_bits.py has the same of reproducible runs."""
    command.write("deck.toml", plane_deck())
    for compute, tolerance in (dict(bf16=2e-2, fp16=3e-3) if full else dict(bf16=2e-2)).items():
        command.must("train", "deck.toml", f"run.folder={compute}", f"precision.compute={compute}")
        split = ["train", "deck.toml", f"precision.compute={compute}", "mesh.space=[2, 1]"]
        command.must(*split, f"run.folder={compute}-split", ranks=4)
        agree(command, compute, f"{compute}-split", tolerance, compute)
        for way, *keys in (("recompute", "memory.recompute=all"), ("shard", "optimizer.shard=state"), ("again",)):
            command.must(*split, *keys, f"run.folder={compute}-{way}", ranks=4)
            compare_runs(command, f"{compute}-split", f"{compute}-{way}")


def check_weights_and_rollouts(command, full):
    cases = dict(rollout=dict(rollout=dict(steps=3, noise=0.1), model=dict(dropout=0.1)),
                 masked_rollout=dict(rollout=dict(steps=2, detach=True), data__arrays=dict(mask="/sea"), run=dict(metrics=["r2"])))
    if full:  # test_mesh_bits.py has the same of reproducible runs
        cases |= dict(areas=dict(data__weights=dict(file="plane.h5", array="/area")), masks=dict(data__arrays=dict(mask="/sea")),
                      average=dict(optimizer=dict(average=0.9)))
    for what, keys in cases.items():
        command.write(f"{what}.toml", plane_deck(**keys))
        command.must("train", f"{what}.toml", f"run.folder={what}")
        command.must("train", f"{what}.toml", f"run.folder={what}-split", "mesh.space=[2, 2]", ranks=4)
        agree(command, what, f"{what}-split", 2e-5, what)


def check_restarts(command):
    """From whole samples to a split, to another one, and back; stopped where they were, with the bits of a run that went on."""
    command.write("deck.toml", plane_deck())
    command.must("train", "deck.toml", "run.folder=went-on", "mesh.space=[2, 1]", ranks=2)
    checkpoint = "went-on/checkpoints/step-0000000003.h5"
    command.must("train", "deck.toml", "run.folder=resumed", "mesh.space=[2, 1]", "--restart", checkpoint, ranks=2)
    compare_runs(command, "went-on", "resumed")
    for folder, ranks, *keys in (("resumed-whole", 1), ("resumed-other", 4, "mesh.space=[1, 2]")):
        command.must("train", "deck.toml", f"run.folder={folder}", *keys, "--restart", checkpoint, ranks=ranks)
        a, b = (weights_of(last_checkpoint(command, each)) for each in ("went-on", folder))
        for name in a:
            numpy.testing.assert_allclose(a[name], b[name], atol=2e-5, err_msg=f"{folder} {name}")
    command.must("predict", last_checkpoint(command, "went-on"), "plane.h5", "predictions.h5")  # of whole samples


def check_refusals(command):
    def refuse(error, *parts, ranks=2, space="[2, 1]", **keys):
        command.write("wrong.toml", plane_deck(**keys))
        command.must_refuse(["train", "wrong.toml", f"mesh.space={space}"], error, "mesh.space", *parts, ranks=ranks)

    refuse("wrong-rank-count", ranks=3)
    refuse("keys-conflict", space="[1, 3]", ranks=3, model=dict(channels=[4, 4, 4, 4]))  # the coarsest level has two columns
    refuse("keys-conflict", space="[2]")
    refuse("keys-conflict", model=dict(loss="relative_l2"))
    refuse("keys-conflict", "pad", model=FNO["model"] | dict(padding=[0.25, 0]))
    command.write("places.toml", plane_deck(**{**STRIDED, "layers": [*STRIDED["layers"], layer("positions")]}))
    command.must_refuse(["train", "places.toml", "mesh.space=[2, 1]"], "keys-conflict", "mesh.space", "positions", ranks=2)


def write_volume(command, extents):
    source = numpy.random.default_rng(1)
    with h5py.File(command.folder / "volume.h5", "w") as file:
        for name in ("u", "v"):
            file[name] = source.standard_normal((5, *extents)).astype("f4")


def volume_sections(channels, budget):
    return dict(run=dict(name="volume", steps=2, log_every=1), data=dict(train="volume.h5", test=None, batch=1, micro_batch=1),
                data__arrays=dict(constants=None, axes="time z y x"), model=dict(channels=channels), memory=dict(budget=budget),
                checkpoint=dict(every=0))


def check_plans(command, full):
    """A sample that no recomputation makes fit: the refusal names the division that does, `mylos plan` says the same of it, and the run
    stays within the bytes of its plan. --full: a volume that eight ranks of 512 MiB hold together."""
    extents, channels, budget = ([96, 96, 96], [16, 32, 64], "512 MiB") if full else ([160, 160, 4], [16, 32], "140 MiB")
    write_volume(command, extents)
    command.write("volume.toml", plane_deck(**volume_sections(channels, budget)))
    refusal = command.must_refuse(["plan", "volume.toml"], "does-not-fit", "mesh.space = [", code=3).stderr
    space, ranks = re.search(r"mesh\.space = \[([\d, ]+)\].* on (\d+) ranks", refusal).groups()
    planned = json.loads(command.must("plan", "volume.toml", f"mesh.space=[{space}]", "--ranks", ranks, "--json").stdout)
    assert planned["rank_bytes"] <= planned["budget_bytes"]
    # A run has read all levels once when it measures its process, which `mylos plan` has not.
    more = f"memory.budget={int(budget.split()[0]) + 24} MiB"
    command.must("train", "volume.toml", f"mesh.space=[{space}]", more, "run.folder=volume", ranks=int(ranks))
    summary = json.loads(command.text("volume/summary.json"))["memory"]
    assert summary["host_peak_bytes"] <= summary["budget_bytes"], summary
    print(f"{budget} a rank: refused whole, trained as [{space}] on {ranks} ranks; plan {summary['planned_bytes']}, peak {summary['host_peak_bytes']}")


def check_choices(command):
    """`mylos plan` and the start choose the division that a refusal of whole samples names; a restart on other ranks chooses its own."""
    def chosen(text):
        return re.search(r'mesh\.space: "auto" chose \[([\d, ]+)\]', text).group(1)

    command.write("deck.toml", plane_deck(mesh=dict(space="auto")))
    command.write("whole.toml", plane_deck())
    started = command.must("train", "deck.toml", "run.folder=auto", ranks=2).stdout
    assert chosen(started) == "1, 1" and "space = [1, 1]" in command.text("auto/resolved.toml"), started
    command.must("train", "whole.toml", "run.folder=without", ranks=2)
    compare_runs(command, "auto", "without")
    for ranks, batch, expected in ((2, 1, "2, 1"), (4, 2, "2, 1"), (4, 1, "4, 1")):  # the batch has too few samples for whole ones
        planned = command.must("plan", "deck.toml", f"data.batch={batch}", "--ranks", str(ranks)).stdout
        assert chosen(planned) == expected, (expected, planned)
    few = ["data.batch=1", "data.micro_batch=1"]
    started = command.must("train", "deck.toml", "run.folder=few", *few, ranks=2).stdout
    assert chosen(started) == "2, 1" and "space = [2, 1]" in command.text("few/resolved.toml"), started
    command.must("train", "whole.toml", "run.folder=few-given", "mesh.space=[2, 1]", *few, ranks=2)
    compare_runs(command, "few", "few-given")
    with h5py.File(command.folder / last_checkpoint(command, "few")) as file:
        assert b"space = [2, 1]" in bytes(file["deck"][()])
    again = command.must("train", "deck.toml", "run.folder=few-4", *few, "--restart", "few/checkpoints/step-0000000003.h5", ranks=4).stdout
    assert chosen(again) == "4, 1" and "changed at the restart: mesh" not in again, again

    write_volume(command, [160, 160, 4])
    command.write("volume.toml", plane_deck(**volume_sections([16, 32], "140 MiB")))
    refusal = command.must_refuse(["plan", "volume.toml"], "does-not-fit", "mesh.space = [", code=3).stderr
    space, ranks = re.search(r"mesh\.space = \[([\d, ]+)\].* on (\d+) ranks", refusal).groups()
    assert chosen(command.must("plan", "volume.toml", "mesh.space=auto", "--ranks", ranks).stdout) == space
    assert chosen(command.must("plan", "volume.toml", "mesh.space=auto", "memory.budget=4 GiB").stdout) == "1, 1, 1"
    command.must_refuse(["plan", "volume.toml", "mesh.space=auto"], "does-not-fit", 'mesh.space = "auto"', "whole samples", code=3)
    checked = command.must("train", "volume.toml", "--check", "mesh.space=auto", "memory.budget=164 MiB", ranks=int(ranks)).stdout
    assert f"space = [{space}]" in checked, checked


ENDLESS = ["run.steps=100000000", "run.evaluate_every=1000000", "checkpoint.every=0", "mesh.space=[2, 1]", "communication.timeout=2"]
GRACE = 60  # seconds: the rest of an epoch on a busy machine, the deadline, the last words of the ranks, the launcher


def check_lost_ranks(command):
    """One rank's file is cut, one stops: all end, with one cause. What a rank cannot read, the others do not wait for."""
    source = numpy.random.default_rng(2)  # prepared samples, of which a run reads some at a time
    write_data(command.folder / "many.h5", shape="24 16 2", **{name: source.normal(size=(600, 768)).astype("f4") for name in ("inputs", "targets")})
    command.write("deck.toml", plane_deck(data=dict(train="many.h5", test=None, shuffle="blocks"), data__arrays=None))
    folders = [f"disk-{rank}" for rank in range(2)]
    for folder in folders:
        (command.folder / folder).mkdir()
        for name in ("deck.toml", "many.h5"):
            shutil.copy(command.folder / name, command.folder / folder / name)
    run = command.start_on_own_disks(folders, "train", "deck.toml", *ENDLESS, f"run.folder={command.folder / 'cut'}")
    wait_until((command.folder / "cut/history.csv").exists, "the run has not begun")
    with open(command.folder / folders[1] / "many.h5", "r+b") as file:
        file.truncate(10000)
    code, _, stderr = finish(run, GRACE)
    said = [line for line in stderr.splitlines() if line.startswith("mylos: ")]
    assert code == 2 and len(said) == 1 and "rank 1: " in said[0] and said[0].endswith("[file-changed]"), (code, said)
    require_none_left(command)

    run = command.start_with_own_messages("train", "deck.toml", *ENDLESS, "run.folder=stopped", ranks=2)
    wait_until((command.folder / "stopped/history.csv").exists, "the run has not begun")
    send(signal.SIGSTOP, [ranks_of(command)[1]])
    code = finish(run, GRACE)[0]
    said = [line for rank in range(2) for line in command.text(f"messages-{rank}").splitlines() if line.startswith("mylos: ")]
    assert code == 1 and len(said) == 1 and "rank 1" in said[0] and said[0].endswith("[communication-failed]"), (code, said)
    require_none_left(command)


run_cases(check_splits, check_exchanges, check_types_and_memory, check_weights_and_rollouts, check_restarts, check_refusals, check_lost_ranks,
          check_plans, check_choices)
