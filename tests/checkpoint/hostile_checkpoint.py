"""Changes what a checkpoint holds and makes its digest right again. usage: hostile_checkpoint.py FILE HOW"""

import pathlib
import sys

import h5py
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
from support import checkpoint_block

path, how = sys.argv[1:]
with h5py.File(path, "r+", libver=("v110", "v110")) as file:
    if how == "null_scalar":
        del file["/data/position"]
        file["/data/position"] = h5py.Empty("i8")
        file["/data/position"].attrs["crc32"] = 0
    elif how == "compound_array":
        file["/plan/odd"] = numpy.zeros(3, dtype=[("real", "f4"), ("imaginary", "f4")])
    elif how == "short_integers":
        file["/plan/odd"] = numpy.zeros(3, dtype="u2")
    elif how == "group_that_holds_itself":
        file["/model/hidden0/again"] = file["/model"]
    elif how == "large_scalar":
        file["/plan/odd"] = numpy.void(bytes(5 << 20))
    elif how == "deep_groups":
        file.create_group("/plan" + "/d" * 300)
    else:
        sys.exit(f"unknown: {how}")

with open(path, "rb") as file:
    contents = file.read()
with open(path, "wb") as file:
    file.write(checkpoint_block.with_right_block(contents))
