"""Random decks of networks listed layer by layer, with their data: each key of each kind, all types, and decks that are wrong
in one respect, with the words of which one must stand in the message.

Shapes are those of chain_oracle.py, so that what is drawn is known to fit or not.
"""
import math
import random

import numpy

from chain_mistakes import MISTAKES, names
from chain_oracle import ACTIVATIONS, Impossible, Network
from random_short_forms import draw_short_form
from support.decks import sections_text

MOST_COLUMNS = 900  # of a sample, anywhere in the network
KINDS = {"conv": 6, "max_pool": 1, "average_pool": 1, "global_pool": 0.5, "upsample": 1, "dense": 0.6, "norm": 1,
         "activation": 1, "add": 2, "concat": 1.5, "branch": 0.8, "attention": 3, "positions": 0.8}
TYPES = ["fp32", "bf16", "fp16"]


class Deck:
    """sections and layers: of the deck; arrays: of the data; expected: "runs", "refused" with one of `words` in the message,
    "either", or "fits": runs, or is refused for its memory."""

    def __init__(self, sections, layers, arrays, ranks=1):
        self.sections, self.layers, self.arrays, self.ranks = sections, layers, arrays, ranks
        self.expected, self.words, self.mistake, self.oracle = "runs", [], "", False

    def text(self):
        """With the layers behind [model]; what stands in a mistake's own words goes in as it is."""
        return sections_text(self.sections, self.layers)


def draw(seed, number, attempt, wants_oracle):
    source = random.Random(f"{seed} {number} {attempt}")
    numbers = numpy.random.default_rng(source.randrange(2 ** 32))
    if not wants_oracle and source.random() < 0.08:
        deck = short_form(source, numbers)
    else:
        deck = chain(source, numbers, wants_oracle)
    deck.oracle = wants_oracle
    if not wants_oracle and deck.expected == "runs" and source.random() < 0.28:
        change_for_the_worse(source, deck)
    return deck


def shape_of_samples(source):
    axes = source.choice([0, 1, 1, 2, 2, 2, 2, 3, 3])
    most = {0: 1, 1: 24, 2: 9, 3: 5}[axes]
    extents = [source.randint(min(2, axes), most) for _ in range(axes)]
    return [*extents, source.randint(1, 4)] if axes else []


