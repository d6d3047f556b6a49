"""Changes what a checkpoint holds and makes its digest right again. usage: hostile_checkpoint.py FILE HOW"""

import hashlib
import sys

import h5py
import numpy

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
    else:
        sys.exit(f"unknown: {how}")

with open(path, "rb") as file:
    block, rest = file.read(512), file.read()
lines = block.decode().splitlines()
lines[1] = f"bytes {512 + len(rest)}"
lines[2] = f"sha256 {hashlib.sha256(rest).hexdigest()} (of bytes 512 to the end)"
with open(path, "r+b") as file:
    file.write("\n".join(line.rstrip() for line in lines).ljust(511).encode() + b"\n")
