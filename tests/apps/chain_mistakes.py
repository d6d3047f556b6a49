"""Mistakes in a deck that was right: each function makes one, and returns the words of which one must be in the message, or
None where it cannot be made here."""
import functools


def names(deck):
    return [layer.get("name", f"{layer['kind']}{number}") for number, layer in enumerate(deck.layers, start=1)]


def some(source, deck, *kinds):
    """The number, from 0, of a layer of these kinds."""
    found = [number for number, layer in enumerate(deck.layers) if layer["kind"] in kinds or not kinds]
    return source.choice(found) if found else None


def in_layer(*kinds):
    """Of a mistake in a layer of one of these kinds, of any without: it gets the layer and the words by which messages name it."""
    def chosen(mistake):
        @functools.wraps(mistake)
        def in_deck(source, deck):
            number = some(source, deck, *kinds)
            return None if number is None else mistake(source, deck, deck.layers[number], f"layer '{names(deck)[number]}")
        return in_deck
    return chosen


def axes(deck):
    return len(deck.sections["data"].get("shape", [0])) - 1


def insert_first(deck, *layers):
    """In front of all others, which then have other numbers: those that are read by their number are not."""
    if any("skip_from" in layer for layer in deck.layers):
        return False
    deck.layers[:0] = layers
    return True


def unknown_key(source, deck):
    key = source.choice(["kernl", "Kind", "strides", "fn", "activations", "norm.groups2", "skip"]).replace(".", "_")
    deck.layers[some(source, deck)][key] = source.choice([1, "relu", True, [1]])
    return [f"'{key}'"]


def wrong_type(source, deck):
    key, value = source.choice([("activation", 1), ("norm", True), ("dropout", "much"), ("repeat", 2.5), ("name", 7),
                                ("activation", ["relu"]), ("dropout", [0.5]), ("repeat", "two"), ("kind", 3)])
    deck.layers[some(source, deck)][key] = value
    return [f"with {key} = "]


def out_of_range(source, deck):
    key, value = source.choice([("dropout", 1), ("dropout", -0.1), ("repeat", 0), ("repeat", 1001), ("name", ""),
                                ("name", "a/b"), ("norm_groups", 0), ("norm_momentum", 0), ("norm_momentum", 1.5),
                                ("activation", "swish"), ("norm", "instancenorm"), ("kind", "softmax"),
                                ("norm_over", "world"), ("dropout", 1e300), ("repeat", 9223372036854775807)])
    deck.layers[some(source, deck)][key] = value
    return [f"with {key} = "]


@in_layer("conv")
def wrong_in_a_convolution(source, deck, layer, place):
    key, value = source.choice([("kernel", 0), ("kernel", -1), ("kernel", 2.5), ("kernel", [1, 1, 1, 1]), ("kernel", []),
                                ("kernel", [1, "a"]), ("stride", 0), ("stride", [[1]]), ("padding", -1), ("dilation", 0),
                                ("groups", 0), ("edges", "mirror"), ("bias", 1), ("transposed", "yes"), ("outputs", 0),
                                ("outputs", "many"), ("outputs", 2 ** 40), ("kernel", 2000), ("padding", [0, 0, 0, 0, 0])])
    layer[key] = value
    return [f"with {key} = "]


@in_layer("conv", "max_pool", "average_pool", "upsample")
def numbers_for_other_axes(source, deck, layer, place):
    key = "factor" if layer["kind"] == "upsample" else source.choice(["kernel", "stride", "padding"])
    layer[key] = [1] * source.choice([n for n in (2, 3) if n != axes(deck)])
    return [place, f"as '{key}'"]


def without_kind(source, deck):
    number = some(source, deck)
    del deck.layers[number]["kind"]
    return [f"layer {number + 1} without 'kind'"]


@in_layer("conv")
def without_outputs(source, deck, layer, place):
    del layer["outputs"]
    return [f"{place}' needs 'outputs'"]


