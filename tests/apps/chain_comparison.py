"""A run of two steps in float by plain gradient descent, against the same network in NumPy and double.

How far float may be away, the oracle says itself: each of its losses is computed once more with results that are rounded as
coarsely as NOISE, and so much as that changes is allowed. Where it changes too much the deck says nothing (Amplified).
"""
import re
import tomllib

import numpy

from chain_oracle import Network, loss_of
from reference.data import Samples, normalised
from reference.rounding import Amplified
from support.run_folders import weights_of

NOISE = 2.0 ** -19  # 32 times float's
STEP = 1e-7  # of difference quotients


def noise():
    source = numpy.random.default_rng(7)
    return lambda values: values * (1 + NOISE * source.uniform(-1, 1, values.shape))


def network_of(command, deck):
    """Of short forms the layers that they stand for."""
    layers = deck.layers or tomllib.loads(command.text("run/resolved.toml"))["model"]["layers"]
    arrays = deck.arrays
    network = Network(deck.sections["data"].get("shape"), arrays["inputs"].shape[1])
    for number, layer in enumerate(layers, start=1):
        network.add(layer, number, arrays["classes"] if "classes" in arrays else arrays["targets"].shape[1])
    if deck.sections["model"].get("residual"):
        network.add_residual()
    network.finish()
    return network


def truth_of(arrays):
    return arrays["labels"] if "labels" in arrays else arrays["targets"]


class Oracle:
    def __init__(self, network, deck):
        self.network, self.deck = network, deck
        self.data = {"validation": 0, "shuffle": "samples", "last_batch": "drop", "micro_batch": 0} | deck.sections["data"]
        self.seed, self.shape = deck.sections["run"]["seed"], self.data.get("shape")
        self.samples = Samples(self.data, self.seed, deck.arrays["inputs"], truth_of(deck.arrays))

    def step(self, weights, number, noise=None):
        """The loss of the step's batch, and what each batch normalisation saw of it."""
        x, truth = self.samples.batch(number)
        size = self.data["micro_batch"] or len(x)
        loss, seen = 0, []
        for first in range(0, len(x), size):
            outputs, of_piece = self.network.outputs(weights, x[first:first + size], self.shape, noise=noise)
            part = truth[first:first + size]
            loss += loss_of(outputs, part) * len(part) / len(x)
            seen.append(of_piece)
        return loss, {name: numpy.concatenate([of_piece[name] for of_piece in seen]) for name in seen[0]}

    def slope(self, weights, number, direction, noise_of=lambda: None):
        """Of the loss along the direction, and how much more or less it is on one side: of a kink."""
        losses = [self.step({name: weights[name] + place * STEP * direction.get(name, 0) for name in weights}, number,
                            noise_of())[0] for place in (-1, 0, 1)]
        return (losses[2] - losses[0]) / (2 * STEP), abs(losses[2] - 2 * losses[1] + losses[0]) / (2 * STEP)

    def evaluation(self, weights, running, test, noise=None):
        """The loss of these samples, normalised as those for training are."""
        train, method = self.deck.arrays, self.data["normalize"]
        inputs = normalised(method, numpy.concatenate([train["inputs"], test["inputs"]]), len(train["inputs"]), 0.0)
        truth = truth_of(test)
        if truth.ndim == 2:
            truth = normalised(method, numpy.concatenate([truth_of(train), truth]), len(train["inputs"]), 1.0)[-len(truth):]
        return loss_of(self.network.outputs(weights, inputs[-len(truth):], self.shape, running, noise)[0], truth)


def read_group(path, group):
    """In double; nothing if the checkpoint has no such group."""
    return {name: values.astype(numpy.float64) for name, values in weights_of(path, [group]).items()}


def require_near(found, expected, rough, what, relative=2e-6, least=1.0):
    """Arrays or numbers, by their largest; rough: what noise makes of the expected ones."""
    size, moved = max(numpy.abs(expected).max(), least), numpy.abs(rough - expected).max()
    if not moved <= 1e-3 * size:
        raise Amplified(f"{what}: {moved} of {size}")
    gap = numpy.abs(found - expected).max()
    allowed = relative * size + moved
    assert gap <= allowed, f"{what}: {found}, expected {expected}: {gap:g} apart, allowed {allowed:g}"


