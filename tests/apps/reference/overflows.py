"""Random runs whose gradients overflow at some steps and not at others, as the targets and the scale will have it.

The network is a bias and a weight that do not move (a learning rate below every float), with one sample for each rank. Its
gradient is 2 scale (prediction - target), so a target of size t overflows from a certain scale on: sizes are drawn over the
range of the scales, and beyond what the lowest can hold.
"""
import random

import numpy

from reference.scaler import complete

LARGEST = {"fp16": 2.0 ** 16, "bf16": 2.0 ** 128, "fp32": 2.0 ** 128}
FLOORS = {"fp16": (0, 8), "bf16": (70, 85), "fp32": (70, 85)}  # powers of two of min_scale: larger targets have no square
SAMPLES = 500


def draw_scaler(source, compute):
    """Keys of [precision.scaler]."""
    floor, top = FLOORS[compute]
    low = 2.0 ** source.randint(floor, top) * source.choice([1, 1, 1.3])
    high = low * 2.0 ** source.randint(1, 9) * source.choice([1, 1.1])
    keys = {"mode": source.choice(["auto", "dynamic", "dynamic", "static", "off"]), "min_scale": low, "max_scale": high,
            "initial_scale": source.choice([low, high, (low * high) ** 0.5]),
            "growth_interval": source.choice([1, 2, 3, 5, 9]), "hysteresis": source.choice([1, 1, 2, 3, 5]),
            "hysteresis_refill": source.choice(["growth", "good_step"]),
            "max_consecutive_skips": source.choice([1, 3, 8, 20, 20])}
    if source.random() < 0.4:
        window = source.choice([1, 2, 5, 17, 60, 1000])
        keys.update(hysteresis=1, backoff_window=window, backoff_overflows=source.randint(1, min(window, 4)))
    if source.random() < 0.5:
        keys.update(growth_factor=source.choice([1.5, 2.0, 3.7]), backoff_factor=source.choice([0.3, 0.5, 0.9]))
    if source.random() < 0.5:
        keys["preset"] = source.choice(["standard", "conservative", "aggressive"])
    if low <= 30000 and high >= 140000 and source.random() < 0.5:
        del keys["initial_scale"]
    return keys


class OverflowDeck:
    def __init__(self, seed, number, most_steps):
        source = random.Random(f"{seed} {number}")
        numbers = numpy.random.default_rng(source.randrange(2 ** 32))
        self.compute = source.choice(["fp16", "fp16", "fp16", "bf16", "fp32"])
        self.ranks = source.choice([1, 1, 2, 3])
        self.scaler = draw_scaler(source, self.compute)
        self.steps = source.randint(most_steps // 2, most_steps)
        self.stop_after = source.choice([None, source.randint(1, self.steps - 1)])
        self.seed = source.randrange(2 ** 63)
        self.log_every = source.choice([1, 7, 50])
        self.data = {"train": "data.h5", "batch": self.ranks, "micro_batch": 0, "validation": 0.0, "normalize": "none",
                     "shuffle": "samples", "last_batch": "join"}
        settings = complete(self.scaler, self.compute)
        scales = [1.0, 1.0] if settings["mode"] == "off" else [settings["min_scale"], settings["max_scale"]]
        self.targets = draw_targets(source, numbers, self.compute, scales)
        self.inputs = numbers.choice(numpy.array([0.5, 1, 1.5], "f4"), (SAMPLES, 1))

    def sections(self):
        return {
            "run": {"name": "overflows", "folder": "run", "seed": self.seed, "steps": self.steps,
                    "log_every": self.log_every, "peak_flops": 1e12},
            "data": self.data,
            "model": {"hidden": [], "loss": "mse"},
            "precision": {"compute": self.compute},
            "precision.scaler": self.scaler,
            "memory": {"times": "model"},
            "optimizer": {"type": "sgd", "lr": 1e-37, "momentum": 0.0, "weight_decay": 0.0},
            "checkpoint": {"every": 37, "keep_last": 0},
        }


def draw_targets(source, numbers, compute, scales):
    """Of either sign; up to half of them overflow at every scale."""
    limits = [numpy.log2(LARGEST[compute] / 2 / scale) for scale in scales]
    sizes = 2.0 ** numbers.uniform(limits[1] - 3, limits[0] + 0.5, SAMPLES)
    beyond = numbers.random(SAMPLES) < source.choice([0.02, 0.1, 0.3, 0.5])
    sizes[beyond] = 2.0 ** (limits[0] + 1.5)
    sizes = numpy.minimum(sizes, numpy.finfo(numpy.float32).max)
    return (sizes * numbers.choice([-1, 1], SAMPLES)).astype("f4")[:, None]
