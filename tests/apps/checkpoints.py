"""Whether two checkpoints hold the same bits, for tests of restarts; and checkpoints that no program of ours wrote."""
import hashlib
import shutil
import zlib

import h5py
import numpy

USER_BLOCK = 512  # bytes before the HDF5 part
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


def replace_signed(source, target, datasets):
    """A copy of a checkpoint with other values at these paths, their CRC-32 and the file's digest right: a stranger's."""
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        for path, values in datasets.items():
            del file[path]
            file[path] = values
            file[path].attrs["crc32"] = numpy.int64(zlib.crc32(values.tobytes()))
    contents = target.read_bytes()[USER_BLOCK:]
    digest = hashlib.sha256(contents).hexdigest()
    block = (f"mylos-checkpoint 1\nbytes {USER_BLOCK + len(contents)}\nsha256 {digest} (of bytes {USER_BLOCK} to the end)\n"
             "The rest is HDF5: h5dump and h5py read this file as it is.\n").ljust(USER_BLOCK - 1) + "\n"
    target.write_bytes(block.encode() + contents)
