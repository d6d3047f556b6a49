"""Random decks with their data: whatever a deck in float may ask for, in networks that take milliseconds.

What is drawn stays where float can hold the bars (loss 1e-6, weights 1e-5), by these rules:
* Adam divides by the root of the second moment plus epsilon, so it turns the rounding of a tiny gradient into a change of
  up to lr / epsilon times that. epsilon is drawn from 1e-3 up, where that is mostly below the bar, and where it is not
  the deck is drawn again (rounding.py).
* A norm over few or nearly equal numbers divides by their small spread: layers with a norm are at least 8 wide.
* relu has a kink; where float and double may see two sides of it the deck is drawn again (mlp.py).
* A loss that is small beside the network's outputs has lost its digits: such a deck is drawn again, too.
* Inputs that are not normalised get a learning rate that does not blow the network up within the steps.
"""
import random

import numpy

from support.decks import sections_text

MOST_STEPS = 7


def log_uniform(source, low, high):
    return low * (high / low) ** source.random()


class Deck:
    """sections: the deck; arrays: what goes into the data file; own_weights: a run that goes on from random weights after
    its first step, since those that networks begin with hide mistakes in small numbers."""

    def __init__(self, sections, arrays, ranks, own_weights, numbers):
        self.sections, self.arrays, self.ranks = sections, arrays, ranks
        self.own_weights, self.numbers = own_weights, numbers

    def text(self):
        return deck_text(self.sections)


TYPES_WITH = {  # the types, in the deck's order, with which alone a key has an effect
    "optimizer": {"betas": ["adamw", "adam", "lion", "lamb"], "epsilon": ["adamw", "adam", "lamb"], "momentum": ["sgd"]},
    "schedule": {"steps": ["linear", "cosine"], "final_lr": ["linear", "cosine"], "step_size": ["step"], "factor": ["step"]},
}


def with_effect(sections):
    """Without the keys that have no effect beside the others, with which a deck is refused."""
    found = {section: dict(keys) for section, keys in sections.items()}
    for section, keys in TYPES_WITH.items():
        for key, types in keys.items():
            if found.get(section, {}).get("type") not in types:
                found.get(section, {}).pop(key, None)
    if not found["model"].get("hidden", [1]):
        for key in ("activation", "norm", "dropout"):
            found["model"].pop(key, None)
    scaler, compute = found.get("precision.scaler", {}), found["precision"]["compute"]
    mode = scaler.get("mode", "auto")
    mode = ("dynamic" if compute == "fp16" else "off") if mode == "auto" else mode
    of_scale = ["preset", "initial_scale"] if mode != "off" else []
    if mode == "dynamic":
        of_scale += ["growth_factor", "backoff_factor", "growth_interval", "hysteresis", "min_scale", "max_scale", "backoff_window"]
        of_scale += ["hysteresis_refill"] if scaler.get("hysteresis", 1) > 1 else []
        of_scale += ["backoff_overflows"] if scaler.get("backoff_window", 0) > 0 else []
    for key in [key for key in scaler if key not in (*of_scale, "mode", "max_consecutive_skips", "reset")]:
        scaler.pop(key)
    replaced = ["initial_scale"] if mode == "static" else ["initial_scale", "growth_factor", "growth_interval"]
    if scaler.get("preset", "standard") != "standard" and all(key in scaler for key in replaced):
        scaler.pop("preset")
    return found


def deck_text(sections):
    return sections_text(with_effect(sections))


