"""A network learns from arrays as they lie in files what it learns from the same samples in prepared files, on any number of
ranks, with the same bits; and such a run restarts, is evaluated and predicts."""
import re
import shutil

import h5py
import numpy

from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text
from support.run_folders import compare_runs, history_without_times, last_checkpoint, weights_of

POINTS = 8
HISTORY = 2
LEVELS = {"a/run0.h5": 11, "a/run1.h5": 9, "b/run2.h5": 8, "test.h5": 7}
TRAIN = [name for name in LEVELS if name != "test.h5"]
ARRAYS = dict(inputs=["/flow/u", "/v"], targets=["/v", "/flow/u"], constants=["/mask"],
              axes={"/flow/u": "time y x", "/v": "x y time", "/mask": "y x"}, history=2)


def fields_deck(train, test, arrays=None):
    return deck_text(run=dict(name="fields", steps=12, log_every=4),
                     data=dict(batch=6, normalize="none", train=train, test=test, validation=0.2), data__arrays=arrays,
                     model=dict(type="unet", channels=[8, 16], fields=2, loss="mse"), precision=dict(compute="bf16"),
                     checkpoint=dict(every=5, keep_last=0))


def fields(name):
    """u and v, [time, y, x] in double, and a mask."""
    source = numpy.random.default_rng(sum(map(ord, name)))
    return source.normal(size=(2, LEVELS[name], POINTS, POINTS)), (numpy.arange(POINTS * POINTS) % 3 > 0).reshape(POINTS, POINTS)


def write_arrays(path, name):
    """As a solver writes them: v in another order of axes, chunked and compressed."""
    (u, v), mask = fields(name)
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("flow/u", data=u, chunks=(3, POINTS, 4), compression="gzip", shuffle=True)
        file["v"] = v.transpose(2, 1, 0)
        file["mask"] = mask.astype("i2")


def write_prepared(path, names):
    inputs, targets = [], []
    for name in names:
        (u, v), mask = (part.astype("f4") for part in fields(name))
        for newest in range(HISTORY - 1, LEVELS[name] - 1):
            inputs.append(numpy.stack([u[newest - 1], v[newest - 1], u[newest], v[newest], mask], -1).ravel())
            targets.append(numpy.stack([v[newest + 1], u[newest + 1]], -1).ravel())
    write_data(path, inputs=numpy.array(inputs), targets=numpy.array(targets), shape=f"{POINTS} {POINTS} 5")


def require_same_weights(command, folder, other):
    first, second = (weights_of(last_checkpoint(command, of), ["model"]) for of in (folder, other))
    assert first.keys() == second.keys() and len(first) > 8
    for name, value in first.items():
        assert value.tobytes() == second[name].tobytes(), f"{folder} and {other}: {name} differs"


def check_prepared(command, ranks):
    """One prepared file, two of them, and the arrays."""
    for folder, deck in (("prepared", "prepared.toml"), ("list", "list.toml"), ("arrays", "arrays.toml")):
        command.must("train", deck, f"run.folder={folder}", ranks=ranks)
    require_same_weights(command, "prepared", "list")
    require_same_weights(command, "prepared", "arrays")
    losses = [re.search(r"loss (\S+)", command.must("eval", folder, ranks=ranks).stdout)[1] for folder in ("prepared", "arrays")]
    assert losses[0] == losses[1], losses
    held_out = command.must("eval", "arrays", "--split", "validation", ranks=ranks).stdout
    assert "a/run0.h5, a/run1.h5 and 1 more: loss" in held_out, held_out
    print(f"arrays and prepared files, {ranks} ranks: the same weights")


def check_restarts(command, ranks):
    for shuffle in ("samples", "blocks"):
        for normalize in ("none", "channel"):
            whole, parts = f"whole-{shuffle}-{normalize}", f"parts-{shuffle}-{normalize}"
            common = ["train", "arrays.toml", f"data.shuffle={shuffle}", f"data.normalize={normalize}"]
            command.must(*common, f"run.folder={whole}", ranks=ranks)
            command.must(*common, f"run.folder={parts}", "--stop-after", 7, ranks=ranks, code=85)
            command.must(*common, f"run.folder={parts}", "--restart", "latest", ranks=ranks)
            compare_runs(command, whole, parts)
            assert history_without_times(command, whole) == history_without_times(command, parts)
    print(f"restarts, {ranks} ranks: bitwise equal")


def check_contents(command):
    """A restart takes the same contents in other folders, and refuses others."""
    common = ["train", "arrays.toml", "run.folder=contents"]
    command.must(*common, "--stop-after", 3, code=85)
    shutil.copytree(command.folder / "a", command.folder / "elsewhere" / "a")
    shutil.copytree(command.folder / "b", command.folder / "elsewhere" / "b")
    command.must_refuse([*common, "data.fill=0", "--restart", "latest"], "restart-mismatch", "data.fill")
    moved = 'data.train=["elsewhere/a/run[01].h5", "elsewhere/b/*.h5"]'
    command.must(*common, moved, "--restart", "latest", "--stop-after", 3, code=85)
    with h5py.File(command.folder / "elsewhere/b/run2.h5", "a") as file:
        file["v"][2, 3, 4] += 1
    command.must_refuse([*common, moved, "--restart", "latest"], "restart-mismatch", "other data")
    command.must_refuse([*common, "data.arrays.ahead=2", "--restart", "latest"], "restart-mismatch", "data.arrays.ahead")


def check_predictions(command):
    """Files with inputs alone are enough."""
    with h5py.File(command.folder / "test.h5") as file, h5py.File(command.folder / "inputs.h5", "w") as alone:
        for name in ("flow/u", "v", "mask"):
            alone[name] = file[name][()]
    command.must("predict", "arrays", "inputs.h5", "out.h5")
    assert (command.folder / "out.h5").exists()
    command.must_refuse(["predict", "arrays", "inputs.h5", "inputs.h5"], "arguments-conflict", "inputs.h5")


def check_mistakes(command):
    command.must_refuse(["train", "arrays.toml", "data.train=none*.h5"], "no-such-file", "'none*.h5' matches no file")
    command.must_refuse(["train", "arrays.toml", "data.shape=[8, 8, 4]"], "data-mismatch", "data.shape = [8, 8, 4]", "[8, 8, 5]")
    command.must_refuse(["train", "arrays.toml", "model.loss=cross_entropy"], "data-mismatch", "has targets")
    command.must_refuse(["train", "list.toml", "data.test=arrays.toml"], "wrong-format", "arrays.toml")


def set_up(command):
    for name in LEVELS:
        write_arrays(command.folder / name, name)
    for name, of in (("prepared", TRAIN), ("part0", TRAIN[:1]), ("part1", TRAIN[1:]), ("prepared-test", ["test.h5"])):
        write_prepared(command.folder / f"{name}.h5", of)
    command.write("prepared.toml", fields_deck("prepared.h5", "prepared-test.h5"))
    command.write("list.toml", fields_deck("part?.h5", "prepared-test.h5"))
    command.write("arrays.toml", fields_deck(["a/run[01].h5", "b/*.h5"], "test.h5", ARRAYS))


def check_on_one_rank(command, ranks):
    if ranks == 1:
        check_contents(command)
        check_predictions(command)
        check_mistakes(command)


run_cases(set_up, check_prepared, check_restarts, check_on_one_rank, arguments=["ranks"])
