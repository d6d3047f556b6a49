"""Small networks of vectors and columns with every layer that exported source computes, and their outputs by NumPy in double.

A network is a dictionary: `inputs`, `targets`, `loss`, `normalize`, `layers`, `residual`, `mlp` if its deck is of that type, and
`shape` if its samples are columns: [points, channels]. A
layer has a `kind` and what its deck says of it; `forward` reads nothing else, and the weights in the run's checkpoint.
"""
import h5py
import numpy

from support.decks import deck_text
from support.run_folders import weights_of

ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "tanh", "silu")
NORMS = ("none", "layernorm", "rmsnorm", "batchnorm")


def error_of(found, expected):
    """Of the largest number."""
    assert found.shape == expected.shape and numpy.isfinite(found).all(), (found.shape, expected.shape)
    return numpy.abs(found - expected).max() / max(numpy.abs(expected).max(), 1e-30)


def require(what, error, tolerance):
    assert error <= tolerance, f"{what}: {error:.2g}, at most {tolerance:.2g}"


def dense(name, outputs=None, **keys):
    return {"kind": "dense", "name": name, "outputs": outputs, **keys}


def mlp(hidden, activation, norm="none", **keys):
    model = dict(type="mlp", hidden=hidden, activation=activation, norm=norm if norm != "none" else None, **keys)
    layers = []
    for i, width in enumerate(hidden, 1):
        first = keys.get("norm_first", False)
        layers.append(dense(f"hidden{i}", width, activation="none" if first else activation))
        if norm != "none":
            layers.append({"kind": "norm", "name": f"norm{i}", "norm": norm, "activation": activation if first else "none"})
    return {"mlp": model, "layers": [*layers, dense("head")], "residual": keys.get("residual", False)}


def conv(name, outputs, kernel, **keys):
    return {"kind": "conv", "name": name, "outputs": outputs, "kernel": kernel, **keys}


def network(inputs, targets, loss="mse", normalize="standard", **described):
    return {"inputs": inputs, "targets": targets, "loss": loss, "normalize": normalize, "residual": False, **described}


NETWORKS = {
    "smooth": network(5, 3, **mlp([24, 16], "gelu", "layernorm", dropout=0.1)),
    "classes": network(9, 4, "cross_entropy", "minmax", **mlp([24], "silu", "rmsnorm")),
    "flags": network(6, 5, "binary_cross_entropy", "none", **mlp([16], "tanh")),
    "step": network(7, 7, "l1", **mlp([33], "gelu_tanh", residual=True)),
    "sure": network(6, 3, "gaussian", **mlp([17], "relu", "layernorm", norm_first=True)),
    "plain": network(3, 2, "gaussian", "none", **mlp([8], "none")),
    "wide": network(9, 2, **mlp([72, 130], "relu")),
    "graph": network(4, 6, "huber", layers=[
        dense("if", 40, norm="batchnorm", activation="relu"),
        dense("a.b", 40, activation="gelu"),
        {"kind": "add", "name": "A_B", "skip_from": "if", "activation": "tanh", "norm": "rmsnorm"},
        {"kind": "branch", "name": "beside", "skip_from": "input"},
        dense("side", 40, activation="silu", norm="layernorm"),
        {"kind": "add", "name": "gate", "skip_from": "A_B", "gated": True},
        {"kind": "concat", "name": "1st", "skip_from": "if", "skip_first": True},
        {"kind": "activation", "name": "late", "activation": "gelu_tanh", "dropout": 0.1},
        {"kind": "concat", "name": "all", "skip_from": "input"},
        {"kind": "norm", "name": "last", "norm": "batchnorm"},
        dense("head")]),
    "column": network(36, 24, normalize="channel", shape=[12, 3], layers=[
        conv("first", 20, 3, norm="layernorm", activation="gelu"),
        conv("wide", 20, 5, dilation=2, edges="reflect", activation="silu"),
        {"kind": "add", "name": "sum", "skip_from": "first", "gated": True},
        conv("ring", 6, 3, edges="periodic", norm="batchnorm", activation="relu"),
        {"kind": "concat", "name": "all", "skip_from": "input", "skip_first": True},
        {"kind": "norm", "name": "scaled", "norm": "rmsnorm", "activation": "tanh"},
        conv("head", 2, 1)]),
    "pools": network(26, 3, "gaussian", shape=[13, 2], layers=[
        conv("first", 17, 3, stride=2, activation="silu"),
        {"kind": "max_pool", "name": "largest", "kernel": 3, "stride": 2, "padding": 1},
        conv("second", 17, 3, bias=False),
        {"kind": "add", "name": "sum", "skip_from": "largest"},
        {"kind": "average_pool", "name": "mean", "kernel": 3, "stride": 1, "padding": 1},
        {"kind": "concat", "name": "both", "skip_from": "sum"},
        {"kind": "global_pool", "name": "all"},
        dense("head")]),
    "levels": network(5, 3, "quantile", **mlp([8], "tanh")),
}


