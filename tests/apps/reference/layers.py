"""The parts of networks, forward and backward, in double, as docs/reference/formulas.md gives them.

Each function returns its output and a function from the output's gradient to the gradients of its arguments.
"""
import math

import numpy

EPSILON = 1e-5  # of norms
erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def linear(x, weight, bias=None):
    y = x @ weight.T
    if bias is not None:
        y = y + bias

    def backward(dy):
        rows = dy.reshape(-1, dy.shape[-1])
        return dy @ weight, rows.T @ x.reshape(-1, x.shape[-1]), rows.sum(axis=0)
    return y, backward


def normal_density(x):
    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def activation(name, x):
    if name == "relu":
        y, slope = numpy.maximum(x, 0), (x > 0) * 1.0
    elif name == "gelu":
        below = (1 + erf(x / math.sqrt(2))) / 2
        y, slope = x * below, below + x * normal_density(x)
    elif name == "gelu_tanh":
        root = math.sqrt(2 / math.pi)
        t = numpy.tanh(root * (x + 0.044715 * x ** 3))
        y, slope = x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) / 2 * root * (1 + 3 * 0.044715 * x * x)
    elif name == "tanh":
        y = numpy.tanh(x)
        slope = 1 - y * y
    elif name == "silu":
        s = 1 / (1 + numpy.exp(-x))
        y, slope = x * s, s + x * s * (1 - s)
    else:
        assert name == "none", name
        y, slope = x, numpy.ones_like(x)
    return y, lambda dy: dy * slope


def norm(kind, x, weight, bias=None):
    centre = x.mean(axis=-1, keepdims=True) if kind == "layernorm" else 0.0
    inverse = 1 / numpy.sqrt(((x - centre) ** 2).mean(axis=-1, keepdims=True) + EPSILON)
    n = (x - centre) * inverse
    y = n * weight + (0 if bias is None else bias)

    def backward(dy):
        g = dy * weight
        dx = g - n * (g * n).mean(axis=-1, keepdims=True)
        if kind == "layernorm":
            dx = dx - g.mean(axis=-1, keepdims=True)
        over = tuple(range(dy.ndim - 1))
        return dx * inverse, (dy * n).sum(axis=over), dy.sum(axis=over)
    return y, backward


def attention(qkv, heads, rotary):
    """qkv [samples, length, 3 width] -> [samples, length, width]."""
    samples, length, triple = qkv.shape
    d = triple // 3 // heads
    q, k, v = qkv.reshape(samples, length, 3, heads, d).transpose(2, 0, 3, 1, 4)
    turn = turning(length, d) if rotary else (lambda x, direction: x)
    q, k = turn(q, 1), turn(k, 1)
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(d)
    scores = numpy.where(numpy.tri(length, dtype=bool), scores, -numpy.inf)
    weights = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)

    def joined(x):
        return x.transpose(0, 2, 1, 3).reshape(samples, length, heads * d)

    def backward(dy):
        dy = dy.reshape(samples, length, heads, d).transpose(0, 2, 1, 3)
        d_weights = dy @ v.transpose(0, 1, 3, 2)
        d_scores = weights * (d_weights - (d_weights * weights).sum(axis=-1, keepdims=True)) / math.sqrt(d)
        dq, dk = turn(d_scores @ k, -1), turn(d_scores.transpose(0, 1, 3, 2) @ q, -1)
        dv = weights.transpose(0, 1, 3, 2) @ dy
        return numpy.concatenate([joined(dq), joined(dk), joined(dv)], axis=-1)
    return joined(weights @ v), backward


def turning(length, d):
    """A function that turns [..., length, d] by its places' angles, forwards (1) or back (-1)."""
    angles = numpy.arange(length)[:, None] * 10000.0 ** (-2 * numpy.arange(d // 2) / d)

    def turn(x, direction):
        a, b = x[..., :d // 2], x[..., d // 2:]
        cos, sin = numpy.cos(angles), direction * numpy.sin(angles)
        return numpy.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
    return turn


def cross_entropy(logits, labels):
    """The mean over all rows, and the logits' gradient."""
    flat, labels = logits.reshape(-1, logits.shape[-1]), numpy.asarray(labels).reshape(-1)
    shifted = flat - flat.max(axis=-1, keepdims=True)
    sums = numpy.exp(shifted).sum(axis=-1, keepdims=True)
    rows = numpy.arange(len(labels))
    loss = (numpy.log(sums[:, 0]) - shifted[rows, labels]).mean()
    gradient = numpy.exp(shifted) / sums
    gradient[rows, labels] -= 1
    return loss, (gradient / len(labels)).reshape(logits.shape)


def squared_error(outputs, targets):
    return ((outputs - targets) ** 2).mean(), 2 * (outputs - targets) / outputs.size
