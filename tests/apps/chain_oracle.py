"""Networks of [[model.layers]] in NumPy and double, from docs/reference/deck.md and docs/reference/formulas.md alone: which layers fit behind each
other, their weights by the checkpoint's names, outputs, losses and the statistics of batch normalisation.

Nothing here goes backward: gradients are compared with difference quotients of these losses.
"""
import itertools
import math

import numpy

from convolution_oracle import convolved, extended, transposed
from grid_oracle import attended, finer, joined, pooled
from reference.random_numbers import INITIAL_WEIGHTS, Stream
from reference.rounding import Amplified

EPSILON = 1e-5  # of norms
MOST_DEVIATIONS = 20  # that the mean of what is normalised may be away from 0, where float is compared
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "tanh", "silu")
DEFAULTS = {"bias": True, "groups": 1, "transposed": False, "edges": "zero", "between": "nearest", "norm": "none",
            "norm_groups": 8, "heads": 1, "norm_momentum": 0.1, "activation": "none", "dropout": 0.0, "repeat": 1, "skip_first": False}
erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


class Impossible(Exception):
    """`layer` does not fit where it stands: the name by which a message should say so."""

    def __init__(self, layer, why):
        super().__init__(f"{layer}: {why}")
        self.layer = layer


def activate(name, x):
    if name == "relu":
        return numpy.maximum(x, 0)
    if name == "gelu":
        return x * (1 + erf(x / math.sqrt(2))) / 2
    if name == "gelu_tanh":
        return x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))) / 2
    if name == "tanh":
        return numpy.tanh(x)
    return x / (1 + numpy.exp(-x)) if name == "silu" else x


def per_axis(layer, name, key, default, axes):
    """The key's numbers along each axis."""
    given = layer.get(key, default)
    numbers = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(numbers) not in (1, axes):
        raise Impossible(name, f"{len(numbers)} numbers as {key} on {axes} axes")
    return numbers * axes if len(numbers) == 1 else numbers


class Operation:
    """A block: takes [samples, *extents, channels], or what lies at a name besides; `parameters`: name, shape and what
    they begin with: a bound of uniform numbers, a deviation of normal ones as ("normal", deviation), or None: of a norm."""

    def __init__(self, name, kind, apply, parameters=(), skip=None):
        self.name, self.kind, self.apply, self.skip = name, kind, apply, skip
        self.parameters = list(parameters)


