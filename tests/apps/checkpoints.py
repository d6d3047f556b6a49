"""Whether two checkpoints, and the histories of two runs, hold the same bits, for tests of restarts; and checkpoints that no
program of ours wrote."""
import csv
import pathlib
import shutil
import sys
import zlib

import h5py
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import checkpoint_block

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
    """Parameters and running statistics, by their names without the group."""
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


def history_without_times(command, folder):
    return rows_without_times(command, folder, "history.csv")


def rows_without_times(command, folder, name):
    """Rows of history.csv or evaluations.csv, without the columns of a clock."""
    with open(command.folder / folder / name, newline="", encoding="utf-8") as file:
        return [{name: value for name, value in row.items() if f"/history/{name}" not in TIMES} for row in csv.DictReader(file)]


def column_of(path, name):
    """Of a file of rows, as numbers."""
    with open(path, newline="", encoding="utf-8") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def last_checkpoint(command, folder):
    latest = (command.folder / folder / "checkpoints" / "latest").read_text().strip()
    return command.folder / folder / "checkpoints" / latest


def replace_signed(source, target, datasets, kind=checkpoint_block.CHECKPOINT):
    """A copy of a checkpoint with other values at these paths, their CRC-32 and the file's digest right: a stranger's."""
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        for path, values in datasets.items():
            del file[path]
            file[path] = values
            file[path].attrs["crc32"] = numpy.int64(zlib.crc32(values.tobytes()))
    target.write_bytes(checkpoint_block.with_right_block(target.read_bytes(), kind))
