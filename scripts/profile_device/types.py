"""Steps of decks of every kind in three types, to show the gain of 16 bits, and what takes their time in bfloat16."""

import gzip
import random
import statistics

from gpu_check.budget import OutOfTime
from gpu_check.report import Failure

from . import steps as our_steps

TYPES = ("fp32", "bf16", "fp16")
IMAGES, SIDE = 4096, 28
DECKS = ("fashion_mlp", "fashion_cnn", "fashion_resnet", "gpt_shakespeare")


def run(subject, report):
    decks = DECKS[:1] if subject.is_small else DECKS
    images = None
    for deck in decks:
        if deck.startswith("fashion") and images is None:
            images = random_images(subject)
        report.check(f"{deck} in three types", lambda: rates(subject, report, deck, images))
        report.check(f"{deck} in bf16, kernel by kernel", lambda: kernels(subject, report, deck, images))


def random_images(subject):
    """Random pixels: speeds do not depend on the data."""
    numbers = random.Random(3)
    folder = subject.training.folder

    def write(name, shape, values):
        header = bytes([0, 0, 8, len(shape)]) + b"".join(number.to_bytes(4, "big") for number in shape)
        with gzip.open(folder / name, "wb", compresslevel=1) as file:
            file.write(header + values)

    write("images.gz", (IMAGES, SIDE, SIDE), numbers.randbytes(IMAGES * SIDE * SIDE))
    write("labels.gz", (IMAGES,), bytes(numbers.randrange(10) for _ in range(IMAGES)))
    path = folder / "images.h5"
    process = subject.installation.run("mylos", "prepare", "idx", folder / "images.gz", folder / "labels.gz", "--out", path)
    if process.returncode != 0:
        raise Failure(f"mylos prepare idx: {process.stdout[-500:]}")
    return path


def train(subject, name, deck, compute, images, steps):
    """Trains and returns the run's folder."""
    data = [f"data.train={images}", f"data.test={images}"] if deck.startswith("fashion") else []
    return subject.training.run(deck, f"{name}-{deck}-{compute}", f"precision.compute={compute}", f"run.steps={steps}", *data,
                                "run.log_every=4", "run.evaluate_every=1000000", "checkpoint.every=1000000")


def rates(subject, report, deck, images):
    steps = 8 if subject.is_small else 60
    if subject.installation.budget.left() < 5:
        raise OutOfTime("less than 5 s left")
    found = {}
    for compute in TYPES:
        rows = subject.training.history(train(subject, "types", deck, compute, images, steps))
        found[compute] = statistics.median(float(row["samples_per_s"]) for row in rows[len(rows) // 2:])
        report.speed(f"{deck}, {compute}", found[compute], "samples/s")
    for compute in TYPES[1:]:
        report.speed(f"{deck}, {compute} / fp32", found[compute] / found["fp32"], "times")
    return f"{steps} steps each"


def kernels(subject, report, deck, images):
    path = subject.results / f"{deck}-step.tsv"
    with our_steps.tracing(subject.installation, path):
        train(subject, "traced", deck, "bf16", images, our_steps.STEPS)
    return our_steps.show(subject, report, path, our_steps.STEPS, deck, shown=8)
