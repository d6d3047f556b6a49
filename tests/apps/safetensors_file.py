"""Writes tensors as a safetensors file (https://github.com/huggingface/safetensors, format)."""
import json
import struct

import numpy

WORDS = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "complex64": "C64", "uint16": "BF16", "bool": "BOOL"}


def write(path, tensors, order=None):
    """safetensors in this order; uint16 stands for the bits of BF16. `order`: what the metadata state."""
    header, data = {}, b""
    if order is not None:
        header["__metadata__"] = {"mylos.order": "\n".join(order)}
    for name, tensor in tensors.items():
        raw = numpy.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": WORDS[str(tensor.dtype)], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