def fewest_samples(batch, micro_batch, ranks):
    """Of any micro-batch: the last one of a rank has the fewest."""
    return min((share - 1) % micro_batch + 1 if micro_batch else share for share in (-(-batch // ranks), batch // ranks))


def chain(source, numbers, wants_oracle):
    while True:
        shape = shape_of_samples(source)
        inputs = math.prod(shape) if shape else source.randint(1, 30)
        outputs = source.randint(2, 6)
        batch = source.randint(2, 14)
        ranks = 1 if wants_oracle else source.choice([1] * 10 + [2, 2, 3])
        batch = max(batch, ranks)
        micro_batch = source.choice([0, 0, source.randint(1, batch)])
        rows = fewest_samples(batch, micro_batch, ranks)
        layers, network = [], Network(shape, inputs)
        wild = not wants_oracle and source.random() < 0.05 and rows > 1
        try:
            deck_layers(source, layers, network, rows, wants_oracle, wild)
            last_is_free = not layers or source.random() < 0.7 or network.columns > 300
            if last_is_free:
                # Its outputs are those of the data.
                layers.append({"kind": "dense"} | common(source, "dense", network, rows, wants_oracle, 0.1))
                network.add(layers[-1], len(layers), outputs)
            network.finish()
            if not any(operation.parameters for operation in network.operations):
                continue  # its checkpoints have no /model
        except Impossible as impossible:
            if wild:
                return finished(source, numbers, layers, shape, inputs, outputs, batch, micro_batch, ranks, wants_oracle,
                                network, impossible)
            continue
        if not last_is_free:
            outputs = network.columns
            if outputs < 2:
                continue
        return finished(source, numbers, layers, shape, inputs, outputs, batch, micro_batch, ranks, wants_oracle, network)


def deck_layers(source, layers, network, rows, plain, wild):
    for _ in range(source.randint(1, 9)):
        for _ in range(20):
            layer = draw_layer(source, layers, network, rows, plain)
            if wild or fits(layers, layer, network, rows):
                break
        else:
            continue
        layers.append(layer)
        network.add(layer, len(layers))
        if network.columns > MOST_COLUMNS:
            raise Impossible("", "too large")
    # What a branch left must be read again.
    for boundary in list(network.left):
        name = next(name for name, place in network.places.items() if place[0] == boundary)
        layers.append({"kind": "concat", "skip_from": name})
        network.add(layers[-1], len(layers))


def fits(layers, layer, network, rows):
    """Tried on a copy."""
    copy = Network([], 1)
    copy.extents, copy.channels = network.extents, network.channels
    copy.places, copy.operations, copy.left = dict(network.places), list(network.operations), dict(network.left)
    try:
        copy.add(layer, len(layers) + 1)
    except Impossible:
        return False
    if copy.columns > MOST_COLUMNS or layer["kind"] == "branch" and layer.get("repeat", 1) > 1:
        return False
    has_values = layer.get("norm") != "batchnorm" or rows > 1 or math.prod(copy.extents) > 1
    names = [operation.name for operation in copy.operations]
    return has_values and len(set(names)) == len(names)


def draw_layer(source, layers, network, rows, plain):
    kind = source.choices(list(KINDS), list(KINDS.values()))[0]
    if not network.extents and kind in ("conv", "max_pool", "average_pool", "upsample", "attention", "positions") or not layers and kind in (
            "add", "concat", "branch"):
        kind = source.choice(["dense", "activation", "norm"])
    layer, axes = {"kind": kind}, max(1, len(network.extents))

    def numbers(key, low, high, share):
        if source.random() < share:
            layer[key] = source.randint(low, high) if source.random() < 0.5 else \
                [source.randint(low, high) for _ in range(axes)]

    if kind == "dense":
        layer["outputs"] = source.randint(1, 24)
    elif kind == "conv":
        draw_convolution(source, layer, network, numbers)
    elif kind in ("max_pool", "average_pool"):
        numbers("kernel", 1, 3, 0.7)
        numbers("stride", 1, 3, 0.5)
        numbers("padding", 0, 1, 0.4)
        draw_edges(layer, network, "padding" in layer)
    elif kind == "upsample":
        numbers("factor", 1, 3, 0.6)
        if source.random() < 0.5:
            layer["between"] = source.choice(["nearest", "linear"])
        draw_edges(layer, network, layer.get("between") == "linear")
    elif kind == "attention":
        third = network.channels // 3
        layer["heads"] = source.choice([h for h in range(1, third + 1) if third % h == 0] or [1])
    elif kind in ("add", "concat", "branch"):
        waiting = [name for name, place in network.places.items() if place[0] in network.left]
        layer["skip_from"] = source.choice(waiting * 4 + list(network.places))
        if kind == "concat" and len(layers) % 2 == 1:
            layer["skip_first"] = True
    if kind == "norm":
        layer["norm"] = source.choice(["layernorm", "rmsnorm", "groupnorm", "batchnorm"])
    elif kind == "activation":
        layer["activation"] = source.choice(ACTIVATIONS)
    return layer | common(source, kind, network, rows, plain, 0.4, layer)


def draw_convolution(source, layer, network, numbers):
    channels = network.channels
    groups = source.choice([1, 1, 1, channels, source.choice([g for g in range(1, channels + 1) if channels % g == 0])])
    layer["outputs"] = groups * source.randint(1, max(1, 8 // groups))
    if groups > 1 or source.random() < 0.1:
        layer["groups"] = groups
    numbers("kernel", 1, source.choice([3, 3, 3, 5]), 0.85)
    numbers("stride", 1, source.choice([2, 2, 3]), 0.35)
    numbers("padding", 0, 2, 0.3)
    numbers("dilation", 1, 2, 0.2)
    if source.random() < 0.4:
        layer["edges"] = edges_by_axis(layer, len(network.extents)) or source.choice(["zero", "periodic", "reflect"])
    if source.random() < 0.2:
        layer["transposed"] = True
    if source.random() < 0.25:
        layer["bias"] = source.choice([True, False])


def draw_edges(layer, network, has_effect):
    """Of pools and interpolations, for half of those on which they have an effect."""
    source = random.Random(repr(layer))
    if has_effect and source.random() < 0.5:
        layer["edges"] = edges_by_axis(layer, len(network.extents)) or source.choice(["periodic", "reflect"])


def edges_by_axis(layer, axes):
    """A list for some layers; on a plane or in a volume often with poles."""
    source = random.Random(repr(layer))
    if axes == 0 or source.random() < 0.5:
        return None
    edges = [source.choice(["zero", "periodic", "reflect"]) for _ in range(axes)]
    if axes > 1 and source.random() < 0.6:
        edges = [source.choice(["zero", "reflect"]) for _ in range(axes)]
        pole, around = source.sample(range(axes), 2)
        edges[pole], edges[around] = "pole", "periodic"
    return edges


def common(source, kind, network, rows, plain, share, layer=None):
    """The keys that all kinds have."""
    found, own = {}, layer or {}
    if kind != "norm" and source.random() < share:
        found["norm"] = source.choice(["layernorm", "rmsnorm", "groupnorm", "batchnorm", "batchnorm"])
        if layer is None and rows == 1 and found["norm"] == "batchnorm":
            found["norm"] = "rmsnorm"  # the last dense layer has one value of each
    norm = own.get("norm", found.get("norm"))
    channels = own.get("outputs", network.channels)
    if norm == "groupnorm" and (channels != 8 or math.prod(network.extents) == 1 or source.random() < 0.3):
        # A group of one value has no deviation.
        found["norm_groups"] = source.choice([g for g in range(1, channels + 1) if channels % g == 0 and 2 * g <= channels] or [1])
    if norm == "batchnorm":
        if source.random() < 0.3:
            found["norm_over"] = source.choice(["micro_batch", "ranks"])
        if source.random() < 0.3:
            found["norm_momentum"] = source.choice([1, 0.5, 0.01, round(source.uniform(0.01, 1), 4)])
    if kind != "activation" and source.random() < share:
        found["activation"] = source.choice([*ACTIVATIONS, "relu", "none"])
    if not plain and source.random() < 0.12:
        found["dropout"] = source.choice([0, 0.1, 0.5, 0.9])
    if share > 0.2 and source.random() < 0.4:
        found["name"] = source.choice(["stem", "a b", "Schicht", "x.y", "down1", "früh", "conv", "relu"]) + \
            str(source.randint(0, 999))
    if share > 0.2 and source.random() < 0.1:
        found["repeat"] = source.choice([1, 2, 2, 3])
    return found


def arrays_of(source, numbers, loss, inputs, outputs, batch):
    samples = 2 * batch + source.randint(0, 9)
    if source.random() < 0.1:
        values = numbers.integers(0, 256, (samples, inputs), dtype="u1")
    else:
        values = (numbers.standard_normal((samples, inputs)) * source.uniform(0.5, 1.5) + source.uniform(-1, 1)).astype("f4")
    if loss == "mse":
        return {"inputs": values, "targets": numbers.standard_normal((samples, outputs)).astype("f4")}
    return {"inputs": values, "labels": numbers.integers(0, outputs, samples).astype("i4"), "classes": outputs}


def finished(source, numbers, layers, shape, inputs, outputs, batch, micro_batch, ranks, plain, network, impossible=None):
    loss = source.choice(["cross_entropy", "mse"])
    arrays = arrays_of(source, numbers, loss, inputs, outputs, batch)
    compute = "fp32" if plain else source.choice(TYPES)
    normalize = source.choice(["none", "standard", "minmax"])
    if arrays["inputs"].dtype == numpy.uint8:
        normalize = "standard"  # numbers up to 255 would take the steps far away
    data = {"train": "data.h5", "test": "test.h5", "batch": batch, "micro_batch": micro_batch, "normalize": normalize}
    if shape:
        data["shape"] = shape
    sections = {"run": {"peak_flops": 1e12, "steps": 2, "seed": source.randrange(2 ** 63), "folder": "run"}, "data": data,
                "model": {"type": "chain", "loss": loss}, "precision": {"compute": compute},
                "memory": {"recompute": "auto", "times": "model"}, "optimizer": {}, "checkpoint": {"every": 1, "keep_last": 0}}
    deck = Deck(sections, layers, arrays, ranks)
    if plain:
        sections["optimizer"] = {"type": "sgd", "momentum": 0.0, "lr": 0.05, "weight_decay": 0.0}
    else:
        draw_run(source, deck, network)
    if impossible:
        # It may be impossible in more than one respect.
        deck.expected, deck.words, deck.mistake = "refused", [impossible.layer, *names(deck)], "wild"
    return deck


def draw_run(source, deck, network):
    """What does not belong to the network."""
    sections, micro_batch = deck.sections, deck.sections["data"]["micro_batch"]
    precision, memory = sections["precision"], sections["memory"]
    sections["optimizer"] = {"type": source.choice(["adamw", "adam", "lamb", "lion", "sgd"]), "lr": source.choice([1e-2, 1e-3])}
    if source.random() < 0.3:
        sections["optimizer"]["clip_norm"] = 0.5
    if source.random() < 0.15:
        sections["optimizer"]["average"] = 0.9
    if deck.ranks > 1:
        shards = ["none", "state"] + (["gradients"] if micro_batch == 0 else [])
        sections["optimizer"]["shard"] = source.choice(shards)
    if source.random() < 0.3:
        precision["gradient"] = source.choice(["auto", "compute", "fp32"])
    if precision["compute"] != "fp32" and source.random() < 0.2:
        precision["masters"] = "none"
    if source.random() < 0.3:
        operations = [operation for operation in network.operations if operation.kind in ("conv", "linear", "batchnorm", "positions")]
        kinds = [operation.kind for operation in operations]
        names = [operation.name for operation in operations]
        choices = ["*", *kinds, *names]
        precision["rules"] = {source.choice(choices): source.choice(TYPES) for _ in range(source.randint(1, 2))}
    last = source.randrange(len(deck.layers))  # each layer is a block or more
    groups = source.choice([[[0, last]], [[last, last]], [[first, first] for first in range(last + 1)]])
    memory["recompute"] = source.choice(["auto", "auto", "none", "all", f"every {source.randint(1, 4)}", groups])
    if source.random() < 0.08:
        memory["budget"] = f"{source.randint(20, 80)} MiB"
        deck.expected = "fits"


def short_form(source, numbers):
    model, shape, outputs = draw_short_form(source)
    batch = source.randint(2, 8)
    arrays = arrays_of(source, numbers, "mse", math.prod(shape), outputs, batch)
    sections = {"run": {"peak_flops": 1e12, "steps": 2, "seed": 3, "folder": "run"},
                "data": {"train": "data.h5", "test": "test.h5", "batch": batch, "shape": shape, "normalize": "standard"},
                "model": model, "precision": {"compute": source.choice(TYPES)},
                "memory": {"recompute": source.choice(["auto", "all", "every 3"]), "times": "model"}, "optimizer": {"lr": 1e-3},
                "checkpoint": {"every": 1, "keep_last": 0}}
    deck = Deck(sections, [], arrays)
    deck.expected, deck.words = "either", ["layer '", "last layer, '", "model.", "data."]
    return deck


def change_for_the_worse(source, deck):
    """One mistake, of those that can be made here."""
    for mistake in source.sample(MISTAKES, len(MISTAKES)):
        words = mistake(source, deck)
        if words:
            deck.expected, deck.words, deck.mistake = "refused", words, mistake.__name__
            return
