"""Folders of sweeps for tests of what reads them: members are short runs of the small problem, and the tables are written
here, as docs/how-to/sweep.md describes them."""
import csv
import json
import math

from support.tables import rows_of

COLUMNS = ["member", "state", "rung", "steps", "value", "best_step", "seconds", "ranks", "folder", "cause"]


def evaluations(folder, part="test", column="loss"):
    """[(step, value)] of a run."""
    return [(int(row["step"]), float(row[column])) for row in rows_of(folder / "evaluations.csv") if row["part"] == part and row[column] != ""]


def describe(folder, keys, deck, **others):
    document = {"format": "mylos-sweep", "version": 1, "name": "small", "deck": deck, "metric": "test.loss", "better": "lower", "strategy": "grid",
                "trials": 0, "ranks_per_trial": 1, "seed": 1, "budget": "steps", "rungs": [], "keys": keys, **others}
    (folder / "sweep.json").write_text(json.dumps(document), encoding="utf-8")


def write_table(folder, keys, members):
    """`members`: dicts of columns and of the keys' values by name; missing columns are empty."""
    with open(folder / "sweep.csv", "w", encoding="utf-8", newline="") as file:
        names = COLUMNS + [key["key"] for key in keys]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for number, member in enumerate(members):
            writer.writerow({"member": f"{number:04}", "rung": 0, "steps": 0, "seconds": "0.000", "ranks": 1, "folder": f"members/{number:04}", **member})


def list_key(name, *values):
    return {"key": name, "kind": "list", "values": list(values)}


def range_key(name, low, high, scale="linear"):
    return {"key": name, "kind": "range", "low": low, "high": high, "scale": scale, "integer": False}


def make_sweep(command, name, keys, trials, *fixed, **others):
    """Trains a member for each trial, a list of the keys' values; `fixed`: overrides for all. Returns the sweep's folder and its rows."""
    folder = command.folder / name
    (folder / "members").mkdir(parents=True)
    command.must("train", "deck.toml", *fixed, f"run.folder={name}/base", "--stop-after", "1", code=85)
    deck = (folder / "base/resolved.toml").read_text(encoding="utf-8").replace(f"{name}/base", f"runs/{name}")
    describe(folder, keys, deck, trials=len(trials), **others)
    members = []
    for number, trial in enumerate(trials):
        overrides = [f"{key['key']}={value}" for key, value in zip(keys, trial)]
        command.must("train", "deck.toml", *fixed, *overrides, f"run.folder={name}/members/{number:04}")
        measured = evaluations(folder / f"members/{number:04}")
        step, value = min(((step, value) for step, value in measured if math.isfinite(value)), key=lambda pair: pair[1])
        members.append({"state": "done", "steps": measured[-1][0], "value": repr(value), "best_step": step, "seconds": "1.500",
                        **{key["key"]: text for key, text in zip(keys, trial)}})
    write_table(folder, keys, members)
    return folder, members
