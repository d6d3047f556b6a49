"""Mistakes in any deck that was right, beside those in the layers of a chain (chain_mistakes.py): each function makes one in the
deck's sections, or writes what is in the run's way, and returns whether it could."""
import h5py
import numpy

import safetensors_file


def set_key(deck, path, value):
    section, key = path.rsplit(".", 1)
    deck.sections.setdefault(section, {})[key] = value
    return True


def kind_of(deck):
    return deck.sections["model"].get("type", "mlp")


def loss_of(deck):
    return deck.sections["model"].get("loss", "cross_entropy")


def has_grid(deck):
    return "shape" in deck.sections["data"]


def without_effect(source, deck, folder):
    """A key of another optimizer, schedule, loss or mode."""
    kind, optimizer = kind_of(deck), deck.sections["optimizer"].get("type", "adamw")
    keys = [("checkpoint.keep_every", 5), ("health.dead_share", 0.5), ("health.ignore", ["head"]), ("health.rewinds", 2),
            ("precision.adaptation.steps", 9), ("precision.adaptation.every", 9), ("schedule.rise_share", 0.2),
            ("initial.missing", "draw"), ("schedule.period", 3), ("precision.scaler.backoff_overflows", 3)]
    keys.append(("optimizer.betas", [0.5, 0.5]) if optimizer == "sgd" else ("optimizer.momentum", 0.5))
    precision = deck.sections["precision"]
    if "fp16" not in [precision.get("compute"), *precision.get("rules", {}).values()]:
        keys.append(("precision.scaler.growth_interval", 5))
    if kind != "gpt":
        keys += [("data.augment.crop_fill", "edge"), ("data.window", "random"),
                 ("model.label_smoothing", 0.1) if loss_of(deck) != "cross_entropy" else ("model.huber_delta", 0.5)]
    deck.sections["precision"].pop("adapt", None)
    return set_key(deck, *source.choice(keys))


def unknown_or_out_of_range(source, deck, folder):
    return set_key(deck, *source.choice([
        ("data.bach", 3), ("optimizer.lr", -1), ("data.batch", 0), ("run.steps", "many"), ("run.log_every", 0),
        ("precision.compute", "fp64"), ("optimizer.type", "adagrad"), ("memory.recompute", "every 0"),
        ("memory.recompute", [[0, 5000]]), ("kernels.gemm", "mkl"), ("communication.bucket", "25 GX")]))


def too_long_a_warmup(source, deck, folder):
    return set_key(deck, "schedule.warmup", 1000)


def confusion_of_too_many_classes(source, deck, folder):
    if "labels" not in deck.arrays or deck.sections["data"].get("micro_batch"):
        return False
    layers = getattr(deck, "layers", [])
    if layers and "outputs" in layers[-1] or layers and layers[-1]["kind"] != "dense":
        return False
    deck.arrays["classes"] = 4097
    deck.sections["data"]["validation"] = 0.2
    return set_key(deck, "run.metrics", ["confusion"])


def metric_of_others(source, deck, folder):
    deck.sections["run"]["metrics"] = ["r2" if loss_of(deck) == "cross_entropy" else source.choice(["top5", "confusion"])]
    return True


def metric_of_nothing(source, deck, folder):
    deck.sections["data"].pop("test", None)
    deck.sections["data"].pop("validation", None)
    return set_key(deck, *source.choice([("run.patience", 2), ("checkpoint.keep_best", "validation.loss"),
                                         ("checkpoint.keep_best", "test.loss")]))


def channels_without_a_grid(source, deck, folder):
    return kind_of(deck) != "gpt" and not has_grid(deck) and set_key(deck, "data.normalize", "channel")


def moves_without_a_grid(source, deck, folder):
    return kind_of(deck) != "gpt" and not has_grid(deck) and set_key(
        deck, "data.augment." + source.choice(["flip_horizontal", "rotate"]), True)


def folder_that_is_a_file(source, deck, folder):
    (folder / "taken").write_text("a file", encoding="utf-8")
    return set_key(deck, "run.folder", source.choice(["taken", "taken/run"]))


def folder_with_a_file_for_checkpoints(source, deck, folder):
    (folder / "half").mkdir(exist_ok=True)
    (folder / "half/checkpoints").write_text("a file", encoding="utf-8")
    return set_key(deck, "run.folder", "half")


def no_data(source, deck, folder):
    return set_key(deck, "data.train", "nowhere.h5")


def text_as_data(source, deck, folder):
    (folder / "text.h5").write_text("this is a text", encoding="utf-8")
    return set_key(deck, source.choice(["data.train", "data.test"]), "text.h5")


