"""mylos convert NET.safetensors OUT.h5 --deck DECK: networks that have the same tensors, and differ in an order that the deck chooses."""

import numpy

from foreign_networks import deck, outputs_of, random_tensors
from safetensors_file import write
from support.cases import run_cases


def per_channel(vector):
    return vector.astype(float)[:, None, None]


def pytorch_mlp(state, x, norm_first):
    """Linear, LayerNorm and ReLU in one of the two orders, Linear."""
    def norm(z):
        z = (z - z.mean(-1, keepdims=True)) / numpy.sqrt(z.var(-1, keepdims=True) + 1e-5)
        return z * state["norm.weight"] + state["norm.bias"]

    z = x @ state["fc1.weight"].T.astype(float) + state["fc1.bias"]
    z = numpy.maximum(norm(z), 0) if norm_first else norm(numpy.maximum(z, 0))
    return z @ state["fc2.weight"].T + state["fc2.bias"]


def pytorch_unet(state, x, skip_first):
    """Convolutions of one point with batch normalisation, on two levels; x is [samples, channels, h, w]."""
    def convolution(name, z):
        z = numpy.einsum("oi,nihw->nohw", state[name + ".weight"][..., 0, 0].astype(float), z)
        return z + per_channel(state[name + ".bias"]) if name + ".bias" in state else z

    def block(name, z):
        mean, var, weight, bias = (per_channel(state[f"{name}_bn.{part}"]) for part in ("running_mean", "running_var", "weight", "bias"))
        return numpy.maximum((convolution(name, z) - mean) / numpy.sqrt(var + 1e-5) * weight + bias, 0)

    skip = block("down", x)
    n, channels, h, w = skip.shape
    deepest = block("deepest", skip.reshape(n, channels, h // 2, 2, w // 2, 2).max((3, 5)))
    up = numpy.einsum("nihw,ioab->nohawb", deepest, state["up.weight"].astype(float)).reshape(n, -1, h, w) + per_channel(state["up.bias"])
    return convolution("head", block("decode", numpy.concatenate([skip, up] if skip_first else [up, skip], axis=1)))


def check_orders(command, program):
    """Tensors of the same names and shapes are one of two networks: the deck says which, and the command says what it took."""
    source = numpy.random.default_rng(6)
    x = source.standard_normal((5, 3))
    norm = {"norm.weight": (6,), "norm.bias": (6,)}
    state = random_tensors({"fc1.weight": (6, 3), "fc1.bias": (6,)} | norm | {"fc2.weight": (2, 6), "fc2.bias": (2,)})
    for norm_first in (False, True):
        text = deck("orders", 'type = "mlp"\nhidden = [6]\ninputs = 3\noutputs = 2\nnorm = "layernorm"\n'
                    f"norm_first = {str(norm_first).lower()}")
        compare_orders(command, program, text, state, x, pytorch_mlp(state, x, norm_first),
                       "order: hidden layers compute linear, " + ("norm, activation" if norm_first else "activation, norm"))
    x = source.standard_normal((5, 2, 4, 4))
    for bias in (False, True):
        shapes = {}
        for name, outputs, inputs in (("down", 4, 2), ("deepest", 6, 4), ("up", 6, 4), ("decode", 4, 8), ("head", 1, 4)):
            shapes[name + ".weight"] = (outputs, inputs, 2, 2) if name == "up" else (outputs, inputs, 1, 1)
            if name in ("up", "head") or bias:
                shapes[name + ".bias"] = (4,) if name == "up" else (outputs,)
            if name not in ("up", "head"):
                shapes |= {f"{name}_bn.{part}": (outputs,) for part in ("weight", "bias", "running_mean", "running_var")}
        state = random_tensors(shapes)
        state = {name: numpy.abs(tensor) + numpy.float32(0.5) if name.endswith("_var") else tensor for name, tensor in state.items()}
        for skip_first in (False, True):
            text = deck("orders", 'type = "unet"\ninputs = 32\noutputs = 16\nchannels = [4, 6]\nblocks = 1\nkernel = 1\nnorm = "batchnorm"\n'
                        f"conv_bias = {str(bias).lower()}\nskip_first = {str(skip_first).lower()}", [4, 4, 2])
            compare_orders(command, program, text, state, numpy.moveaxis(x, 1, -1),
                           numpy.moveaxis(pytorch_unet(state, x, skip_first), 1, -1),
                           "order: concat is " + ("[skip, input]" if skip_first else "[input, skip]"))


def compare_orders(command, program, text, state, x, expected, order):
    command.write("orders.toml", text)
    write(command.folder / "orders.safetensors", state, list(state))
    said = command.must("convert", "orders.safetensors", "orders.h5", "--deck", "orders.toml").stdout
    assert order in said, (order, said)
    found = outputs_of(command, program, "orders.h5", x).reshape(expected.shape)
    assert numpy.abs(found - expected).max() < 1e-5 * numpy.abs(expected).max(), (order, numpy.abs(found - expected).max())
    command.must("init", "orders.toml", "again.h5", "--from", "orders.h5")
    for key in ("norm_first", "skip_first"):
        value = text.partition(key + " = ")[2].strip().partition("\n")[0]
        if value:
            other = text.replace(f"{key} = {value}", f"{key} = {'false' if value == 'true' else 'true'}")
            command.write("other.toml", other)
            command.must_refuse(["init", "other.toml", "no.h5", "--from", "orders.h5"], "model-mismatch", key)


run_cases(check_orders, arguments=["program"])
