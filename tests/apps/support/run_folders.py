"""What a run leaves in its folder, and whether two runs hold the same bits."""
import json

import h5py
import numpy

from .tables import rows_of

GROUPS = ["model", "optimizer", "scaler", "schedule", "data", "random", "history", "evaluation"]
# Wall clock: the only thing that may differ.
TIMES = {"/history/" + name for name in ("samples_per_s", "tokens_per_s", "model_flops_per_s", "model_flop_utilisation",
                                         "communication_s", "data_wait_s", "elapsed_s",
                                         "host_bytes", "host_peak_bytes", "device_bytes",
                                         "evaluations/elapsed_s")}


def datasets(path):
    found = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            found["/" + name] = item[()]

    with h5py.File(path, "r") as file:
        for group in GROUPS:
            assert group in file, f"{path} lacks /{group}"
        file.visititems(collect)
    groups = GROUPS + ["buffers", "average"]  # of some networks and runs
    return {name: value for name, value in found.items() if name.split("/")[1] in groups and name not in TIMES}


def weights_of(path, groups=("model", "buffers")):
    """Parameters and running statistics, or the arrays of other groups, by their names without the group."""
    found = {}
    with h5py.File(path) as file:
        for group in groups:
            if group in file:
                file[group].visititems(lambda name, item: found.update({name: item[()]} if hasattr(item, "shape") else {}))
    return found


def compare(whole, resumed, what):
    a, b = datasets(whole), datasets(resumed)
    assert a.keys() == b.keys(), f"{what}: {a.keys() ^ b.keys()}"
    for name in a:
        values = [numpy.asarray(one[name]) for one in (a, b)]  # by their bits: NaN is NaN
        assert values[0].shape == values[1].shape and values[0].tobytes() == values[1].tobytes(), f"{what}: {name} differs"
    return len(a)


def compare_runs(command, whole, other, what=None):
    """The last checkpoints of two runs, by their folders."""
    return compare(last_checkpoint(command, whole), last_checkpoint(command, other), what or other)


def losses_of(command, folder):
    """Of every step."""
    return [float(row["loss"]) for row in command.rows(f"{folder}/history.csv")]


def history_without_times(command, folder):
    return rows_without_times(command, folder, "history.csv")


def rows_without_times(command, folder, name):
    """Rows of history.csv or evaluations.csv, without the columns of a clock."""
    return [{name: value for name, value in row.items() if f"/history/{name}" not in TIMES}
            for row in rows_of(command.folder / folder / name)]


def events_of(command, folder, *kinds):
    """Of events.jsonl, those of some kinds or all; a run without any has no such file."""
    path = command.folder / folder / "events.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [event for event in map(json.loads, lines) if not kinds or event["kind"] in kinds]


def last_checkpoint(command, folder):
    latest = (command.folder / folder / "checkpoints" / "latest").read_text().strip()
    return command.folder / folder / "checkpoints" / latest
