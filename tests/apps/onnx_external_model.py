"""Writes external.onnx, whose weights lie in another file of its folder, and external.npz with its inputs and outputs.

usage: onnx_external_model.py FOLDER
"""
import pathlib
import sys

import onnx

from onnx_models import Model


def main(folder):
    model = Model((5,))
    x = model.matmul(model.activation(model.gemm("x", 5, 40), "tanh"), 40, 3)
    model.write(folder, "external", x)
    proto = onnx.load(folder / "external.onnx")
    (folder / "external.onnx").unlink()
    onnx.save(proto, folder / "external.onnx", save_as_external_data=True, location="external.data", size_threshold=100)
    assert (folder / "external.data").stat().st_size > 1000


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