def random_network(seed):
    """A chain of random layers, of which most read the layer before, and some an earlier one."""
    source = numpy.random.default_rng(seed)
    choose = lambda of: str(source.choice(of))
    layers, widths = [], {}
    width = inputs = int(source.integers(1, 12))
    for i in range(int(source.integers(1, 7))):
        name = f"layer{i}"
        earlier = list(widths)[:-1]  # a layer reads the one before it anyway
        same = [each for each in earlier if widths[each] == width]
        kinds = ["dense", "dense", "dense"] + ["norm", "activation"] * bool(widths) + ["add"] * 2 * bool(same) + ["concat"] * bool(earlier)
        kind = choose(kinds)
        layer = {"kind": kind, "name": name}
        if kind == "dense":
            width = int(source.choice([5, 8, 33, 40, 71, width]))
            layer.update(outputs=width, norm=choose(NORMS), activation=choose(ACTIVATIONS))
        elif kind == "norm":
            layer.update(norm=choose(NORMS[1:]), activation=choose(ACTIVATIONS))
        elif kind == "activation":
            layer.update(activation=choose(ACTIVATIONS[1:]))
        elif kind == "add":
            layer.update(skip_from=choose(same), gated=bool(source.integers(2)))
        else:
            other = choose(earlier)
            layer.update(skip_from=other, skip_first=bool(source.integers(2)))
            width += widths[other]
        layers.append(layer)
        widths[name] = width
    loss = choose(["mse", "gaussian", "cross_entropy", "binary_cross_entropy"])
    return network(inputs, int(source.integers(2, 6)), loss, choose(["standard", "minmax", "none"]), layers=[*layers, dense("head")])


