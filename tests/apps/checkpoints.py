"""Whether two checkpoints hold the same bits, for tests of restarts."""
import h5py
import numpy

GROUPS = ["model", "optimizer", "scaler", "schedule", "data", "random", "history"]
TIMES = {"/history/samples_per_s", "/history/elapsed_s"}  # wall clock: the only thing that may differ


def datasets(path):
    found = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            found["/" + name] = item[()]

    with h5py.File(path, "r") as file:
        for group in GROUPS:
            assert group in file, f"{path} lacks /{group}"
        file.visititems(collect)
    return {name: value for name, value in found.items() if name.split("/")[1] in GROUPS and name not in TIMES}


def compare(whole, resumed, what):
    a, b = datasets(whole), datasets(resumed)
    assert a.keys() == b.keys(), f"{what}: {a.keys() ^ b.keys()}"
    for name in a:
        assert numpy.array_equal(numpy.asarray(a[name]), numpy.asarray(b[name])), f"{what}: {name} differs"
    return len(a)


def last_checkpoint(command, folder):
    latest = (command.folder / folder / "checkpoints" / "latest").read_text().strip()
    return command.folder / folder / "checkpoints" / latest
