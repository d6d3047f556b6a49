"""Files of data: HDF5 as h5py writes it, and IDX."""
import gzip
import zlib

import h5py
import numpy


def write_data(path, **contents):
    """Arrays and lists are datasets; numbers and texts, such as classes = 3, are attributes of the file."""
    with h5py.File(path, "w") as file:
        for name, values in contents.items():
            if isinstance(values, (numpy.ndarray, list)):
                file[name] = values
            else:
                file.attrs[name] = values


def read_data(path, *names):
    """The array of a dataset, or those of several."""
    with h5py.File(path) as file:
        arrays = [file[name][()] for name in names]
    return arrays[0] if len(names) == 1 else arrays


def renew_digests(file, name):
    """Of a dataset of an open data file whose values were changed, which its digests would say first."""
    rows, digests = file[name][()], file[f"digests/{name}"]
    block = digests.attrs["rows"]
    digests[...] = [zlib.crc32(rows[first:first + block].tobytes()) for first in range(0, len(rows), block)]


def write_idx(path, array):
    """Bytes of any shape, compressed."""
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header + array.tobytes())
