"""Builds ONNX models as other programs write them, and their outputs in ONNX Runtime.

usage: onnx_models.py FOLDER [SEED COUNT]

Writes NAME.onnx and NAME.npz for each model: inputs and outputs in Mylos' order (channels last), with `shape`, that of a sample on a
grid, or none. COUNT random models beside the named ones.
"""
import pathlib
import random
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROWS = 7


class Model:
    """Nodes and constants of a graph with the input x, whose shape without the batch is `shape`."""

    def __init__(self, shape, seed=1, opset=17):
        self.shape, self.opset = shape, opset
        self.source = numpy.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, values, name="c"):
        self.count += 1
        name = f"{name}{self.count}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def numbers(self, *shape, scale=1.0, positive=False, name="w"):
        values = self.source.normal(size=shape) * scale
        return self.constant((numpy.abs(values) + 0.5 if positive else values).astype("f4"), name)

    def node(self, op, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"v{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"{op}_{self.count}", **attributes))
        return names[0]

    def scalar(self, value):
        return self.constant(numpy.float32(value))

    # Layers

    def gemm(self, x, inputs, outputs):
        return self.node("Gemm", x, self.numbers(outputs, inputs, scale=inputs ** -0.5), self.numbers(outputs), transB=1)

    def matmul(self, x, inputs, outputs, bias=True):
        y = self.node("MatMul", x, self.numbers(inputs, outputs, scale=inputs ** -0.5))
        return self.node("Add", self.numbers(outputs), y) if bias else y

    def conv(self, x, inputs, outputs, kernel, bias=True, groups=1, transposed=False, **attributes):
        dims = (inputs, outputs // groups, *kernel) if transposed else (outputs, inputs // groups, *kernel)
        weight = self.numbers(*dims, scale=(inputs * numpy.prod(kernel)) ** -0.5)
        biases = [self.numbers(outputs)] if bias else []
        return self.node("ConvTranspose" if transposed else "Conv", x, weight, *biases, group=groups, **attributes)

    def batch_norm(self, x, channels, epsilon=1e-5):
        return self.node("BatchNormalization", x, self.numbers(channels, positive=True), self.numbers(channels), self.numbers(channels),
                         self.numbers(channels, positive=True), epsilon=epsilon)

    def group_norm(self, x, groups, channels, extents):
        y = self.node("Reshape", x, self.constant(numpy.array([0, groups, -1])))
        y = self.node("InstanceNormalization", y, self.constant(numpy.ones(groups, "f4")), self.constant(numpy.zeros(groups, "f4")))
        y = self.node("Reshape", y, self.node("Shape", x))
        ones = [1] * len(extents)
        return self.node("Add", self.node("Mul", y, self.numbers(channels, *ones)), self.numbers(channels, *ones))

    def mean(self, x, axes, **attributes):
        if self.opset < 18:
            return self.node("ReduceMean", x, axes=axes, **attributes)
        return self.node("ReduceMean", x, self.constant(numpy.array(axes)), **attributes)

    def layer_norm(self, x, width):
        """As exporters below opset 17 write it."""
        centred = self.node("Sub", x, self.mean(x, [-1]))
        variance = self.mean(self.node("Pow", centred, self.scalar(2)), [-1])
        y = self.node("Div", centred, self.node("Sqrt", self.node("Add", variance, self.scalar(1e-5))))
        return self.node("Add", self.node("Mul", y, self.numbers(width)), self.numbers(width))

    def rms_norm(self, x, width):
        mean = self.mean(self.node("Mul", x, x), [-1])
        root = self.node("Reciprocal", self.node("Sqrt", self.node("Add", self.scalar(1e-5), mean)))
        return self.node("Mul", self.numbers(width), self.node("Mul", x, root))

    def activation(self, x, kind):
        if kind == "gelu":
            inner = self.node("Erf", self.node("Div", x, self.scalar(2 ** 0.5)))
            return self.node("Mul", self.node("Mul", x, self.node("Add", inner, self.scalar(1))), self.scalar(0.5))
        if kind == "gelu-other":
            half = self.node("Mul", self.scalar(0.5), x)
            return self.node("Mul", half, self.node("Add", self.scalar(1), self.node("Erf", self.node("Mul", x, self.scalar(0.5 ** 0.5)))))
        if kind == "gelu-tanh":
            cube = self.node("Mul", self.node("Pow", x, self.scalar(3)), self.scalar(0.044715))
            inner = self.node("Tanh", self.node("Mul", self.node("Add", x, cube), self.scalar((2 / numpy.pi) ** 0.5)))
            return self.node("Mul", self.scalar(0.5), self.node("Mul", x, self.node("Add", self.scalar(1), inner)))
        if kind == "silu":
            return self.node("Mul", self.node("Sigmoid", x), x)
        if kind == "clip":
            return self.node("Clip", x, self.scalar(0))
        return self.node({"relu": "Relu", "tanh": "Tanh"}[kind], x)

    def scaled(self, x, shape):
        return self.node("Mul", self.node("Sub", x, self.numbers(*shape)), self.numbers(*shape, positive=True))

    def unscaled(self, y, shape):
        return self.node("Add", self.node("Mul", y, self.numbers(*shape, positive=True)), self.numbers(*shape))

    # The file

    def proto(self, y, rows="batch"):
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, *self.shape])],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def write(self, folder, name, y, vector=False, channels_last=False, rows="batch"):
        """`vector`: the network reads a vector, whatever the input's shape."""
        proto = self.proto(y, rows)
        onnx.save(proto, folder / f"{name}.onnx")
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        x = self.source.normal(size=(ROWS, *self.shape)).astype("f4")
        outputs, = session.run(None, {"x": x})

        def ours(array, is_last):
            return array if is_last or array.ndim < 3 else numpy.moveaxis(array, 1, -1)
        inputs = x if vector else ours(x, channels_last)
        shape = [] if vector or x.ndim < 3 else inputs.shape[1:]
        numpy.savez(folder / f"{name}.npz", inputs=inputs.reshape(ROWS, -1), outputs=ours(outputs, channels_last).reshape(ROWS, -1),
                    shape=numpy.array(shape, "i8"))