@in_layer("conv")
def groups_that_do_not_divide(source, deck, layer, place):
    layer["groups"] = layer["outputs"] + source.randint(1, 5)
    return [place]


@in_layer("conv")
def kernel_wider_than_the_grid(source, deck, layer, place):
    if layer.get("transposed"):
        return None
    layer |= {"kernel": 1001, "padding": 0}
    return [place]


@in_layer("max_pool", "average_pool")
def window_wider_than_the_grid(source, deck, layer, place):
    layer |= source.choice([{"kernel": 1001, "padding": 0}, {"kernel": 1, "padding": 1}])
    return [place]


@in_layer("conv")
def reflects_too_far(source, deck, layer, place):
    if layer.get("transposed"):
        return None
    layer |= {"edges": source.choice(["reflect", "periodic"]), "padding": 1000}
    return [place]


@in_layer("conv")
def transposed_to_nothing(source, deck, layer, place):
    layer |= {"transposed": True, "padding": 1000, "edges": "zero"}
    return [place]


def reads_no_layer(source, deck):
    number = some(source, deck, "add", "concat", "branch")
    if number is None:
        return None
    deck.layers[number]["skip_from"] = source.choice(["nowhere", names(deck)[number], *names(deck)[number:]])
    return [f"layer '{names(deck)[number]}"]


@in_layer("add", "concat", "branch")
def reads_nothing(source, deck, layer, place):
    del layer["skip_from"]
    return [place]


def reads_its_input(source, deck):
    layer = {"kind": source.choice(["add", "concat", "branch"]), "skip_from": "input", "name": "first of all"}
    return ["layer 'first of all'"] if insert_first(deck, layer) else None


def adds_another_shape(source, deck):
    channels = deck.sections["data"]["shape"][-1] if axes(deck) > 0 else 3
    wider = {"kind": "conv" if axes(deck) > 0 else "dense", "outputs": channels + 4096, "name": "wide"}
    narrow = wider | {"outputs": 3, "name": "narrow"}
    return ["layer 'sum'"] if insert_first(deck, wider, narrow, {"kind": "add", "skip_from": "wide", "name": "sum"}) else None


def sets_other_points_beside(source, deck):
    if axes(deck) < 1:
        return None
    fine = {"kind": "upsample", "name": "fine", "factor": 2}
    join = {"kind": source.choice(["add", "concat"]), "skip_from": "input", "name": "both"}
    return ["layer 'both'"] if insert_first(deck, fine, join) else None


def one_value_of_a_channel(source, deck):
    alone = {"kind": "dense", "outputs": 3, "norm": "batchnorm", "name": "alone"}
    if axes(deck) > 0 or not insert_first(deck, alone):
        return None
    deck.sections["data"]["micro_batch"] = 1
    return ["layer 'alone.norm'"]


def grid_behind_a_vector(source, deck):
    layer = {"kind": source.choice(["conv", "max_pool", "average_pool", "upsample"]), "name": "late"}
    if layer["kind"] == "conv":
        layer["outputs"] = 3
    flat = source.choice([{"kind": "dense", "outputs": 7}, {"kind": "global_pool"}])
    return ["layer 'late'"] if insert_first(deck, flat, layer) else None


def other_outputs_than_the_data(source, deck):
    deck.layers.append({"kind": "dense", "outputs": 5555, "name": "last one"})
    return ["'last one'", "needs 'outputs'"]  # of the layer that was the last


def another_shape_than_the_data(source, deck):
    if axes(deck) < 1:
        return None
    shape = deck.sections["data"]["shape"]
    deck.sections["data"]["shape"] = source.choice([[1, 1, 1, *shape], [2, 3, 4, 5, 6], [shape[0] + 1, *shape[1:]], [0, 3], [],
                                                    [268435456] * 4, "28x28", [shape[0] + 0.5, 1], [-1, -3]])
    return ["data.shape"]


def one_name_twice(source, deck):
    if not insert_first(deck, {"kind": "activation", "activation": "relu", "name": "twin"},
                        {"kind": "activation", "activation": "tanh", "name": "twin"}):
        return None
    return ["both named 'twin'"]


