"""Checks a checkpoint of test_python.cpp with nothing but Python: check_checkpoint.py FILE RANKS."""
import pathlib
import sys
import zlib

import h5py
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
from support import checkpoint_block

path, ranks = sys.argv[1], int(sys.argv[2])
contents = open(path, "rb").read()
assert contents == checkpoint_block.with_right_block(contents), contents[:512]

expected = {
    "data/identity": (), "data/position": (), "deck": (), "model/hidden0/bias": (5,), "model/hidden0/weight": (37, 29),
    "optimizer/norms": (7, 11, 13), "plan/list": (77,), "random/keys": (3,), "scaler/scale": (),
}
with h5py.File(path, "r") as file:
    attributes = dict(file.attrs)
    assert attributes["format"] == b"mylos-checkpoint" and attributes["version"] == 3
    assert attributes["step"] == 500 and attributes["world_size"] == ranks
    assert attributes["code_version"] == b"0.1.0-test"
    found = {}
    file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    assert {name: item.shape for name, item in found.items()} == expected, found
    for name, item in found.items():
        crc = zlib.crc32(numpy.asarray(item[()]).tobytes())
        assert crc == item.attrs["crc32"], (name, crc, item.attrs["crc32"])
    weight = numpy.arange(37 * 29, dtype=numpy.float32) * numpy.float32(0.25) - numpy.float32(500)
    weight[1], weight[2] = -0.0, numpy.float32(1e-42)
    assert found["model/hidden0/weight"].dtype == numpy.dtype("<f4")
    assert found["model/hidden0/weight"][()].tobytes() == weight.tobytes()
    assert list(found["random/keys"][()]) == [1, 2**64 - 1, 500]
    assert found["data/position"][()] == 1000000007 * 500
    assert found["scaler/scale"][()] == 65536
    assert found["deck"][()].decode() == '[run]\nname = "tiny"\n'