class Network:
    """Layers are appended one after the other. `extents` and `channels` are those of the last one's output."""

    def __init__(self, shape, inputs):
        self.extents, self.channels = (tuple(shape[:-1]), shape[-1]) if shape else ((), inputs)
        self.places = {"input": (0, self.extents, self.channels)}
        self.operations, self.left, self.momenta = [], {}, {}

    @property
    def columns(self):
        return math.prod(self.extents) * self.channels

    def add(self, layer, number, outputs=0):
        """The deck's layer of this number, from 1; outputs: those of a dense layer that does not say them."""
        name = layer.get("name", f"{layer['kind']}{number}")
        layer = DEFAULTS | layer
        for copy in range(1, layer["repeat"] + 1):
            self.add_one(layer, name if layer["repeat"] == 1 else f"{name}.{copy}", outputs)

    def add_one(self, layer, name, outputs):
        kind = layer["kind"]
        if kind == "dense":
            self.add_dense(layer, name, layer.get("outputs", outputs))
        elif kind == "conv":
            self.add_convolution(layer, name)
        elif kind in ("max_pool", "average_pool"):
            self.add_pool(layer, name)
        elif kind == "global_pool":
            if not self.operations:
                self.require_grid(name)  # of the samples; behind another layer a vector is a grid of one point
            self.append(name, kind, lambda x, own: x.reshape(len(x), -1, x.shape[-1]).mean(axis=1))
            self.extents = ()
        elif kind == "upsample":
            self.add_upsampling(layer, name)
        elif kind in ("add", "concat", "branch"):
            self.add_join(layer, name)
        elif kind == "attention":
            self.add_attention(layer, name)
        elif kind == "positions":
            self.require_grid(name)
            shape = (math.prod(self.extents), self.channels)
            self.append(name, kind, lambda x, own: x + own["weight"].reshape(x.shape[1:]), [("weight", shape, ("normal", 0.02))])
        elif layer["norm"] == "none" and (kind == "norm" or layer["activation"] == "none" and layer["dropout"] == 0):
            raise Impossible(name, "nothing to do")
        if layer["norm"] != "none":
            self.add_norm(layer, name if kind == "norm" else f"{name}.norm")
        # Dropout is not computed here.
        if layer["activation"] != "none" or layer["dropout"] > 0:
            self.append(name if kind == "activation" else f"{name}.activation", "activation",
                        lambda x, own, activation=layer["activation"]: activate(activation, x))
        self.places[name] = (len(self.operations), self.extents, self.channels)

    def add_residual(self):
        """model.residual."""
        self.append("residual", "add", lambda x, own: x + own["skip"].reshape(x.shape), skip=0)

    def finish(self):
        if self.left:
            raise Impossible(next(iter(self.left.values())), "read by no later layer")

    def append(self, *operation, **others):
        self.operations.append(Operation(*operation, **others))

    def require_grid(self, name):
        if not self.extents:
            raise Impossible(name, "a vector where a grid is wanted")
        return len(self.extents)

    def add_dense(self, layer, name, outputs):
        inputs = self.columns
        bound = 1 / math.sqrt(inputs)
        self.append(name, "linear", lambda x, own: x.reshape(len(x), -1) @ own["weight"].T + own["bias"],
                    [("weight", (outputs, inputs), bound), ("bias", (outputs,), bound)])
        self.extents, self.channels = (), outputs

    def add_convolution(self, layer, name):
        axes = self.require_grid(name)
        outputs, groups, n = layer["outputs"], layer["groups"], self.extents
        kernel, stride, dilation = (per_axis(layer, name, key, 1, axes) for key in ("kernel", "stride", "dilation"))
        centred = [(k - 1) * d // 2 for k, d in zip(kernel, dilation)]
        padding = per_axis(layer, name, "padding", centred, axes)
        if self.channels % groups or outputs % groups:
            raise Impossible(name, "groups do not divide")
        reach = [d * (k - 1) for k, d in zip(kernel, dilation)]
        if layer["transposed"]:
            more = [min(max(s + 2 * p - r - 1, 0), s - 1) for s, p, r in zip(stride, padding, reach)]
            m = [(e - 1) * s - 2 * p + r + 1 + o for e, s, p, r, o in zip(n, stride, padding, reach, more)]
        else:
            m = [(e + 2 * p - r - 1) // s + 1 for e, s, p, r in zip(n, stride, padding, reach)]
        edges = per_axis(layer, name, "edges", "zero", axes)
        if min(m) < 1:
            raise Impossible(name, f"{m} points")
        self.require_edges(name, edges, padding, m if layer["transposed"] else n)
        taps = list(itertools.product(*map(range, kernel)))
        few, many = (outputs, self.channels) if layer["transposed"] else (self.channels, outputs)
        shape = (many, len(taps) * few // groups)
        bound = 1 / math.sqrt(shape[1])
        numbers = taps, groups, stride, dilation, padding, edges
        whole = (*m, outputs)
        apply = (lambda x, own: transposed(x, own, whole, *numbers)) if layer["transposed"] else \
            (lambda x, own: convolved(x, own, whole, *numbers))
        bias = [("bias", (outputs,), bound)] if layer["bias"] else []
        self.append(name, "conv", apply, [("weight", shape, bound), *bias])
        self.extents, self.channels = tuple(m), outputs

    @staticmethod
    def require_edges(name, edges, padding, extents):
        least = [{"zero": -1, "periodic": 0, "reflect": 1, "pole": 0}[edge] for edge in edges]
        if any(l >= 0 and p + l > e for p, e, l in zip(padding, extents, least)):
            raise Impossible(name, f"{extents} points, padding {padding}")
        if "pole" in edges:
            has_meridians = edges.count("pole") == 1 and edges.count("periodic") == 1
            if not has_meridians or padding[edges.index("pole")] > 0 and extents[edges.index("periodic")] % 2:
                raise Impossible(name, f"edges {edges} on {extents}")

    def add_pool(self, layer, name):
        axes = self.require_grid(name)
        window = per_axis(layer, name, "kernel", 2, axes)
        stride = per_axis(layer, name, "stride", layer.get("kernel", 2), axes)
        padding = per_axis(layer, name, "padding", 0, axes)
        if any(p >= w or e + 2 * p < w for w, p, e in zip(window, padding, self.extents)):
            raise Impossible(name, "no window fits")
        m = [(e + 2 * p - w) // s + 1 for e, p, w, s in zip(self.extents, padding, window, stride)]
        edges = per_axis(layer, name, "edges", "zero", axes)
        beyond = [0 if edge == "zero" else p for edge, p in zip(edges, padding)]
        if set(edges) != {"zero"} and not any(beyond):
            raise Impossible(name, "edges without effect")
        self.require_edges(name, edges, beyond, self.extents)
        ignored = [p - b for p, b in zip(padding, beyond)]
        pool = layer["kind"]
        self.append(name, pool, lambda x, own: pooled(pool, extended(x, beyond, edges), m, window, stride, ignored))
        self.extents = tuple(m)

    def add_upsampling(self, layer, name):
        axes = self.require_grid(name)
        factor, between = per_axis(layer, name, "factor", 2, axes), layer["between"]
        edges = per_axis(layer, name, "edges", "zero", axes)
        if "pole" in edges or set(edges) != {"zero"} and between == "nearest":
            raise Impossible(name, f"edges {edges}, {between}")
        self.require_edges(name, edges, [int(f > 1) for f in factor], self.extents)
        self.append(name, "upsample", lambda x, own: finer(x, factor, between, edges))
        self.extents = tuple(e * f for e, f in zip(self.extents, factor))

    def add_attention(self, layer, name):
        self.require_grid(name)
        heads = layer["heads"]
        if self.channels % (3 * heads):
            raise Impossible(name, f"{self.channels} channels, {heads} heads")
        self.append(name, "attention", lambda x, own: attended(x, heads))
        self.channels //= 3

    def add_join(self, layer, name):
        kind, source = layer["kind"], layer.get("skip_from")
        if source not in self.places:
            raise Impossible(name, f"there is no {source} before it")
        boundary, extents, channels = self.places[source]
        here = len(self.operations)
        if boundary >= here:
            raise Impossible(name, f"{source} is its input")
        self.left.pop(boundary, None)
        if kind == "branch":
            self.left[here] = self.operations[-1].name
            self.append(name, kind, lambda x, own: own["skip"], skip=boundary)
            self.extents, self.channels = extents, channels
            return
        # A vector joins as a grid of one point.
        if [e for e in extents if e > 1] != [e for e in self.extents if e > 1] or \
                len(extents) == len(self.extents) and extents != self.extents:
            raise Impossible(name, f"{extents} beside {self.extents}")
        if kind == "add" and channels != self.channels:
            raise Impossible(name, f"{channels} channels to {self.channels}")
        self.append(name, kind, lambda x, own: joined(kind, x, own["skip"], layer["skip_first"]), skip=boundary)
        self.channels += channels if kind == "concat" else 0

    def add_norm(self, layer, name):
        kind, channels, groups = layer["norm"], self.channels, layer["norm_groups"]
        if kind == "groupnorm" and channels % groups:
            raise Impossible(name.removesuffix(".norm"), "norm_groups do not divide")
        if kind == "groupnorm" and channels == groups and math.prod(self.extents) == 1:
            raise Impossible(name.removesuffix(".norm"), "a group of one value has no deviation")
        parameters = [("weight", (channels,), None), ("bias", (channels,), None)]
        if kind == "batchnorm":
            self.momenta[name] = layer["norm_momentum"]
            self.append(name, kind, batch_normalised, parameters)
        elif kind == "groupnorm":
            self.append(name, kind, lambda x, own: group_normalised(x, groups, own["noise"]) * own["weight"] + own["bias"],
                        parameters)
        elif kind == "layernorm":
            self.append(name, kind, lambda x, own: standard(x, -1, own["noise"]) * own["weight"] + own["bias"], parameters)
        else:
            self.append(name, kind, lambda x, own: x / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) *
                        own["weight"], parameters[:1])

    def initial_weights(self, seed):
        weights = {}
        for operation in self.operations:
            for name, shape, bound in operation.parameters:
                path = f"{operation.name}/{name}"
                rows = shape if len(shape) == 2 else (1, *shape)
                if isinstance(bound, tuple):
                    weights[path] = (Stream(seed, INITIAL_WEIGHTS, path).normal(*rows) * numpy.float32(bound[1])).reshape(shape)
                    continue
                weights[path] = numpy.full(shape, 1.0 if name == "weight" else 0.0) if bound is None else \
                    ((2 * Stream(seed, INITIAL_WEIGHTS, path).uniform(*rows) - 1) * numpy.float32(bound)).reshape(shape)
        return weights

    def outputs(self, weights, x, shape, running=None, noise=None):
        """[samples, columns] -> [samples, outputs] and what each batch normalisation saw, by points. running: /buffers of
        a checkpoint, for evaluations; noise: a function of each result."""
        x = numpy.asarray(x, dtype=numpy.float64)
        results, seen = [x.reshape(len(x), *shape) if shape else x], {}
        for operation in self.operations:
            own = {name: weights[f"{operation.name}/{name}"] for name, _, _ in operation.parameters} | {"noise": noise}
            if operation.skip is not None:
                own["skip"] = results[operation.skip]
            if operation.kind == "batchnorm":
                seen[operation.name] = results[-1].reshape(-1, results[-1].shape[-1])
                if running is not None:
                    own["running"] = [running[f"{operation.name}/running_{of}"] for of in ("mean", "variance")]
            y = operation.apply(results[-1], own)
            results.append(noise(y) if noise else y)
        return results[-1].reshape(len(x), -1), seen


def loss_of(outputs, truth):
    """The mean over these samples: of the cross-entropy of labels, or of squared differences."""
    if truth.ndim == 2:
        return ((outputs - truth) ** 2).mean()
    shifted = outputs - outputs.max(axis=1, keepdims=True)
    return (numpy.log(numpy.exp(shifted).sum(axis=1)) - shifted[numpy.arange(len(truth)), truth]).mean()


def standard(x, axes, noise=None):
    mean = x.mean(axis=axes, keepdims=True)
    centred = x - mean
    root = numpy.sqrt((centred ** 2).mean(axis=axes, keepdims=True) + EPSILON)
    # Gradients take the mean's own rounding twice divided by the root; no difference of rounded losses knows of it.
    if noise and ((numpy.abs(mean) > MOST_DEVIATIONS * root) & (numpy.ptp(x, axis=axes, keepdims=True) > 0)).any():
        raise Amplified(f"a mean of {numpy.abs(mean / root).max():g} deviations")
    return centred / root


def group_normalised(x, groups, noise):
    parts = x.reshape(len(x), -1, groups, x.shape[-1] // groups)
    return standard(parts, (1, 3), noise).reshape(x.shape)


def batch_normalised(x, own):
    if "running" in own:
        mean, variance = own["running"]
        n = (x - mean) / numpy.sqrt(variance + EPSILON)
    else:
        n = standard(x, tuple(range(x.ndim - 1)), own["noise"])
    return n * own["weight"] + own["bias"]
