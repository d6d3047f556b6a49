"""The transformer of docs/reference/formulas.md: its weights by the checkpoint's names, its loss and gradients."""
import numpy

from reference.layers import activation, attention, cross_entropy, linear, norm
from reference.random_numbers import INITIAL_WEIGHTS, Stream

DEVIATION = 0.02


class Gpt:
    def __init__(self, model, vocabulary):
        """vocabulary: the network's, which may be larger than the data's."""
        self.model = model
        self.vocabulary = vocabulary

    def shapes(self):
        """Of all parameters."""
        width, model = self.model["width"], self.model
        shapes = {"embedding/token": (self.vocabulary, width)}
        if model["positions"] == "learned":
            shapes["embedding/position"] = (model["context"], width)
        hidden = 4 * width if model["feed_forward"] == "gelu" else -(-8 * width // (3 * 64)) * 64
        parts = {"attention": [("qkv", 3 * width, width), ("output", width, width)],
                 "mlp": [("up", hidden, width), ("down", width, hidden)]}
        if model["feed_forward"] == "swiglu":
            parts["mlp"].append(("gate", hidden, width))
        norms = ["final_norm/"]
        for layer in range(1, model["layers"] + 1):
            for part, matrices in parts.items():
                norms.append(f"{part}{layer}/norm_")
                for name, outputs, inputs in matrices:
                    shapes[f"{part}{layer}/{name}_weight"] = (outputs, inputs)
                    if model["bias"]:
                        shapes[f"{part}{layer}/{name}_bias"] = (outputs,)
        for prefix in norms:
            shapes[prefix + "weight"] = (width,)
            if model["bias"] and model.get("norm") != "rmsnorm":
                shapes[prefix + "bias"] = (width,)
        if not model["tied"]:
            shapes["head/weight"] = (self.vocabulary, width)
        return shapes

    def initial_weights(self, seed):
        weights = {}
        for name, shape in self.shapes().items():
            if len(shape) == 2:
                deviation = DEVIATION
                if name.endswith(("output_weight", "down_weight")):
                    deviation /= numpy.sqrt(2 * self.model["layers"])
                weights[name] = deviation * Stream(seed, INITIAL_WEIGHTS, name).normal(*shape)
            else:
                is_norm_weight = name.endswith(("norm_weight", "final_norm/weight"))
                weights[name] = numpy.full(shape, 1.0 if is_norm_weight else 0.0)
        return weights

    def loss_and_gradients(self, weights, tokens, answers):
        """tokens and answers [samples, context]."""
        gradients = {name: numpy.zeros_like(weight) for name, weight in weights.items()}
        x = weights["embedding/token"][tokens]
        if "embedding/position" in weights:
            x = x + weights["embedding/position"]
        backs = []
        for layer in range(1, self.model["layers"] + 1):
            for branch in (self.attention_branch, self.feed_forward_branch):
                y, back = branch(weights, gradients, layer, x)
                x = x + y
                backs.append(back)
        x, final_back = self.norm_of(weights, gradients, "final_norm/", x)
        classifier = "embedding/token" if self.model["tied"] else "head/weight"
        logits, head_back = linear(x, weights[classifier])
        loss, d_logits = cross_entropy(logits, answers)

        dx, d_classifier, _ = head_back(d_logits)
        gradients[classifier] += d_classifier
        dx = final_back(dx)
        for back in reversed(backs):
            dx = dx + back(dx)
        numpy.add.at(gradients["embedding/token"], tokens, dx)
        if "embedding/position" in weights:
            gradients["embedding/position"] += dx.sum(axis=0)
        return loss, gradients

    def attention_branch(self, weights, gradients, layer, x):
        prefix = f"attention{layer}/"
        n, norm_back = self.norm_of(weights, gradients, prefix + "norm_", x)
        qkv, qkv_back = linear_of(weights, gradients, prefix + "qkv", n)
        mixed, mix_back = attention(qkv, self.model["heads"], self.model["positions"] == "rotary")
        y, output_back = linear_of(weights, gradients, prefix + "output", mixed)
        return y, lambda dy: norm_back(qkv_back(mix_back(output_back(dy))))

    def feed_forward_branch(self, weights, gradients, layer, x):
        prefix = f"mlp{layer}/"
        n, norm_back = self.norm_of(weights, gradients, prefix + "norm_", x)
        up, up_back = linear_of(weights, gradients, prefix + "up", n)
        if self.model["feed_forward"] == "gelu":
            a, activation_back = activation("gelu_tanh", up)
            y, down_back = linear_of(weights, gradients, prefix + "down", a)
            return y, lambda dy: norm_back(up_back(activation_back(down_back(dy))))
        gate, gate_back = linear_of(weights, gradients, prefix + "gate", n)
        opened, activation_back = activation("silu", gate)
        y, down_back = linear_of(weights, gradients, prefix + "down", opened * up)

        def backward(dy):
            da = down_back(dy)
            return norm_back(up_back(da * opened) + gate_back(activation_back(da * up)))
        return y, backward

    def norm_of(self, weights, gradients, prefix, x):
        kind = "rmsnorm" if self.model.get("norm") == "rmsnorm" else "layernorm"
        names = [name for name in (prefix + "weight", prefix + "bias") if name in weights]
        y, back = norm(kind, x, *(weights[name] for name in names))
        return y, collecting(back, names, gradients)


def linear_of(weights, gradients, prefix, x):
    names = [name for name in (prefix + "_weight", prefix + "_bias") if name in weights]
    y, back = linear(x, *(weights[name] for name in names))
    return y, collecting(back, names, gradients)


def collecting(back, names, gradients):
    """A backward pass that adds the gradients of the weights of these names, and returns its input's."""
    def backward(dy):
        dx, *own = back(dy)
        for name, gradient in zip(names, own):
            gradients[name] += gradient
        return dx
    return backward
