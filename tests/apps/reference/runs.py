"""The same run by the reference and by the command, and how far they are apart."""
import h5py
import numpy

from reference.data import Samples, Windows
from reference.gpt import Gpt
from reference.mlp import Mlp
from reference.optimizers import Optimizer, learning_rate, norm_of
from reference.rounding import require_flat_loss
from support.changed_checkpoints import replace_signed
from support.data_files import write_data
from support.run_folders import last_checkpoint

LEAST_MOMENT = 1e-3  # of the largest of all arrays: what smaller arrays of moments are compared with


def as_float(weights):
    """What float can hold of them, in double."""
    return {name: weight.astype(numpy.float32).astype(numpy.float64) for name, weight in weights.items()}


def random_weights(weights, numbers):
    """As large as those of a trained network, for every parameter."""
    found = {}
    for name, weight in weights.items():
        noise = numbers.standard_normal(weight.shape)
        if weight.ndim == 2:
            found[name] = noise * (0.5 if name.startswith("embedding") else weight.shape[1] ** -0.5)
        else:
            around = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            found[name] = around + 0.2 * noise
    return as_float(found)


class Reference:
    """Everything that the run of a deck should give, computed from the documentation."""

    def __init__(self, deck):
        sections, arrays = deck.sections, deck.arrays
        run, model = sections["run"], sections["model"]
        if model["type"] == "gpt":
            self.data = Windows(sections["data"], run["seed"], arrays["tokens"], model["context"])
            network = Gpt(model, model.get("vocabulary", arrays["vocabulary"]))
        else:
            truth = arrays["labels"] if "labels" in arrays else arrays["targets"]
            outputs = arrays["classes"] if "labels" in arrays else truth.shape[1]
            self.data = Samples(sections["data"], run["seed"], arrays["inputs"], truth)
            network = Mlp(model, arrays["inputs"].shape[1], outputs)
        self.steps = run["steps"] if "steps" in run else self.data.steps_of(run["epochs"])
        if self.steps == 1:
            deck.own_weights = False
        sections["schedule"]["warmup"] = min(sections["schedule"]["warmup"], self.steps)
        self.rows = []
        self.weights = as_float(network.initial_weights(run["seed"]))
        self.own_weights = random_weights(self.weights, deck.numbers) if deck.own_weights else None
        optimizer = Optimizer(sections["optimizer"], self.weights)
        for step in range(self.steps):
            if step == 1 and self.own_weights:
                self.weights = {name: weight.copy() for name, weight in self.own_weights.items()}
            loss, gradients = network.loss_and_gradients(self.weights, *self.data.batch(step))
            require_flat_loss(loss, self.weights, gradients)
            lr = learning_rate(sections["optimizer"], sections["schedule"], self.steps, step)
            self.rows.append({"loss": loss, "gradient_norm": norm_of(gradients), "lr": lr})
            optimizer.update(self.weights, gradients, lr)
        self.moments = optimizer.moments()


def run_command(command, deck, reference):
    """Writes deck and data into the command's folder and trains. The last checkpoint."""
    command.write("deck.toml", deck.text())
    write_data(command.folder / "data.h5", **deck.arrays)
    train = ["train", "deck.toml"]
    if deck.own_weights:
        command.must(*train, "--stop-after", 1, ranks=deck.ranks, code=85)
        checkpoint = last_checkpoint(command, "run")
        changed = {f"/model/{name}": weight.astype(numpy.float32) for name, weight in reference.own_weights.items()}
        replace_signed(checkpoint, checkpoint.with_suffix(".changed"), changed)
        checkpoint.with_suffix(".changed").replace(checkpoint)
        train += ["--restart", "latest"]
    command.must(*train, ranks=deck.ranks)
    return last_checkpoint(command, "run")


def relative(found, expected):
    return abs(found - expected) / (abs(expected) or 1.0)


def of_largest(found, expected, least=0.0):
    """The largest difference over the largest number of the array, or over `least` where that is more."""
    largest = max(numpy.abs(expected).max(), least)
    difference = numpy.abs(found - expected).max()
    return difference / largest if largest > 0 else difference


def linear_moment(name, values):
    """As large as gradients."""
    return numpy.sqrt(values.astype(numpy.float64)) if name.endswith("/v") else values


def differences(command, checkpoint, reference):
    """The largest of each kind, and where: name -> (difference, place)."""
    found = {}

    def note(kind, difference, place):
        if not difference <= found.get(kind, (-1, ""))[0]:  # NaN too
            found[kind] = difference, place

    rows = command.rows("run/history.csv")
    assert [int(row["step"]) for row in rows] == list(range(1, reference.steps + 1)), "rows of history.csv"
    for row, expected in zip(rows, reference.rows):
        assert row["overflow"] == "0" and row["updates"] == row["step"], row
        for kind in ("loss", "gradient_norm", "lr"):
            note(kind, relative(float(row[kind]), expected[kind]), f"step {row['step']}")
    moments = {name: linear_moment(name, moment) for name, moment in reference.moments.items()}
    # A gradient may be the small difference of large numbers.
    least = LEAST_MOMENT * max(numpy.abs(moment).max() for moment in moments.values())
    with h5py.File(checkpoint, "r") as file:
        for kind, group, arrays in (("weights", "model", reference.weights), ("moments", "optimizer", moments)):
            names = []
            file[group].visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
            assert set(names) == set(arrays), f"/{group} has {sorted(names)}, expected {sorted(arrays)}"
            for name, expected in arrays.items():
                values = file[group][name][()]
                assert values.shape == expected.shape, f"{name}: {values.shape}, expected {expected.shape}"
                difference = of_largest(linear_moment(name, values), expected, least) if kind == "moments" else \
                    of_largest(values, expected)
                note(kind, difference, f"/{group}/{name}")
    return found
