"""The outputs of an ONNX file in ONNX Runtime, by batches of several sizes, after onnx's checker has read it.

usage: onnx_outputs.py MODEL.onnx INPUTS.npy OUTPUTS.npz      OUTPUTS: batch1, batch2, batch7 and, as the file says them, names
"""
import sys

import numpy
import onnx
import onnxruntime

BATCHES = (1, 2, 7)


def main(path, inputs, outputs):
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (port,), (result,) = session.get_inputs(), session.get_outputs()
    rows = numpy.load(inputs)
    found = {}
    for batch in BATCHES:
        parts = [session.run(None, {port.name: rows[first:first + batch]})[0] for first in range(0, len(rows), batch)]
        found[f"batch{batch}"] = numpy.concatenate(parts)
    metadata = session.get_modelmeta().custom_metadata_map
    numpy.savez(outputs, ports=[port.name, result.name], keys=list(metadata), values=list(metadata.values()), **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
