"""Random short forms of networks on grids, which may not fit their grid: the section [model], the shape of a sample and its targets."""
import math

from chain_oracle import ACTIVATIONS


def draw_short_form(source):
    form = source.choice(["cnn", "resnet", "unet", "vit"])
    extents = [source.randint(4, {1: 24, 2: 12, 3: 6}[axes]) for axes in [source.randint(1, 3)] for _ in range(axes)]
    if form == "unet" and source.random() < 0.7:
        extents = [(extent + 3) // 4 * 4 for extent in extents]
    shape = [*extents, source.randint(1, 3)]
    model = {"type": form, "loss": "mse"} | (of_patches if form == "vit" else of_convolutions)(source, form, extents)
    if form == "vit":
        return model, shape, math.prod(extents) * model["fields"] or 3
    return model, shape, source.randint(2, 5) if form != "unet" else math.prod(extents)


def of_convolutions(source, form, _):
    model = {"channels": [source.choice([2, 4, 8]) for _ in range(source.randint(1, 3))]}
    if source.random() < 0.4:
        model["norm"] = source.choice(["none", "layernorm", "rmsnorm", "groupnorm", "batchnorm"])
    if source.random() < 0.4:
        model["activation"] = source.choice(ACTIVATIONS)
    if source.random() < 0.3:
        model["dropout"] = 0.2
    if source.random() < 0.3:
        model["kernel"] = source.choice([1, 3, 5, 2])
    if source.random() < 0.3:
        model["blocks" if form != "cnn" else "hidden"] = source.randint(1, 2) if form != "cnn" else [5]
    if form == "cnn" and "hidden" not in model:
        model.pop("dropout", None)  # which is that of the hidden layers
    return model


def of_patches(source, _, extents):
    heads = source.randint(1, 3)
    model = {"patch": [source.choice([p for p in range(1, e + 1) if e % p == 0]) for e in extents], "heads": heads,
             "width": heads * source.choice([2, 5, 8]), "blocks": source.randint(1, 2), "fields": source.randint(0, 2)}
    if source.random() < 0.4:
        model["norm"] = source.choice(["layernorm", "rmsnorm", "groupnorm", "batchnorm"])
    if source.random() < 0.3:
        model["dropout"] = 0.2
    if source.random() < 0.2:
        model["heads"] += 1
    return model
