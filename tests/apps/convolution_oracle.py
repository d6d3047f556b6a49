"""Convolutions in NumPy and double, and the points beyond the edges of a grid: from docs/reference/formulas.md alone."""
import math

import numpy

PAD_MODES = {"zero": "constant", "periodic": "wrap", "reflect": "reflect", "pole": "symmetric"}


def window_at(tap, step, counts, spread):
    """Where a tap sees the points of a padded grid, one for each of the output's."""
    return (slice(None), *(slice(t * d, t * d + s * (m - 1) + 1, s) for t, s, m, d in zip(tap, step, counts, spread)))


def by_groups(x, groups):
    return x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)


def extended(x, padding, edges):
    """With the points beyond the edges of each axis. The rows beyond a pole are mirrored, then turned by half of the periodic axis, which
    is not yet extended."""
    for axis in sorted(range(len(edges)), key=lambda axis: edges[axis] != "pole"):
        p, n = padding[axis], x.shape[axis + 1]
        x = numpy.pad(x, [(p, p) if a == axis + 1 else (0, 0) for a in range(x.ndim)], mode=PAD_MODES[edges[axis]])
        if edges[axis] == "pole":
            around = edges.index("periodic") + 1
            turned = numpy.roll(x, x.shape[around] // 2, around)
            beyond = [*range(p), *range(p + n, n + 2 * p)]
            rows = (slice(None),) * (axis + 1) + (beyond,)
            x = x.copy()
            x[rows] = turned[rows]
    return x


def convolved(x, own, whole, taps, groups, stride, dilation, padding, edges):
    padded = extended(x, padding, edges)
    weight = own["weight"].reshape(groups, whole[-1] // groups, len(taps), -1)
    y = 0
    for number, tap in enumerate(taps):
        seen = by_groups(padded[window_at(tap, stride, whole[:-1], dilation)], groups)
        y = y + numpy.einsum("...ge,gce->...gc", seen, weight[:, :, number])
    return y.reshape(len(x), *whole) + own.get("bias", 0)


def transposed(x, own, whole, taps, groups, stride, dilation, padding, edges):
    """What the convolution of `whole` to x gathers goes back where it came from; from beyond the edges, to what lies
    there."""
    wide = numpy.zeros((len(x), *(m + 2 * p for m, p in zip(whole, padding)), whole[-1]))
    weight = own["weight"].reshape(groups, x.shape[-1] // groups, len(taps), -1)
    for number, tap in enumerate(taps):
        given = numpy.einsum("...ge,gec->...gc", by_groups(x, groups), weight[:, :, number])
        wide[window_at(tap, stride, x.shape[1:-1], dilation)] += given.reshape(*x.shape[:-1], whole[-1])
    points = math.prod(whole[:-1])
    stands_for = extended(numpy.arange(1, points + 1).reshape(1, *whole[:-1], 1), padding, edges).ravel()  # 0: for none
    folded = numpy.zeros((points + 1, len(x), whole[-1]))
    numpy.add.at(folded, stands_for, numpy.moveaxis(wide.reshape(len(x), -1, whole[-1]), 0, 1))
    return numpy.moveaxis(folded[1:], 0, 1).reshape(len(x), *whole) + own.get("bias", 0)