def draw(seed, number, attempt=0):
    """The deck of that number."""
    source = random.Random(f"{seed} {number} {attempt}")
    numbers = numpy.random.default_rng(source.randrange(2 ** 32))
    kind = "gpt" if number % 3 == 2 else "mlp"
    ranks = source.choice([1, 1, 2, 3])
    batch = source.randrange(max(2, ranks), 25)
    epochs = source.choice([None, None, 1, 2])
    run = {"name": f"deck{number}", "folder": "run", "seed": source.randrange(2 ** 63), "peak_flops": 1e12,
           "log_every": source.choice([1, 3, 10])}
    run.update({"epochs": epochs} if epochs else {"steps": source.randint(1, MOST_STEPS)})
    data = {"train": "data.h5", "batch": batch, "micro_batch": source.choice([0, 0, 1, 2, 3, 5]),
            "validation": source.choice([0.0, 0.0, 0.2, 0.35])}
    sections = {
        "run": run, "data": data, "model": {}, "precision": {"compute": "fp32"},
        "memory": {"recompute": source.choice(["auto", "none", "all", "every 2"]), "times": "model"},
        "communication": {"bucket": source.choice(["1 KiB", "10 kB", "25 MiB"])},
        "checkpoint": {"every": 1, "keep_last": 0},
    }
    # At most MOST_STEPS batches in all epochs, and not always whole ones.
    most = batch * (MOST_STEPS // (epochs or 1)) - batch // 2
    items = int(source.uniform(batch, max(batch + 1, min(most, 3 * batch)))) + 1
    if kind == "gpt":
        arrays = draw_gpt(source, numbers, sections, items)
    else:
        arrays = draw_mlp(source, numbers, sections, items)
    sections["optimizer"], sections["schedule"] = draw_update(source)
    if not normal_sized(sections, arrays):
        sections["optimizer"]["lr"] *= 1e-4
        sections["schedule"]["final_lr"] *= 1e-4
    own_weights = run.get("steps", 2) > 1 and source.random() < (0.6 if kind == "gpt" else 0.2)
    return Deck(sections, arrays, ranks, own_weights, numbers)


def with_held_out(items, data):
    """So many that `items` are left for training."""
    return int(items / (1 - data["validation"])) + 1


def normal_sized(sections, arrays):
    return sections["data"].get("normalize") != "none" or arrays["inputs"].dtype != numpy.uint8


def draw_mlp(source, numbers, sections, items):
    sections["data"].update(normalize=source.choice(["none", "standard", "minmax"]),
                            shuffle=source.choice(["samples", "blocks"]), last_batch=source.choice(["drop", "join"]))
    # Samples so wide that they make several blocks, now and then: sums so long in float want a calm network behind them.
    wide = sections["data"]["shuffle"] == "blocks" and source.random() < 0.1
    norm = "none" if wide else source.choice(["none", "layernorm", "rmsnorm"])
    most = 130 if source.random() < 0.1 else 40
    layers = source.randint(0, 1 if wide else 3)
    hidden = [source.randint(8 if norm != "none" else 1, most) for _ in range(layers)]
    loss = source.choice(["cross_entropy", "mse"])
    sections["model"].update(
        type="mlp", hidden=hidden, norm=norm, loss=loss,
        activation=source.choice(["relu", "gelu", "gelu_tanh", "tanh", "silu", "none"]))
    samples = with_held_out(items, sections["data"])
    features = source.randint(30000, 60000) if wide else source.randint(1, 30)
    if source.random() < 0.3:
        inputs = numbers.integers(0, 256, (samples, features), dtype="u1")
    else:
        inputs = numbers.standard_normal((samples, features)) * numbers.uniform(0.5, 2, features)
        inputs = (inputs + numbers.uniform(-1, 1, features)).astype("f4")
    if source.random() < 0.2:
        inputs[:, source.randrange(features)] = 7
    if loss == "cross_entropy":
        classes = source.randint(2, 9)
        return {"inputs": inputs, "labels": numbers.integers(0, classes, samples, dtype="i4"), "classes": classes}
    targets = numbers.standard_normal((samples, source.randint(1, 6))) * 2 + 1
    return {"inputs": inputs, "targets": targets.astype("f4")}


def draw_gpt(source, numbers, sections, items):
    heads = source.randint(1, 4)
    head_width = source.choice([2, 4, 6, 8, 16])
    width = max(8, heads * head_width)
    heads = width // head_width
    context, vocabulary = source.randint(2, 12), source.randint(2, 50)
    sections["model"].update(
        type="gpt", layers=source.randint(1, 2), heads=heads, width=width, context=context,
        positions=source.choice(["learned", "rotary"]), tied=source.random() < 0.5,
        feed_forward=source.choice(["gelu", "swiglu"]), bias=source.random() < 0.5)
    norm = source.choice([None, "layernorm", "rmsnorm"])
    if norm:
        sections["model"]["norm"] = norm
    if source.random() < 0.4:
        sections["model"]["vocabulary"] = vocabulary + source.randint(1, 30)
    sections["data"]["window"] = source.choice(["random", "sequential"])
    # The held-out part, at least a fifth, holds a window too.
    tokens = max(with_held_out(items * context + source.randint(1, context), sections["data"]), 5 * (context + 2))
    kind = source.choice(["u1", "u2", "u4"])
    return {"tokens": numbers.integers(0, vocabulary, tokens, dtype=kind), "vocabulary": vocabulary}


def draw_update(source):
    optimizer = {
        "type": source.choice(["adamw", "adam", "lamb", "sgd"]), "lr": log_uniform(source, 1e-3, 3e-2),
        "betas": [source.choice([0.0, 0.5, 0.9]), source.choice([0.5, 0.95, 0.999])],
        "epsilon": log_uniform(source, 1e-3, 1e-1), "weight_decay": source.choice([0.0, 0.01, 0.5]),
        "momentum": source.choice([0.0, 0.5, 0.9]), "clip_norm": source.choice([0.0, 0.01, 0.3, 1.0, 10.0])}
    schedule = {
        "type": source.choice(["constant", "step", "linear", "cosine"]), "warmup": source.choice([0, 0, 1, 2, 3]),
        "steps": source.choice([0, 0, 4, 10]), "final_lr": source.choice([0.0, 0.1]) * optimizer["lr"],
        "step_size": source.randint(1, 3), "factor": source.choice([0.1, 0.5])}
    return optimizer, schedule