def one_block_twice(source, deck):
    pair = {"kind": "norm", "norm": "layernorm", "name": "twin.norm"}, \
        {"kind": "global_pool", "norm": "layernorm", "name": "twin"}
    return ["'twin.norm'"] if insert_first(deck, *pair) else None


def the_input_as_a_name(source, deck):
    return ["'input'"] if insert_first(deck, {"kind": "activation", "activation": "relu", "name": "input"}) else None


def key_of_another_kind(source, deck):
    number = some(source, deck)
    kind = deck.layers[number]["kind"]
    keys = [key for key, kinds in {"kernel": ("conv", "max_pool", "average_pool"), "factor": ("upsample",), "groups": ("conv",),
                                   "skip_from": ("add", "concat", "branch"), "outputs": ("conv", "dense"),
                                   "bias": ("conv",), "edges": ("conv",), "between": ("upsample",)}.items()
            if kind not in kinds]
    key = source.choice(keys)
    deck.layers[number][key] = {"skip_from": "input", "edges": "zero", "between": "linear", "bias": True}.get(key, 2)
    return [f"'{key}'"]


def key_of_another_norm(source, deck):
    number = some(source, deck)
    layer = deck.layers[number]
    key, value, norm = source.choice([("norm_groups", 1, "groupnorm"), ("norm_over", "ranks", "batchnorm"),
                                      ("norm_momentum", 0.5, "batchnorm")])
    if layer.get("norm") == norm:
        return None
    layer[key] = value
    return [f"'{key}', which only norm"]


def norm_groups_that_do_not_divide(source, deck):
    layer = {"kind": "norm", "norm": "groupnorm", "norm_groups": 4999, "name": "uneven"}
    return ["layer 'uneven'"] if insert_first(deck, layer) else None


def nothing_to_do(source, deck):
    layer = {"kind": source.choice(["norm", "activation"]), "name": "idle"}
    return ["layer 'idle'"] if insert_first(deck, layer) else None


def a_branch_that_nobody_reads(source, deck):
    layers = {"kind": "norm", "norm": "rmsnorm", "name": "lost"}, {"kind": "branch", "skip_from": "input"}
    return ["'lost'"] if insert_first(deck, *layers) else None


def key_of_another_network(source, deck):
    key, value = source.choice([("hidden", [3]), ("activation", "relu"), ("norm", "layernorm"), ("dropout", 0.1), ("heads", 2),
                                ("channels", [4]), ("blocks", 2), ("kernel", 3), ("fields", 1), ("width", 8), ("tied", True)])
    deck.sections["model"][key] = value
    return [f"model.{key}"]


def layers_of_another_form(source, deck):
    deck.layers, deck.sections["model"]["layers"] = [], source.choice([3, "dense", [], [3], [[]], True, {"kind": "dense"}])
    return ["model.layers", "'model.layers'"]


def rule_for_no_layer(source, deck):
    deck.sections["precision"]["rules"] = {source.choice(["nowhere", "attention", "conv999", "*zzz*"]): "fp32"}
    return ["precision.rules"]


def recompute_beyond_the_network(source, deck):
    deck.sections["memory"]["recompute"] = source.choice([[[0, 5000]], [[3, 2]], [[0, 1], [0, 1]], [[-1, 0]], "every 0",
                                                          "some", [0, 1], [[0]], [[0, 1, 2]]])
    return ["memory.recompute"]


def reproducible_statistics(source, deck):
    if not any(layer.get("norm") == "batchnorm" for layer in deck.layers) or deck.ranks > 1:
        return None
    deck.sections["run"]["reproducible"] = True
    deck.sections["data"]["micro_batch"] = deck.sections["data"]["batch"]
    deck.sections["precision"] = {"compute": "fp32"}
    return ["run.reproducible"]


MISTAKES = [value for name, value in list(globals().items())
            if callable(value) and name not in ("names", "some", "in_layer", "axes", "insert_first")]
