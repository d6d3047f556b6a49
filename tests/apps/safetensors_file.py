"""Reads and writes safetensors files by the format's description (https://github.com/huggingface/safetensors). Nothing here knows
Mylos' reader or writer."""
import json
import struct

import numpy

# uint16 stands for the bits of BF16.
WORDS = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "complex64": "C64", "uint16": "BF16", "bool": "BOOL"}
TYPES = {word: numpy.dtype(name) for name, word in WORDS.items()}


def write(path, tensors, order=None):
    """Writes the tensors in this order. `order`: the names that the metadata state as the network's order."""
    header, data, end = {}, [], 0
    if order is not None:
        header["__metadata__"] = {"mylos.order": "\n".join(order)}
    for name, tensor in tensors.items():
        data.append(numpy.ascontiguousarray(tensor).tobytes())
        begin, end = end, end + len(data[-1])
        header[name] = {"dtype": WORDS[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def read(path):
    """Returns the metadata and the tensors by name."""
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = numpy.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return metadata, tensors