def random_column(seed):
    """A chain of random layers along a column."""
    source = numpy.random.default_rng(seed)
    choose = lambda of: str(source.choice(of))
    points, channels = int(source.integers(5, 20)), int(source.integers(1, 5))
    shape, layers, earlier = [points, channels], [], {}
    for i in range(int(source.integers(2, 7))):
        name = f"layer{i}"
        same = [each for each, size in list(earlier.items())[:-1] if size == (points, channels)]
        beside = [each for each, size in list(earlier.items())[:-1] if size[0] == points]
        kind = choose(["conv"] * 4 + ["norm"] * bool(earlier) + ["max_pool", "average_pool"] * (points > 4) + ["add"] * 2 * bool(same) +
                      ["concat"] * bool(beside))
        layer = {"kind": kind, "name": name}
        if kind == "conv":
            kernel, dilation = int(source.choice([1, 2, 3, 5])), int(source.integers(1, 3))
            padding = int(source.integers(0, min(4, points)))
            if dilation * (kernel - 1) + 1 > points + 2 * padding:
                kernel = 1
            stride = int(source.integers(1, 3))
            channels = int(source.choice([3, 8, 16, 21, 40, channels]))
            points = (points + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
            layer.update(outputs=channels, kernel=kernel, stride=stride, padding=padding, dilation=dilation,
                         edges=choose(["zero", "periodic", "reflect"]), norm=choose(NORMS), activation=choose(ACTIVATIONS))
        elif kind == "norm":
            layer.update(norm=choose(NORMS[1:]), activation=choose(ACTIVATIONS))
        elif kind.endswith("pool"):
            layer.update(kernel=3, stride=int(source.integers(1, 4)), padding=int(source.integers(0, 2)))
            points = (points + 2 * layer["padding"] - 3) // layer["stride"] + 1
        elif kind == "add":
            layer.update(skip_from=choose(same), gated=bool(source.integers(2)))
        else:
            other = choose(beside)
            layer.update(skip_from=other, skip_first=bool(source.integers(2)))
            channels += earlier[other][1]
        layers.append(layer)
        earlier[name] = (points, channels)
    if source.integers(2):
        layers.append({"kind": "global_pool", "name": "all"})
        return network(shape[0] * shape[1], 3, "gaussian", "standard", shape=shape, layers=[*layers, dense("head")])
    return network(shape[0] * shape[1], points * 2, "mse", "channel", shape=shape, layers=[*layers, conv("head", 2, 1)])


def write(folder, name, described, samples=24):
    """Writes NAME.toml and NAME-data.h5, and returns the inputs in float."""
    source = numpy.random.default_rng(len(name) + described["inputs"])
    columns, targets = described["inputs"], described["targets"]
    inputs = (source.normal(size=(samples, columns)) * source.uniform(0.1, 3, columns) + source.normal(size=columns) * 5).astype("f4")
    with h5py.File(folder / f"{name}-data.h5", "w") as file:
        file["inputs"] = inputs
        if described["loss"] == "cross_entropy":
            file["labels"] = (numpy.arange(samples) % targets).astype("i4")
            file.attrs["classes"] = targets
        elif described["loss"] == "binary_cross_entropy":
            file["targets"] = source.integers(0, 2, (samples, targets)).astype("f4")
        else:
            file["targets"] = (source.normal(size=(samples, targets)) * 4 + 3).astype("f4")
    model = described.get("mlp") or {"type": "chain"}
    layers = [] if "mlp" in described else [{key: value for key, value in layer.items() if value is not None}
                                            for layer in described["layers"]]
    for layer in layers:
        for key in ("activation", "norm"):
            if layer.get(key) == "none":
                del layer[key]
    (folder / f"{name}.toml").write_text(deck_text(
        run=dict(name=name, steps=4), data=dict(train=f"{name}-data.h5", batch=8, normalize=described["normalize"], shape=described.get("shape")),
        precision=dict(compute="fp32"), optimizer=dict(lr=2e-2), model={**model, "loss": described["loss"]}, layers=layers),
        encoding="utf-8")
    return inputs


def erf(x):
    """Abramowitz and Stegun 7.1.5 and, for large arguments, a continued fraction of erfc."""
    small = numpy.clip(numpy.abs(x), 0, 3)
    term, total = small.copy(), small.copy()
    for n in range(1, 80):
        term = -term * small * small / n
        total += term / (2 * n + 1)
    large = numpy.maximum(numpy.abs(x), 3)
    fraction = large.copy()
    for n in range(60, 0, -1):
        fraction = large + n / 2 / fraction
    beyond = 1 - numpy.exp(-large * large) / (numpy.sqrt(numpy.pi) * fraction)
    return numpy.sign(x) * numpy.where(numpy.abs(x) < 3, 2 / numpy.sqrt(numpy.pi) * total, beyond)


def erf_of(x):
    """erf, of complex numbers with a tiny imaginary part too."""
    if not numpy.iscomplexobj(x):
        return erf(x)
    return erf(x.real) + 2j / numpy.sqrt(numpy.pi) * numpy.exp(-x.real**2) * x.imag


def activated(x, activation):
    if activation == "relu":
        return numpy.where(x.real > 0, x, 0)
    if activation == "gelu":
        return x / 2 * (1 + erf_of(x / numpy.sqrt(2)))
    if activation == "gelu_tanh":
        return x / 2 * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)))
    if activation == "tanh":
        return numpy.tanh(x)
    return x / (1 + numpy.exp(-x)) if activation == "silu" else x


def normed(x, norm, weights, name):
    epsilon = float(numpy.float32(1e-5))
    if norm == "rmsnorm":
        return x / numpy.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * weights[f"{name}/weight"]
    if norm == "layernorm":
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean)**2).mean(-1, keepdims=True)
    else:
        mean, variance = weights[f"{name}/running_mean"], weights[f"{name}/running_variance"]
    return (x - mean) / numpy.sqrt(variance + epsilon) * weights[f"{name}/weight"] + weights[f"{name}/bias"]