def keras_images(folder):
    """As tf2onnx writes Keras: channels last outside, channels first inside, biases and means of their own, SAME padding."""
    model = Model((9, 9, 3), opset=15)
    x = model.node("Transpose", "x", perm=[0, 3, 1, 2])
    x = model.conv(x, 3, 8, (3, 3), strides=[2, 2], auto_pad="SAME_UPPER")
    x = model.activation(model.batch_norm(x, 8, epsilon=1e-3), "relu")
    x = model.conv(x, 8, 8, (4, 3), bias=False, pads=[1, 1, 2, 1])
    x = model.node("Add", x, model.numbers(8, 1, 1))
    x = model.conv(x, 8, 4, (3, 3), transposed=True, strides=[2, 2], pads=[0, 0, 1, 1])
    x = model.node("Transpose", model.activation(x, "silu"), perm=[0, 2, 3, 1])
    x = model.matmul(model.mean(x, [1, 2], keepdims=0), 4, 5)
    model.write(folder, "keras-images", model.node("Softmax", x), channels_last=True)


def keras_flatten(folder):
    """A dense layer that reads the grid by points, then channels."""
    model = Model((5, 4, 2), opset=13)
    x = model.node("Transpose", "x", perm=[0, 3, 1, 2])
    x = model.node("MaxPool", model.activation(model.conv(x, 2, 6, (3, 3), pads=[1, 1, 1, 1]), "gelu"), kernel_shape=[2, 2],
                   strides=[2, 2], outputs=1)
    x = model.node("Transpose", x, perm=[0, 2, 3, 1])
    x = model.node("Reshape", x, model.constant(numpy.array([-1, 24])))
    model.write(folder, "keras-flatten", model.matmul(x, 24, 3), channels_last=True)


