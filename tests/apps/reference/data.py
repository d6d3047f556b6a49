"""Which samples a step takes, and in what form: docs/reference/formulas.md."""
import math

import numpy

from reference.random_numbers import ORDER, Stream, permutation

BLOCK_BYTES = 1 << 20
WINDOW_BLOCKS = 64


def half_up(value):
    return math.floor(value + 0.5)


class Samples:
    """Inputs and labels or targets, of which step s takes a batch."""

    def __init__(self, data, seed, inputs, truth):
        self.data, self.seed = data, seed
        self.count = len(inputs) - half_up(data["validation"] * len(inputs))
        self.inputs = normalised(data["normalize"], inputs, self.count, 0.0)
        self.truth = truth if truth.ndim == 1 else normalised(data["normalize"], truth, self.count, 1.0)
        self.sample_bytes = inputs[0].nbytes
        batch = data["batch"]
        self.epoch_length = self.count // batch * batch if data["last_batch"] == "drop" else self.count
        self.orders = {}

    def steps_of(self, epochs):
        return -(-epochs * self.epoch_length // self.data["batch"])

    def batch(self, step):
        first = step * self.data["batch"]
        chosen = [self.sample_at(position) for position in range(first, first + self.data["batch"])]
        return self.inputs[chosen], self.truth[chosen]

    def sample_at(self, position):
        epoch = position // self.epoch_length
        if epoch not in self.orders:
            self.orders[epoch] = self.order_of(epoch)
        return self.orders[epoch][position % self.epoch_length]

    def order_of(self, epoch):
        stream = Stream(self.seed, ORDER, "samples")
        key = stream.wide(epoch, 0)
        if self.data["shuffle"] == "samples":
            return permutation(self.count, key)
        size = max(1, BLOCK_BYTES // self.sample_bytes)
        blocks = [range(first, min(first + size, self.count)) for first in range(0, self.count, size)]
        blocks = [blocks[i] for i in permutation(len(blocks), key)]
        order = []
        for window, first in enumerate(range(0, len(blocks), WINDOW_BLOCKS)):
            within = [sample for block in blocks[first:first + WINDOW_BLOCKS] for sample in block]
            order += [within[i] for i in permutation(len(within), stream.wide(epoch, 1 + window))]
        return order


def normalised(method, values, count, constant_scale):
    """By the statistics of the first `count` rows."""
    values = values.astype(numpy.float64)
    if method == "none":
        return values
    train = values[:count]
    low, high = train.min(axis=0), train.max(axis=0)
    shift, spread = (train.mean(axis=0), train.std(axis=0)) if method == "standard" else (low, high - low)
    constant = spread <= 2.0 ** -23 * numpy.maximum(numpy.abs(low), numpy.abs(high))
    scale = numpy.where(constant, constant_scale, 1 / numpy.where(constant, 1.0, spread))
    return (values - shift) * scale


class Windows:
    """Tokens, of which step s takes a batch of windows and the tokens that follow."""

    def __init__(self, data, seed, tokens, context):
        self.data, self.seed, self.context = data, seed, context
        self.tokens = tokens[:len(tokens) - half_up(data["validation"] * len(tokens))].astype(numpy.int64)
        self.epoch_length = (len(self.tokens) - 1) // context

    def steps_of(self, epochs):
        return -(-epochs * self.epoch_length // self.data["batch"])

    def batch(self, step):
        first = step * self.data["batch"]
        starts = [self.start_at(position) for position in range(first, first + self.data["batch"])]
        windows = numpy.stack([self.tokens[start:start + self.context + 1] for start in starts])
        return windows[:, :-1], windows[:, 1:]

    def start_at(self, position):
        if self.data["window"] == "sequential":
            return position % self.epoch_length * self.context
        random = Stream(self.seed, ORDER, "windows").wide(position >> 32, position & 0xFFFFFFFF)
        return random * (len(self.tokens) - self.context) >> 64