def windows_of(x, layer):
    """What the windows of a layer see of x [samples, points, channels]: [samples, windows, taps, channels], zeros beyond the ends if
    these are zeros; and whether a tap is inside."""
    kernel, dilation, points = layer["kernel"], layer.get("dilation", 1), x.shape[1]
    padding = layer.get("padding", (kernel - 1) * dilation // 2)
    mode = {"zero": "constant", "periodic": "wrap", "reflect": "reflect"}[layer.get("edges", "zero")]
    padded = numpy.pad(x, ((0, 0), (padding, padding), (0, 0)), mode=mode)
    first = numpy.arange(0, points + 2 * padding - dilation * (kernel - 1), layer.get("stride", 1))
    taps = first[:, None] + dilation * numpy.arange(kernel)
    return padded[:, taps], (taps >= padding) & (taps < points + padding)


class Reference:
    """The network of a checkpoint, in double."""

    def __init__(self, described, checkpoint, average=False):
        self.described = described
        groups = ("average" if average else "model", "buffers")
        self.weights = {name: numpy.asarray(value, float) for name, value in weights_of(checkpoint, groups).items()}
        with h5py.File(checkpoint) as file:
            scaling = file.get("data/normalization", {})
            self.scaling = {(of, what): file[f"data/normalization/{of}/{what}"][()].astype(float)
                            for of in scaling for what in scaling[of]}

    def layer(self, layer, x, values):
        name, kind = layer["name"], layer["kind"]
        other = values.get(layer.get("skip_from"))
        if kind == "dense":
            x = x.reshape(len(x), -1) @ self.weights[f"{name}/weight"].T + self.weights[f"{name}/bias"].ravel()
        elif kind == "add":
            x = x + (other * self.weights[f"{name}/weight"].ravel() if layer.get("gated") else other)
        elif kind == "concat":
            x = numpy.concatenate([other, x] if layer.get("skip_first") else [x, other], -1)
        elif kind == "branch":
            x = other
        elif kind == "conv":
            seen, _ = windows_of(x, layer)
            x = seen.reshape(*seen.shape[:2], -1) @ self.weights[f"{name}/weight"].T
            if layer.get("bias", True):
                x = x + self.weights[f"{name}/bias"].ravel()
        elif kind == "max_pool":
            seen, inside = windows_of(x, {"stride": layer["kernel"], "padding": 0, **layer})
            x = numpy.where(inside[..., None], seen, -numpy.inf).max(2)
        elif kind == "average_pool":
            seen, inside = windows_of(x, {"stride": layer["kernel"], "padding": 0, **layer})
            x = seen.sum(2) / inside.sum(1)[:, None]
        elif kind == "global_pool":
            x = x.mean(1)
        norm = layer.get("norm") or "none"
        if norm != "none":
            x = normed(x, norm, {key: value.ravel() for key, value in self.weights.items() if "norm" in key or name in key},
                       name if kind == "norm" else f"{name}.norm")
        return activated(x, layer.get("activation"))

    def forward(self, x):
        """Outputs, in the units of the data, of inputs [samples, inputs]."""
        x = numpy.asarray(x, complex if numpy.iscomplexobj(x) else float)
        if ("inputs", "shift") in self.scaling:
            shift, scale = self.scaling["inputs", "shift"], self.scaling["inputs", "scale"]
            x = ((x.reshape(len(x), -1, len(shift)) - shift) * scale).reshape(x.shape)
        if "shape" in self.described:
            x = x.reshape(len(x), *self.described["shape"])
        values = {"input": x}
        y = x
        for layer in self.described["layers"]:
            y = values[layer["name"]] = self.layer(layer, y, values)
        if self.described["residual"]:
            y = y + x
        return self.meaning(y.reshape(len(y), -1))

    def meaning(self, y):
        loss, targets = self.described["loss"], self.described["targets"]
        if loss == "cross_entropy":
            y = numpy.exp(y - y.real.max(-1, keepdims=True))
            return y / y.sum(-1, keepdims=True)
        if loss == "binary_cross_entropy":
            return 1 / (1 + numpy.exp(-y))
        shift = self.scaling.get(("targets", "shift"), 0.0)
        deviation = 1 / self.scaling.get(("targets", "scale"), 1.0)
        means = y[..., :targets].reshape(len(y), -1, numpy.size(shift)) * deviation + shift
        means = means.reshape(len(y), -1)
        if loss == "quantile":  # of the levels by default, one after the other
            levels = y.reshape(len(y), 3, targets) * deviation + shift
            return levels.reshape(len(y), -1)
        if loss != "gaussian":
            return means
        return numpy.concatenate([means, numpy.exp(y[..., targets:] / 2) * deviation], -1)

    def outputs(self):
        return self.described["targets"] * {"gaussian": 2, "quantile": 3}.get(self.described["loss"], 1)

    def exact_jacobian(self, x):
        """The same without differences, by steps along the imaginary axis (Squire and Trapp, SIAM Review 40, 1998)."""
        step = 1e-40j
        return numpy.stack([self.forward(x + step * unit).imag / step.imag for unit in numpy.eye(x.shape[1])], -1)

    def jacobian(self, x):
        """By central differences: [samples, outputs, inputs]."""
        steps = 1e-6 * numpy.maximum(numpy.abs(x).max(0), 1)
        columns = []
        for i, step in enumerate(steps):
            change = numpy.zeros(x.shape[1])
            change[i] = step
            columns.append((self.forward(x + change) - self.forward(x - change)) / (2 * step))
        return numpy.stack(columns, -1)
