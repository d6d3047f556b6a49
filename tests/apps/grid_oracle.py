"""Layers of chains without weights in NumPy and double, on [samples, *extents, channels] (chain_oracle.py)."""
import itertools
import math

import numpy

from convolution_oracle import window_at


def joined(kind, x, skip, skip_first):
    skip = skip.reshape(*x.shape[:-1], skip.shape[-1])
    return x + skip if kind == "add" else numpy.concatenate([skip, x] if skip_first else [x, skip], axis=-1)


def attended(x, heads):
    q, k, v = x.reshape(len(x), -1, 3, heads, x.shape[-1] // (3 * heads)).transpose(2, 0, 3, 1, 4)
    scores = numpy.einsum("bhic,bhjc->bhij", q, k) / math.sqrt(q.shape[-1])
    powers = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    mean = numpy.einsum("bhij,bhjc->bihc", powers / powers.sum(axis=-1, keepdims=True), v)
    return mean.reshape(*x.shape[:-1], -1)


def pooled(kind, x, counts, window, stride, padding):
    """Of points of the grid alone."""
    edges = [(0, 0), *((p, p) for p in padding), (0, 0)]
    taps = itertools.product(*map(range, window))
    ones = [1] * len(window)
    if kind == "max_pool":
        padded = numpy.pad(x, edges, constant_values=-numpy.inf)
        return numpy.maximum.reduce([padded[window_at(tap, stride, counts, ones)] for tap in taps])
    padded, inside = numpy.pad(x, edges), numpy.pad(numpy.ones_like(x), edges)
    places = [window_at(tap, stride, counts, ones) for tap in taps]
    return sum(padded[place] for place in places) / sum(inside[place] for place in places)


def finer(x, factor, between, edges):
    for axis, (f, edge) in enumerate(zip(factor, edges), start=1):
        n = x.shape[axis]
        new = numpy.arange(n * f)
        if between == "nearest":
            x = x.take(new // f, axis=axis)
            continue
        place = (new + 0.5) / f - 0.5
        below = numpy.floor(place).astype(int)
        share = (place - below).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
        inside = {"zero": lambda i: numpy.clip(i, 0, n - 1), "periodic": lambda i: i % n,
                  "reflect": lambda i: n - 1 - abs(n - 1 - abs(i)) if f > 1 else numpy.clip(i, 0, n - 1)}[edge]
        x = x.take(inside(below), axis=axis) * (1 - share) + x.take(inside(below + 1), axis=axis) * share
    return x