def blocks_of_two_layouts(folder):
    """A ConvNeXt block: a depthwise convolution, a norm of the channels last, and a scale of the branch."""
    model = Model((4, 6, 7), opset=17)
    x = model.scaled("x", (4, 1, 1))
    x = model.conv(x, 4, 8, (2, 2), strides=[2, 2])
    for _ in range(2):
        y = model.conv(x, 8, 8, (7, 7), groups=8, pads=[3, 3, 3, 3])
        y = model.node("Transpose", y, perm=[0, 2, 3, 1])
        y = model.node("LayerNormalization", y, model.numbers(8), model.numbers(8), axis=-1)
        y = model.matmul(model.activation(model.matmul(y, 8, 16), "gelu-other"), 16, 8)
        y = model.node("Transpose", model.node("Mul", model.numbers(8), y), perm=[0, 3, 1, 2])
        x = model.node("Add", x, y)
    y = model.node("Flatten", model.node("GlobalAveragePool", x))
    model.write(folder, "convnext", model.unscaled(model.gemm(y, 8, 3), (3,)))


def gated(folder):
    """A scaled skip, edges of all kinds, and two outputs of one layer that are joined."""
    model = Model((2, 6, 8), opset=19)
    x = model.conv("x", 2, 6, (3, 3), pads=[1, 1, 1, 1])
    y = model.node("Pad", x, model.constant(numpy.array([0, 0, 1, 2, 0, 0, 1, 2])), mode="reflect")
    y = model.activation(model.conv(y, 6, 6, (3, 5)), "gelu-tanh")
    x = model.node("Add", model.node("Mul", x, model.numbers(1, 6, 1, 1)), y)
    y = model.node("Pad", x, model.constant(numpy.array([1, 1])), "", model.constant(numpy.array([-1])), mode="wrap")
    y = model.node("Pad", y, model.constant(numpy.array([2, 2])), "", model.constant(numpy.array([2])), mode="reflect")
    y = model.conv(y, 6, 6, (5, 3))
    y = model.node("Pad", y, model.constant(numpy.array([1, 1])), "", model.constant(numpy.array([2])), mode="wrap")
    y = model.conv(y, 6, 6, (3, 3), pads=[0, 1, 0, 1])
    y = model.node("Concat", y, x, "x", axis=1)
    y = model.node("Pad", y, model.constant(numpy.array([0, 0, 2, 0, 0, 0, 1, 0])))
    model.write(folder, "gated", model.conv(y, 14, 1, (4, 1)))


def small_models(folder):
    for kind in ("relu", "tanh", "silu", "gelu", "gelu-other", "gelu-tanh", "clip"):
        model = Model((5,), opset=13)
        x = model.activation(model.gemm(model.scaled("x", (5,)), 5, 12), kind)
        model.write(folder, f"mlp-{kind}", model.unscaled(model.matmul(x, 12, 3), (3,)))
    model = Model((6,), opset=20)
    x = model.node("Gelu", model.gemm("x", 6, 8), approximate="tanh")
    x = model.node("Dropout", model.node("Gelu", model.matmul(x, 8, 8)))
    model.write(folder, "mlp-sigmoid", model.node("Sigmoid", model.gemm(model.rms_norm(x, 8), 8, 4)), rows=ROWS)
    model = Model((1, 6, 6), opset=11)
    x = model.node("Reshape", "x", model.node("Concat", model.node("Unsqueeze", model.node(
        "Gather", model.node("Shape", "x"), model.constant(numpy.array(0)), axis=0), axes=[0]), model.constant(numpy.array([-1])), axis=0))
    x = model.node("Gemm", x, model.numbers(36, 9), model.numbers(1, 9), alpha=0.5, beta=2.0)
    model.write(folder, "flat", model.layer_norm(x, 9), vector=True)