def compare_gradients(oracle, weights, number, gradients, source, each):
    """Along two directions in all weights; each: and along one in those of every parameter alone."""
    norms = {name: numpy.linalg.norm(gradient) for name, gradient in gradients.items()}
    norm = numpy.linalg.norm(list(norms.values()))
    parts = [list(weights)] * 2 + ([[name] for name in weights] if each else [])
    for names in parts:
        direction = {name: source.standard_normal(weights[name].shape) for name in names}
        found = sum((gradients[name] * direction[name]).sum() for name in names)
        expected, kink = oracle.slope(weights, number, direction)
        moved = kink + abs(oracle.slope(weights, number, direction, noise)[0] - expected)
        if moved > 1e-2 * norm:
            raise Amplified(f"slope in {names}: {moved} of {norm}")
        allowed = 1e-4 * numpy.linalg.norm([norms[name] for name in names]) + 2e-5 * norm + 1e-7 + moved
        place = f"step {number + 1}, {names[0] if len(names) == 1 else 'all weights'}"
        gap = abs(found - expected)
        assert gap <= allowed, f"{place}: slope {found:g}, expected {expected:g}: {gap:g} apart, allowed {allowed:g}"


def compare_run(command, deck, test):
    """The run in the folder 'run' with its checkpoints of steps 1 and 2, and `mylos eval` of the last."""
    network = network_of(command, deck)
    oracle, lr = Oracle(network, deck), deck.sections["optimizer"]["lr"]
    rows = command.rows("run/history.csv")
    files = [command.folder / f"run/checkpoints/step-000000000{step}.h5" for step in (1, 2)]
    weights = {name: values.astype(numpy.float32).astype(numpy.float64)
               for name, values in network.initial_weights(oracle.seed).items()}
    running, rough_running = ({f"{name}/running_{of}": numpy.float64(value) for name in network.momenta
                               for of, value in (("mean", 0), ("variance", 1))} for _ in range(2))
    source = numpy.random.default_rng(11)
    for number, (row, path) in enumerate(zip(rows, files, strict=True)):
        after = read_group(path, "model")
        gradients = {name.removesuffix("/m"): values for name, values in read_group(path, "optimizer").items()}
        assert after.keys() == weights.keys() == gradients.keys(), f"/model has {sorted(after)}, expected {sorted(weights)}"
        for name, values in weights.items():
            assert after[name].shape == values.shape, f"/model/{name} is {after[name].shape}, expected {values.shape}"
            expected = values - lr * gradients[name]
            # By the largest of what is subtracted, whose rounding stays where the difference is small. Initial normal numbers
            # are computed in float.
            require_near(after[name], expected, expected, f"/model/{name} behind step {number + 1}", 3e-7 if number else 1e-6,
                         max(1e-6, numpy.abs(values).max()))
        (loss, seen), (rough_loss, rough_seen) = oracle.step(weights, number), oracle.step(weights, number, noise())
        require_near(float(row["loss"]), loss, rough_loss, f"loss of step {number + 1}")
        move_statistics(network, running, seen)
        move_statistics(network, rough_running, rough_seen)
        compare_gradients(oracle, weights, number, gradients, source, each=number == 1)
        weights = after
    found = read_group(files[1], "buffers")
    assert found.keys() == running.keys(), f"/buffers has {sorted(found)}, expected {sorted(running)}"
    for name, expected in running.items():
        require_near(found[name], expected, rough_running[name], f"/buffers/{name}", 1e-5)
    compare_evaluations(command, oracle, weights, found, test)


def move_statistics(network, running, seen):
    for name, points in seen.items():
        variance = points.var(axis=0, ddof=1) if len(points) > 1 else numpy.zeros(points.shape[1])
        for of, value in (("mean", points.mean(axis=0)), ("variance", variance)):
            path = f"{name}/running_{of}"
            running[path] = running[path] + network.momenta[name] * (value - running[path])


def compare_evaluations(command, oracle, weights, running, test):
    last = [row for row in command.rows("run/evaluations.csv") if row["part"] == "test"][-1]
    loss, rough = oracle.evaluation(weights, running, test), oracle.evaluation(weights, running, test, noise())
    require_near(float(last["loss"]), loss, rough, "loss of the test data")
    if running:
        said = command.must("eval", "run").stdout
        found = float(re.search(r"loss ([-0-9.e+]+)", said).group(1))
        require_near(found, loss, rough, f"loss of `mylos eval`, which says {said.strip()}", 6e-5)  # four digits
