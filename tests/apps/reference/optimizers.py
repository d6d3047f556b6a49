"""Schedule, clipping and updates of docs/reference/formulas.md."""
import math

import numpy

from reference.rounding import require_calm_adam

CALM = 5e-7  # of an array's largest number, per update: half the bar of the loss, which follows the weights


def learning_rate(optimizer, schedule, run_steps, updates):
    """Of the update behind `updates` others."""
    lr, warmup = optimizer["lr"], schedule["warmup"]
    if updates < warmup:
        return lr * (updates + 1) / (warmup + 1)
    past = updates - warmup
    length = (schedule["steps"] or run_steps) - warmup
    progress = 1.0 if past >= length else past / length
    if schedule["type"] == "step":
        return lr * schedule["factor"] ** (past // schedule["step_size"])
    if schedule["type"] == "linear":
        return lr + (schedule["final_lr"] - lr) * progress
    if schedule["type"] == "cosine":
        return schedule["final_lr"] + (lr - schedule["final_lr"]) * (1 + math.cos(math.pi * progress)) / 2
    return lr


def norm_of(gradients):
    return math.sqrt(sum((gradient ** 2).sum() for gradient in gradients.values()))


class Optimizer:
    def __init__(self, options, weights):
        self.options = options
        self.updates = 0
        self.m = {name: numpy.zeros_like(weight) for name, weight in weights.items()}
        self.v = {name: numpy.zeros_like(weight) for name, weight in weights.items()}

    def moments(self):
        """By their names in a checkpoint."""
        found = {f"{name}/m": moment for name, moment in self.m.items()}
        if self.options["type"] != "sgd":
            found.update({f"{name}/v": moment for name, moment in self.v.items()})
        return found

    def update(self, weights, gradients, lr):
        """Moves the weights in place."""
        self.updates += 1
        clip, norm = self.options["clip_norm"], norm_of(gradients)
        factor = min(1.0, clip / (norm + 1e-6)) if clip > 0 else 1.0
        for name, weight in weights.items():
            decay = self.options["weight_decay"] if weight.ndim == 2 else 0.0
            self.move(name, weight, factor * gradients[name], lr, decay)

    def move(self, name, weight, gradient, lr, decay):
        if self.options["type"] not in ("adamw", "lamb"):
            gradient = gradient + decay * weight
        if self.options["type"] == "sgd":
            self.m[name] = self.options["momentum"] * self.m[name] + gradient
            weight -= lr * self.m[name]
            return
        beta1, beta2 = self.options["betas"]
        self.m[name] = beta1 * self.m[name] + (1 - beta1) * gradient
        self.v[name] = beta2 * self.v[name] + (1 - beta2) * gradient ** 2
        mean = self.m[name] / (1 - beta1 ** self.updates)
        square = self.v[name] / (1 - beta2 ** self.updates)
        step = mean / (numpy.sqrt(square) + self.options["epsilon"])
        if self.options["type"] == "adamw":
            weight *= 1 - lr * decay
        if self.options["type"] == "lamb":
            step += decay * weight
            norms = numpy.linalg.norm(weight), numpy.linalg.norm(step)
            lr *= norms[0] / norms[1] if min(norms) > 0 else 1
        weight -= lr * step
        require_calm_adam(self.options, name, weight, gradient, lr, CALM)
