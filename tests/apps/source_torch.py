"""Networks of source_networks.py in PyTorch, in double, with their derivatives by its automatic differentiation.

usage: source_torch.py FOLDER
Reads each FOLDER/NAME.network.json (a network's description) and FOLDER/NAME.network.npz (weights, scaling, x, dx, ybar), and writes
FOLDER/NAME.torch.npz: y, the Jacobian, jvp and vjp of each sample.
"""
import json
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F

EPSILON = float(numpy.float32(1e-5))
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "tanh": torch.tanh, "silu": F.silu,
               "none": lambda x: x, None: lambda x: x}


def normed(x, norm, weights, name):
    """Of vectors, or of the channels, which are last."""
    weight = weights[f"{name}/weight"].ravel()
    if norm == "layernorm":
        return F.layer_norm(x, weight.shape, weight, weights[f"{name}/bias"].ravel(), EPSILON)
    if norm == "rmsnorm":
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON) * weight
    rows = x.reshape(-1, x.shape[-1])
    mean, variance = (weights[f"{name}/running_{what}"].ravel() for what in ("mean", "variance"))
    return F.batch_norm(rows, mean, variance, weight, weights[f"{name}/bias"].ravel(), eps=EPSILON).reshape(x.shape)


def along_column(x, layer, weights):
    """A convolution or pool of x [points, channels]."""
    kind, name = layer["kind"], layer["name"]
    x = x.T[None]
    if kind == "global_pool":
        return x.mean(-1)[0]
    kernel = layer["kernel"]
    if kind == "conv":
        dilation = layer.get("dilation", 1)
        padding = layer.get("padding", (kernel - 1) * dilation // 2)
        edges = {"zero": "constant", "periodic": "circular", "reflect": "reflect"}[layer.get("edges", "zero")]
        padded = F.pad(x, (padding, padding), mode=edges) if padding else x
        weight = weights[f"{name}/weight"].reshape(layer["outputs"], kernel, -1).permute(0, 2, 1)
        bias = weights[f"{name}/bias"].ravel() if layer.get("bias", True) else None
        return F.conv1d(padded, weight, bias, layer.get("stride", 1), 0, dilation)[0].T
    stride, padding = layer.get("stride", kernel), layer.get("padding", 0)
    if kind == "max_pool":
        return F.max_pool1d(x, kernel, stride, padding)[0].T
    return F.avg_pool1d(x, kernel, stride, padding, count_include_pad=False)[0].T


def layer_of(layer, x, values, weights):
    kind, name = layer["kind"], layer["name"]
    other = values.get(layer.get("skip_from"))
    if kind == "dense":
        x = F.linear(x.reshape(-1), weights[f"{name}/weight"], weights[f"{name}/bias"].ravel())
    elif kind == "add":
        x = x + (other * weights[f"{name}/weight"].ravel() if layer.get("gated") else other)
    elif kind == "concat":
        x = torch.cat([other, x] if layer.get("skip_first") else [x, other], -1)
    elif kind == "branch":
        x = other
    elif kind not in ("norm", "activation"):
        x = along_column(x, layer, weights)
    norm = layer.get("norm") or "none"
    if norm != "none":
        x = normed(x, norm, weights, name if kind == "norm" else f"{name}.norm")
    return ACTIVATIONS[layer.get("activation")](x)


def evaluate(described, weights, scaling, x):
    """Outputs of one sample, in the units of the data."""
    if "inputs_shift" in scaling:
        shift = scaling["inputs_shift"]
        x = ((x.reshape(-1, shift.numel()) - shift) * scaling["inputs_scale"]).reshape(x.shape)
    if "shape" in described:
        x = x.reshape(*described["shape"])
    values, y = {"input": x}, x
    for layer in described["layers"]:
        y = values[layer["name"]] = layer_of(layer, y, values, weights)
    y = y.reshape(-1)
    if described["residual"]:
        y = y + x.reshape(-1)
    loss, targets = described["loss"], described["targets"]
    if loss == "cross_entropy":
        return torch.softmax(y, -1)
    if loss == "binary_cross_entropy":
        return torch.sigmoid(y)
    shift = scaling.get("targets_shift", torch.zeros(targets, dtype=torch.double))
    deviation = 1 / scaling.get("targets_scale", torch.ones(targets, dtype=torch.double))
    if loss == "quantile":
        return (y.reshape(3, targets) * deviation + shift).reshape(-1)
    means = (y[:targets].reshape(-1, shift.numel()) * deviation + shift).reshape(-1)
    return torch.cat([means, torch.exp(y[targets:] / 2) * deviation]) if loss == "gaussian" else means


def compute(described, arrays):
    of = lambda group: {key.split(":")[1]: torch.from_numpy(numpy.asarray(value, float)) for key, value in arrays.items()
                        if key.startswith(group + ":")}
    weights, scaling = of("weight"), of("scaling")
    found = {"y": [], "jacobian": [], "jvp": [], "vjp": []}
    for x, dx, ybar in zip(*(torch.from_numpy(arrays[name]) for name in ("x", "dx", "ybar"))):
        function = lambda x: evaluate(described, weights, scaling, x)
        y, vjp = torch.autograd.functional.vjp(function, x, ybar)
        results = {"y": y, "vjp": vjp, "jvp": torch.autograd.functional.jvp(function, x, dx)[1],
                   "jacobian": torch.autograd.functional.jacobian(function, x)}
        for name, value in results.items():
            found[name].append(value.detach().numpy())
    return {name: numpy.stack(values) for name, values in found.items()}


for path in sorted(pathlib.Path(sys.argv[1]).glob("*.network.json")):
    name = path.name.removesuffix(".network.json")
    with numpy.load(path.with_name(f"{name}.network.npz")) as file:
        arrays = dict(file)
    numpy.savez(path.with_name(f"{name}.torch.npz"), **compute(json.loads(path.read_text(encoding="utf-8")), arrays))
