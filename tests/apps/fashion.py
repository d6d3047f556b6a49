"""Fashion-MNIST for tests that train on all of it."""
import pathlib
import re

RAW = pathlib.Path("/usr/share/datasets/fashion-mnist")


def prepare(command):
    """data/fashion_train.h5 and data/fashion_test.h5, where the example decks look for them."""
    (command.folder / "data").mkdir()
    for raw, name in (("train", "train"), ("t10k", "test")):
        command.must("prepare", "idx", RAW / f"{raw}-images-idx3-ubyte.gz", RAW / f"{raw}-labels-idx1-ubyte.gz",
                     "--out", f"data/fashion_{name}.h5")


def accuracy(command, deck, folder, *settings):
    """Of the test set after the last epoch, and what the run says of its speed."""
    result = command.must("train", deck, *settings, f"run.folder={folder}", "run.threads=2", "run.log_every=200", timeout=2400)
    speed = re.search(r"speed +(.*)", result.stdout).group(1)
    return float(re.findall(r"accuracy ([\d.]+)", result.stdout)[-1]), speed
