"""The outputs of an ONNX file in ONNX Runtime, by batches of several sizes, after onnx's checker has read it.

usage: onnx_outputs.py MODEL.onnx INPUTS.npy OUTPUTS.npz [MODEL.onnx INPUTS.npy OUTPUTS.npz ...]

OUTPUTS: batch1, batch2, batch7 of the first output, NAME-batch1 ... of others and, as the file says them, names
"""
import sys

import numpy
import onnx
import onnxruntime

BATCHES = (1, 2, 7)


def main(path, inputs, outputs):
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (port,), results = session.get_inputs(), session.get_outputs()
    rows = numpy.load(inputs)
    found = {}
    for batch in BATCHES:
        parts = [session.run(None, {port.name: rows[first:first + batch]}) for first in range(0, len(rows), batch)]
        for i, result in enumerate(results):
            name = f"{result.name}-batch{batch}" if i else f"batch{batch}"
            found[name] = numpy.concatenate([part[i] for part in parts])
    metadata = session.get_modelmeta().custom_metadata_map
    numpy.savez(outputs, ports=[port.name, *(result.name for result in results)], keys=list(metadata), values=list(metadata.values()), **found)


if __name__ == "__main__":
    for first in range(1, len(sys.argv), 3):
        main(*sys.argv[first:first + 3])
