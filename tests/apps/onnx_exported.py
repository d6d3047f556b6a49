"""What the programs that call exporters share: the files of a model for test_onnx_import.py.

NAME.onnx with NAME.npz, the inputs and ONNX Runtime's outputs in Mylos' order (channels last), or with NAME.txt, the id of the error
with which Mylos refuses it and parts of its message.
"""
import numpy
import onnxruntime

ROWS = 7


def channels_last(array, is_last):
    return array if is_last or array.ndim < 3 else numpy.moveaxis(array, 1, -1)


def write(folder, name, model, x, is_last=False, output=0):
    """`model`: the file's bytes; `output`: the index of the one that Mylos gives, or its name."""
    (folder / f"{name}.onnx").write_bytes(model)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    outputs = session.run(None, {session.get_inputs()[0].name: x})[output]
    if isinstance(outputs, list):  # of ZipMap
        outputs = numpy.array([list(row.values()) for row in outputs], "f4")
    numpy.savez(folder / f"{name}.npz", inputs=channels_last(x, is_last).reshape(len(x), -1).astype("f4"),
                outputs=channels_last(outputs, is_last).reshape(len(x), -1))


def write_refused(folder, name, model, *expected):
    (folder / f"{name}.onnx").write_bytes(model)
    (folder / f"{name}.txt").write_text("\n".join(expected), encoding="utf-8")