class Draw:
    """A random network on a grid of 1 to 3 axes with channels first, or of vectors."""

    def __init__(self, seed, number):
        self.source = random.Random(f"{seed} {number}")
        axes = self.source.choice([0, 1, 2, 2, 3])
        self.extents = [self.source.randint(4, {1: 16, 2: 9, 3: 5}[axes]) for _ in range(axes)]
        self.channels = self.source.randint(1, 6)
        self.model = Model((self.channels, *self.extents), seed=number, opset=self.source.choice([13, 15, 17]))
        self.is_grid = axes > 0

    def width(self):
        return self.source.choice([2, 4, 6, 8])

    def layer(self, x):
        source, model = self.source, self.model
        if not self.is_grid:
            width = self.width()
            x = model.gemm(x, self.channels, width) if source.random() < 0.5 else model.matmul(x, self.channels, width, source.random() < 0.8)
            self.channels = width
        else:
            x = self.grid_layer(x)
        if source.random() < 0.5:
            x = self.norm(x)
        if source.random() < 0.6:
            x = model.activation(x, source.choice(["relu", "tanh", "silu", "gelu", "gelu-other", "gelu-tanh", "clip"]))
        return x

    def grid_layer(self, x):
        source, model, axes = self.source, self.model, len(self.extents)
        kind = source.choice(["conv", "conv", "conv", "pool", "up", "transposed"])
        if kind == "up" and max(self.extents) < 12:
            factors = [source.randint(1, 2) for _ in range(axes)]
            self.extents = [n * factor for n, factor in zip(self.extents, factors)]
            mode = source.choice(["nearest", "linear"])
            how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"} if mode == "nearest" else {}
            return model.node("Resize", x, "", model.constant(numpy.array([1, 1, *factors], "f4")), mode=mode, **how)
        if kind == "pool" and min(self.extents) > 2:
            stride = source.randint(1, 2)
            self.extents = [(n - 2) // stride + 1 for n in self.extents]
            return model.node(source.choice(["MaxPool", "AveragePool"]), x, kernel_shape=[2] * axes, strides=[stride] * axes)
        before, self.channels = self.channels, self.width()
        if kind == "transposed" and max(self.extents) < 8:
            self.extents = [2 * n for n in self.extents]
            return model.conv(x, before, self.channels, [3] * axes, transposed=True, strides=[2] * axes, pads=[1] * 2 * axes,
                              output_padding=[1] * axes)
        groups = source.choice([g for g in (1, 1, 2, 3) if before % g == 0 and self.channels % g == 0])
        kernel = [source.randint(1, min(3, n)) for n in self.extents]
        pads = [source.randint(0, k - 1) for k in kernel + kernel]
        stride = [source.randint(1, 2) for _ in range(axes)]
        self.extents = [(n + pads[i] + pads[axes + i] - kernel[i]) // stride[i] + 1 for i, n in enumerate(self.extents)]
        return model.conv(x, before, self.channels, kernel, bias=source.random() < 0.7, groups=groups, pads=pads, strides=stride)

    def norm(self, x):
        source, model = self.source, self.model
        if self.is_grid:
            if source.random() < 0.5 or numpy.prod(self.extents) * self.channels < 4:
                return model.batch_norm(x, self.channels, source.choice([1e-5, 1e-3]))
            return model.group_norm(x, 2 if self.channels % 2 == 0 else 1, self.channels, self.extents)
        if source.random() < 0.4:
            return model.batch_norm(x, self.channels, source.choice([1e-5, 1e-3]))
        return model.layer_norm(x, self.channels) if source.random() < 0.5 else model.rms_norm(x, self.channels)

    def write(self, folder, name):
        source, model = self.source, self.model
        ones = [1] * len(self.extents)
        x = model.scaled("x", (self.channels, *ones)) if source.random() < 0.5 else "x"
        for _ in range(source.randint(1, 5)):
            shape, before = (self.channels, list(self.extents)), x
            x = self.layer(x)
            if before == "x" or source.random() < 0.5:
                continue
            if shape == (self.channels, self.extents):
                x = model.node("Add", *source.sample([before, x], 2))
            elif shape[1] == self.extents:
                x = model.node("Concat", *source.sample([before, x], 2), axis=1)
                self.channels += shape[0]
        if self.is_grid and source.random() < 0.6:
            columns = self.channels * int(numpy.prod(self.extents))
            if source.random() < 0.4:
                x, columns = model.node("GlobalAveragePool", x), self.channels
            x = model.gemm(model.node("Flatten", x), columns, 5)
            self.channels, ones = 5, []
        elif self.is_grid:
            x = model.conv(x, self.channels, 2, ones)
            self.channels = 2
        else:
            x = model.matmul(x, self.channels, 4)
            self.channels = 4
        if source.random() < 0.5:
            x = model.unscaled(x, (self.channels, *(ones if self.is_grid else [])))
        model.write(folder, name, x)


def main(folder, seed=1, count=0):
    folder = pathlib.Path(folder)
    keras_images(folder)
    keras_flatten(folder)
    blocks_of_two_layouts(folder)
    gated(folder)
    small_models(folder)
    for number in range(int(count)):
        Draw(int(seed), number).write(folder, f"random{number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
