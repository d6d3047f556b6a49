"""A prepared file that was changed is not believed: every rank stops and the rows are named; stamped, it is new data."""

import h5py
import numpy

from small_problem import DECK, prepare
from support.cases import run_cases
from support.decks import deck_text

SAMPLES = 5000  # of 8 floats: 2048 in a block

GPT = deck_text(run=dict(name="small-gpt", steps=4), data=dict(train="tokens.h5", batch=6, window="sequential"),
                model=dict(type="gpt", layers=1, heads=1, width=8, context=16))


def edit(command, name, path, place, value):
    with h5py.File(command.folder / name, "r+") as file:
        file[path][place] = value


def refuse(command, arguments, name, rows, ranks=1):
    """Exit code 2, and the cause once."""
    result = command.run(*arguments, ranks=ranks)
    assert result.returncode == 2, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    said = [line for line in result.stderr.splitlines() if line.startswith("mylos: ")]
    assert len(said) == 1, result.stderr
    for part in (f"{name}: a value of {rows} (counted from 0) was changed since `mylos prepare` wrote the file",
                 f"`mylos prepare stamp {name}` recomputes statistics and digests"):
        assert part in said[0], said


def check_samples(command):
    """Inputs, labels and statistics, in memory and by windows, on 1 to 3 ranks."""
    for dataset, place, value, rows, rank_counts in (
            ("inputs", (2500, 3), 7, "/inputs in rows 2048 to 4095", (1, 2, 3)),
            ("labels", 4999, 1, "/labels in rows 4096 to 4999", (3,)),
            ("statistics/inputs/std", 2, 9, "/statistics/inputs/std in rows 0 to 7", (2,))):
        command.must("prepare", "csv", "train.csv", "--label", "class", "--out", "changed.h5")
        with h5py.File(command.folder / "changed.h5") as file:
            place_holds_another = file[dataset][place] != value
        edit(command, "changed.h5", dataset, place, value if place_holds_another else value + 1)
        for ranks in rank_counts:
            for shuffle in ("samples", "blocks"):
                refuse(command, ["train", "deck.toml", "data.train=changed.h5", f"data.shuffle={shuffle}",
                                 "run.folder=changed"], "changed.h5", rows, ranks)


def check_other_uses(command):
    """Test data of a run, and what `eval` and `predict` read."""
    command.must("prepare", "csv", "test.csv", "--label", "class", "--out", "changed-test.h5")
    edit(command, "changed-test.h5", "inputs", (99, 0), 50)
    rows = "/inputs in rows 0 to 99"
    refuse(command, ["train", "deck.toml", "data.test=changed-test.h5", "run.folder=other"], "changed-test.h5", rows, 2)
    command.must("train", "deck.toml", "run.epochs=1", ranks=2)
    for ranks in (1, 2):
        refuse(command, ["eval", "runs/small", "--data", "changed-test.h5"], "changed-test.h5", rows, ranks)
        refuse(command, ["predict", "runs/small", "changed-test.h5", "out.h5"], "changed-test.h5", rows, ranks)


def check_stamp(command):
    """A stamped file is trained on, as other data: with other statistics, and not at a restart."""
    train = ["train", "deck.toml", "data.train=edited.h5", "run.folder=edited"]
    command.must("prepare", "csv", "train.csv", "--label", "class", "--out", "edited.h5")
    command.must(*train, "--stop-after", 5, code=85)
    edit(command, "edited.h5", "inputs", (0, 0), 1e6)
    refuse(command, [*train, "--restart", "latest"], "edited.h5", "/inputs in rows 0 to 2047")
    said = command.must("prepare", "stamp", "edited.h5").stdout
    assert said == f"edited.h5: {SAMPLES} samples of 8 features, 3 classes\n", said
    with h5py.File(command.folder / "edited.h5") as file:
        assert file["statistics/inputs/max"][0] == 1e6
    command.must_refuse([*train, "--restart", "latest"], "restart-mismatch", "edited.h5", ranks=2)
    command.must("train", "deck.toml", "data.train=edited.h5", "run.folder=again", "run.epochs=1", ranks=3)
    edit(command, "edited.h5", "inputs", (1, 0), -1e6)
    with h5py.File(command.folder / "edited.h5", "r+") as file:
        del file["digests"]
    plain = ["train", "deck.toml", "data.train=edited.h5", "run.folder=plain", "run.epochs=1"]
    said = command.must(*plain, code=2).stderr
    assert "edited.h5: /statistics/inputs/" in said and "which `mylos prepare` did not write" in said, said
    with h5py.File(command.folder / "edited.h5", "r+") as file:
        del file["statistics"]
    command.must(*plain)
    command.write("text.txt", "no data file")
    command.must_refuse(["prepare", "stamp", "text.txt"], "wrong-format", "mylos: text.txt: ")


def training_bytes(command, *keys):
    plan = command.plan_json("gpt.toml", *keys)
    return sum(entry["bytes"] for entry in plan["memory"] if entry["name"] == "training data")


def check_tokens(command):
    """In memory all are read; else the windows' blocks."""
    source = numpy.random.default_rng(2)
    source.integers(0, 50, 30_000_000, dtype="<u2").tofile(command.folder / "tokens.bin")
    command.must("prepare", "tokens", "tokens.bin", "--out", "tokens.h5")
    command.write("gpt.toml", GPT)
    by_windows = "memory.budget=400 MiB"  # of which 60 MB are more than an eighth
    assert training_bytes(command, by_windows) < 1e6 < training_bytes(command)
    command.must("train", "gpt.toml", by_windows, "run.folder=windows")
    command.must("train", "gpt.toml", "--stop-after", 2, ranks=2, code=85)
    with h5py.File(command.folder / "tokens.h5", "r+") as file:
        file["tokens"][5] = (file["tokens"][5] + 1) % 50
    for ranks in (1, 2, 3):
        for keys in ([], [by_windows]):
            refuse(command, ["train", "gpt.toml", *keys, "run.folder=refused"], "tokens.h5",
                   "/tokens in rows 0 to 32767", ranks)
    command.must("prepare", "stamp", "tokens.h5")
    command.must_refuse(["train", "gpt.toml", "--restart", "latest"], "restart-mismatch", "tokens.h5")
    for keys in ([], [by_windows]):
        command.must("train", "gpt.toml", *keys, f"run.folder=stamped-{len(keys)}", ranks=2)


run_cases((prepare, DECK.replace("batch = 48", "batch = 480"), SAMPLES), check_samples, check_other_uses, check_stamp, check_tokens)
