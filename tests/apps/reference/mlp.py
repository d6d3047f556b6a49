"""The multilayer perceptron of docs/reference/formulas.md: its weights by the checkpoint's names, its loss and gradients."""
import numpy

from reference.layers import activation, cross_entropy, linear, norm, squared_error
from reference.random_numbers import INITIAL_WEIGHTS, Stream
from reference.rounding import Amplified, require_plain_loss

NEAR_KINK = 3e-6  # of the layer's largest number: nearer to 0, float may see the other side of relu


class Mlp:
    def __init__(self, model, inputs, outputs):
        self.model = model
        self.widths = [inputs, *model["hidden"], outputs]
        self.layers = [*(f"hidden{i + 1}" for i in range(len(model["hidden"]))), "head"]

    def initial_weights(self, seed):
        weights = {}
        for layer, fan_in, fan_out in zip(self.layers, self.widths, self.widths[1:]):
            for name, shape in ((f"{layer}/weight", (fan_out, fan_in)), (f"{layer}/bias", (1, fan_out))):
                uniform = Stream(seed, INITIAL_WEIGHTS, name).uniform(*shape)
                weights[name] = (2 * uniform - 1) / numpy.sqrt(fan_in)
            weights[f"{layer}/bias"] = weights[f"{layer}/bias"][0]
            if layer != "head" and self.model["norm"] != "none":
                own = layer.replace("hidden", "norm")
                weights[f"{own}/weight"] = numpy.ones(fan_out)
                if self.model["norm"] == "layernorm":
                    weights[f"{own}/bias"] = numpy.zeros(fan_out)
        return weights

    def loss_and_gradients(self, weights, x, truth):
        steps = []
        for layer in self.layers:
            x, back = linear(x, weights[f"{layer}/weight"], weights[f"{layer}/bias"])
            steps.append((back, [f"{layer}/weight", f"{layer}/bias"]))
            if layer == "head":
                break
            if self.model["activation"] == "relu" and numpy.abs(x).min() < NEAR_KINK * numpy.abs(x).max():
                raise Amplified(f"{layer}: relu of a number that float may see on the other side of 0")
            x, back = activation(self.model["activation"], x)
            steps.append((back, []))
            if self.model["norm"] != "none":
                own = layer.replace("hidden", "norm")
                names = [name for name in (f"{own}/weight", f"{own}/bias") if name in weights]
                x, back = norm(self.model["norm"], x, *(weights[name] for name in names))
                steps.append((back, names))
        is_class = self.model["loss"] == "cross_entropy"
        loss, dx = (cross_entropy if is_class else squared_error)(x, truth)
        require_plain_loss(loss, x if is_class else x ** 2)
        gradients = {}
        for back, names in reversed(steps):
            result = back(dx)
            dx = result[0] if names else result
            gradients.update(zip(names, result[1:] if names else ()))
        return loss, gradients
