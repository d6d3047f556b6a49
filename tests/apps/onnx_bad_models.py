"""Writes ONNX models that Mylos refuses: bad-NAME.onnx, and bad-NAME.txt with the error's id and parts of its message.

usage: onnx_bad_models.py FOLDER
"""
import os
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper

from onnx_models import Model


def write(folder, name, model, y, expected, change=None):
    proto = model.proto(y)
    if change:
        change(proto)
    onnx.save(proto, folder / f"bad-{name}.onnx")
    (folder / f"bad-{name}.txt").write_text("\n".join(expected), encoding="utf-8")


def external(**entries):
    def change(proto):
        tensor = proto.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
    return change


def main(folder):
    def simple():
        model = Model((5,))
        return model, model.gemm("x", 5, 3)

    def refuse(name, change, *expected):
        model, y = simple()
        write(folder, name, model, y, expected, change)

    model, x = simple()
    write(folder, "operator", model, model.node("HardSwish", x), ("unsupported-feature", "HardSwish_", "[batch, 3]"))
    model, x = simple()
    write(folder, "product", model, model.node("Mul", model.node("Relu", x), model.node("Tanh", x)), ("unsupported-feature", "Mul_", "SiLU"))
    model = Model((4, 6))
    write(folder, "attention", model, model.node("MatMul", "x", model.node("Transpose", "x", perm=[0, 2, 1])),
          ("unsupported-feature", "attention"))
    model = Model((3, 8, 8))
    x = model.conv("x", 3, 4, (3, 3))
    write(folder, "epsilon", model, model.node("InstanceNormalization", x, model.numbers(4), model.numbers(4), epsilon=1e-3),
          ("unsupported-feature", "epsilon", "1e-5"))
    model = Model((3, 8, 8))
    write(folder, "ceil", model, model.node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
          ("unsupported-feature", "MaxPool", "ceil_mode"))

    def cycle(proto):
        proto.graph.node.append(helper.make_node("Relu", ["b"], ["a"], name="first"))
        proto.graph.node.append(helper.make_node("Relu", ["a"], ["b"], name="second"))
        proto.graph.output[0].name = "b"
    refuse("cycle", cycle, "damaged", "depends on its own result")

    def set_opset(proto):
        proto.opset_import[0].version = 9
    refuse("opset", set_opset, "unknown-version", "opset 9", "11 to 24")

    def set_newer_opset(proto):
        proto.opset_import[0].version = 99
    refuse("newer", set_newer_opset, "unknown-version", "opset 99")

    def open_extent(proto):
        proto.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "columns"
    refuse("open", open_extent, "unsupported-feature", "'x'", "open")

    def no_shape(proto):
        proto.graph.input[0].type.tensor_type.ClearField("shape")
    refuse("shapeless", no_shape, "unsupported-feature", "'x'", "no shape")

    def shape(*dims):
        def change(proto):
            proto.graph.initializer[0].ClearField("dims")
            proto.graph.initializer[0].dims.extend(dims)
        return change
    refuse("huge", shape(1 << 40, 1 << 40), "too-large", "shape")
    refuse("larger", shape(1 << 20, 1 << 20), "damaged", "60 bytes")
    refuse("negative", shape(-3, 5), "bad-dataset", "negative")

    def two_outputs(proto):
        proto.graph.node.append(helper.make_node("Relu", [proto.graph.output[0].name], ["other"]))
        proto.graph.output.append(helper.make_tensor_value_info("other", TensorProto.FLOAT, None))
    refuse("outputs", two_outputs, "unsupported-feature", "2 outputs", "other")

    def infinite(proto):
        proto.graph.initializer[0].raw_data = numpy.full(15, numpy.inf, "f4").tobytes()
    refuse("infinite", infinite, "not-finite")

    def text(proto):
        proto.graph.initializer[0].data_type = TensorProto.STRING
    refuse("type", text, "unsupported-feature", "type 8")

    refuse("outside", external(location="../secret.bin"), "unsupported-feature", "../secret.bin", "folder")
    refuse("absolute", external(location="/etc/passwd"), "unsupported-feature", "/etc/passwd")
    (folder / "short.bin").write_bytes(bytes(20))
    refuse("short", external(location="short.bin"), "truncated", "short.bin")
    refuse("offset", external(location="short.bin", offset=-4), "bad-dataset", "'-4'")
    os.symlink("/etc/hostname", folder / "link.bin")
    refuse("link", external(location="link.bin"), "unsupported-feature", "a link")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