def data_of_the_other_kind(source, deck, folder):
    with h5py.File(folder / "other.h5", "w") as file:
        if kind_of(deck) == "gpt":
            file["inputs"], file["labels"] = numpy.zeros((9, 3), "f4"), numpy.zeros(9, "i4")
            file.attrs["classes"] = 2
        else:
            file["tokens"] = numpy.zeros(99, "u1")
            file.attrs["vocabulary"] = 3
    return set_key(deck, "data.train", "other.h5")


def not_finite_test_data(source, deck, folder):
    if kind_of(deck) == "gpt" or deck.arrays["inputs"].dtype != numpy.float32:
        return False
    with h5py.File(folder / "nan.h5", "w") as file:
        for name, values in deck.arrays.items():
            if isinstance(values, int):
                file.attrs[name] = values
            else:
                file[name] = values[:3]
        file["inputs"][1, 0] = numpy.nan
    return set_key(deck, "data.test", "nan.h5")


def not_finite_training_data(source, deck, folder):
    """Which normalisation reads before the first step."""
    if kind_of(deck) == "gpt" or deck.arrays["inputs"].dtype != numpy.float32:
        return False
    deck.arrays["inputs"][0, 0] = numpy.nan
    return set_key(deck, "data.normalize", "standard")


def wrong_sizes(source, deck, folder):
    if kind_of(deck) == "gpt":
        return set_key(deck, *source.choice([("model.vocabulary", 1), ("model.heads", 7), ("model.context", 100000)]))
    return set_key(deck, *source.choice([("model.inputs", 77), ("model.outputs", 77)]))


def wrong_loss(source, deck, folder):
    return kind_of(deck) != "gpt" and set_key(
        deck, "model.loss", "mse" if loss_of(deck) == "cross_entropy" else "cross_entropy")


def weights_of_other_classes(source, deck, folder):
    return kind_of(deck) != "gpt" and loss_of(deck) == "cross_entropy" and set_key(deck, "model.class_weights", [1.0] * 77)


def batch_beyond_the_data(source, deck, folder):
    return set_key(deck, "data.batch", 100000)


def everything_held_out(source, deck, folder):
    return set_key(deck, "data.validation", 0.999)


def everything_frozen(source, deck, folder):
    return set_key(deck, "optimizer.groups", [{"match": "*", "frozen": True}])


def group_of_nothing(source, deck, folder):
    return set_key(deck, *source.choice([("optimizer.groups", [{"match": "nowhere/*", "frozen": True}]),
                                         ("precision.rules", {"nowhere": "fp32"}),
                                         ("model.initialize", [{"match": "nowhere", "kind": "he_normal"}])]))


def ignores_no_layer(source, deck, folder):
    set_key(deck, "health.every", 1)
    return set_key(deck, "health.ignore", ["nowhere"])


def initial_weights_that_are_none(source, deck, folder):
    """No file, another text, tensors of other names, or one that is not finite."""
    which = source.choice(["none.safetensors", "text.safetensors", "other.safetensors"])
    if which == "text.safetensors":
        (folder / which).write_text("this is a text", encoding="utf-8")
    if which == "other.safetensors":
        safetensors_file.write(folder / which, {"other": numpy.zeros((2, 2), "f4")})
    return set_key(deck, "run.initial", which)


def initial_weights_that_are_not_finite(source, deck, folder):
    """Only some of the weights are taken from the file."""
    if kind_of(deck) != "mlp":
        return False
    hidden = deck.sections["model"].get("hidden", [])
    name, size = ("hidden1", hidden[0]) if hidden else ("head", None)
    if size is None:
        return False
    bias = numpy.zeros(size, "f4")
    bias[-1] = numpy.inf
    safetensors_file.write(folder / "inf.safetensors", {f"{name}.bias": bias})
    set_key(deck, "initial.missing", "draw")
    return set_key(deck, "run.initial", "inf.safetensors")


def too_small_a_budget(source, deck, folder):
    return set_key(deck, "memory.budget", "1 MiB")


def more_ranks_than_samples(source, deck, folder):
    deck.ranks = 3
    deck.sections["data"].pop("micro_batch", None)
    return set_key(deck, "data.batch", 2)


def not_reproducible(source, deck, folder):
    set_key(deck, "run.reproducible", True)
    return set_key(deck, "data.micro_batch", 0)


def rewinds_to_nothing(source, deck, folder):
    set_key(deck, "checkpoint.every", 0)
    return set_key(deck, "health.on_divergence", "rewind")


MISTAKES = [value for name, value in list(globals().items())
            if callable(value) and name not in ("set_key", "kind_of", "loss_of", "has_grid")]
