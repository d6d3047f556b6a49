"""Builds ONNX models with Keras' exporter (model.export(..., format="onnx"), which calls tf2onnx), and their outputs in ONNX Runtime.

usage: onnx_keras_models.py FOLDER
"""
import logging
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras  # noqa: E402
import numpy  # noqa: E402
from keras import layers  # noqa: E402

from onnx_exported import ROWS, write, write_refused  # noqa: E402

SOURCE = numpy.random.default_rng(1)


def gelu(x):
    """The form with tanh: tf2onnx has no operator for TensorFlow's other form."""
    return keras.activations.gelu(x, approximate=True)


def sequence(shape, *parts):
    return keras.Sequential([keras.Input(shape), *parts])


def scaled(norm):
    return sequence((5,), norm, layers.Dense(8, "relu"), layers.Dense(3), layers.Rescaling(2.5, offset=-1))


def scaled_fields():
    norm = layers.Rescaling([0.5, 2.0], [-1.5, 0.25])
    return sequence((6, 8, 2), norm, layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(3))


def pixels():
    return sequence((8, 8, 1), layers.Rescaling(1 / 255), layers.Conv2D(4, 3, padding="same", activation="relu"), layers.MaxPooling2D(),
                    layers.Flatten(), layers.Dense(10, "softmax"))


def residual():
    x = start = keras.Input((8, 8, 3))
    x = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    y = layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", use_bias=False)(y))
    x = layers.BatchNormalization()(layers.Conv2D(16, 1, strides=2, use_bias=False)(x))
    x = layers.ReLU()(layers.Add()([x, y]))
    return keras.Model(start, layers.Dense(5)(layers.GlobalAveragePooling2D()(x)))


def unet(up):
    def block(x, channels):
        x = layers.Conv2D(channels, 3, padding="same", activation=gelu)(x)
        return layers.Conv2D(channels, 3, padding="same", activation="swish")(x)
    start = keras.Input((8, 12, 2))
    a = block(start, 6)
    b = block(layers.MaxPooling2D()(a), 8)
    y = block(layers.AveragePooling2D(2)(b), 8)
    for skip, channels in ((b, 8), (a, 6)):
        if up == "transposed":
            y = layers.Conv2DTranspose(channels, 2, strides=2)(y)
        else:
            y = layers.UpSampling2D(interpolation=up)(y)
        y = block(layers.Concatenate()([y, skip]), channels)
    return keras.Model(start, layers.Conv2D(2, 1)(y))


def columns():
    x = start = keras.Input((5,))
    for _ in range(2):
        y = layers.Dense(12, "tanh")(x)
        x = layers.Concatenate()([x, layers.Dropout(0.1)(y)])
    return keras.Model(start, layers.Dense(3)(x))


def networks():
    return {
        "mlp": sequence((5,), layers.Dense(16, "relu"), layers.Dense(12, "tanh"), layers.Dense(8, gelu), layers.Dense(6, "silu"),
                        layers.Dense(3)),
        "classes": sequence((6,), layers.Dense(16, "relu"), layers.Dropout(0.2), layers.Dense(4, "softmax")),
        "flags": sequence((6,), layers.Dense(16, "relu"), layers.Dense(4, "sigmoid")),
        "hidden-sigmoid": sequence((6,), layers.Dense(16, "sigmoid"), layers.Dense(8, "sigmoid"), layers.Dense(4)),
        "scaled": scaled(layers.Rescaling([0.5, 1, 2, 3, 4.5], offset=[1.0, 0, -2, 3, -4])),
        "scaled-fields": scaled_fields(),
        "pixels": pixels(),
        "batch-norm": sequence((5,), layers.Dense(12), layers.BatchNormalization(), layers.ReLU(), layers.Dense(3)),
        "layer-norm": sequence((5,), layers.Dense(12), layers.LayerNormalization(epsilon=1e-5), layers.ReLU(), layers.Dense(3)),
        "group-norm": sequence((6, 8, 2), layers.Conv2D(8, 3), layers.GroupNormalization(4, epsilon=1e-5), layers.ReLU(),
                               layers.Conv2D(2, 1)),
        "columns": columns(),
        "residual": residual(),
        "unet-transposed": unet("transposed"),
        "unet-bilinear": unet("bilinear"),
        "depthwise": sequence((8, 9, 3), layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, activation="relu"),
                              layers.SeparableConv2D(6, 3, strides=2, padding="same"), layers.Conv2D(4, 3, dilation_rate=2, padding="same"),
                              layers.GlobalAveragePooling2D(), layers.Dense(2)),
        "line": sequence((16, 2), layers.Conv1D(6, 5, padding="same", activation="relu"), layers.MaxPooling1D(), layers.Conv1D(4, 3),
                         layers.Flatten(), layers.Dense(3)),
        "solid": sequence((4, 5, 6, 1), layers.Conv3D(4, 3, padding="same", activation="relu"), layers.Conv3D(2, 2, strides=2),
                          layers.Flatten(), layers.Dense(3)),
        "padded": sequence((6, 8, 2), layers.ZeroPadding2D(2), layers.Conv2D(4, 3, activation="relu"), layers.Conv2DTranspose(
            3, 3, strides=2, padding="same"), layers.Conv2D(2, 3, padding="same")),
        "wider": sequence((8, 8, 2), layers.Conv2D(4, 4, strides=2, padding="same"), layers.ReLU(), layers.Conv2DTranspose(
            2, 4, strides=2, padding="same")),
        "points": sequence((7, 4), layers.Dense(8, "relu"), layers.Dense(3)),
    }


def refused():
    """Name: model, words of the message."""
    return {
        "epsilon": (sequence((5,), layers.Dense(12), layers.LayerNormalization(), layers.Dense(3)), "epsilon", "1e-5"),
        # The exporter makes inputs of the graph of its constants.
        "normalization": (scaled(layers.Normalization(mean=[1, 2, 3, 4, 5], variance=[1, 1, 2, 2, 3])), "3 inputs"),
        "unet-nearest": (unet("nearest"), "Tile", "[batch, "),
        "elu": (sequence((5,), layers.Dense(12, "elu"), layers.Dense(3)), "Elu", "[batch, 12]"),
        "recurrent": (sequence((7, 4), layers.LSTM(6), layers.Dense(3)), "Transpose", "[batch, 7, 4]"),
        "heads": (attention(), "Transpose", "[batch, 7, 2, 1, 4]"),
    }


def attention():
    x = keras.Input((7, 8))
    return keras.Model(x, layers.MultiHeadAttention(2, 4)(x, x))


def exported(model, path):
    for layer in model.layers:
        if isinstance(layer, (layers.BatchNormalization, layers.LayerNormalization, layers.GroupNormalization)):
            weights = [SOURCE.uniform(0.5, 2, weight.shape) for weight in layer.get_weights()]
            layer.set_weights(weights)
    model(numpy.zeros((1, *model.input_shape[1:]), "f4"))
    model.export(path, format="onnx", verbose=False)
    return path.read_bytes()


def main(folder):
    logging.disable(logging.WARNING)
    keras.utils.set_random_seed(1)
    for name, model in networks().items():
        x = SOURCE.normal(size=(ROWS, *model.input_shape[1:])).astype("f4")
        write(folder, f"keras-{name}", exported(model, folder / "model.onnx"), x, is_last=True)
    for name, (model, *words) in refused().items():
        write_refused(folder, f"keras-{name}", exported(model, folder / "model.onnx"), "unsupported-feature", *words)
    (folder / "model.onnx").unlink()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
