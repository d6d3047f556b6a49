"""Steps of decks of every kind in three types, to show the gain of 16 bits, and what takes their time in bfloat16."""

import random

from harness.budget import OutOfTime
from harness.runs import STEPS_ONLY, idx_bytes

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

    (folder / "images.idx").write_bytes(idx_bytes((IMAGES, SIDE, SIDE), numbers.randbytes(IMAGES * SIDE * SIDE)))
    (folder / "labels.idx").write_bytes(idx_bytes((IMAGES,), bytes(numbers.randrange(10) for _ in range(IMAGES))))
    return subject.training.prepare("idx", folder / "images.idx", folder / "labels.idx", name="images.h5")


def train(subject, name, deck, compute, images, steps):
    """Trains and returns the run's folder."""
    data = [f"data.train={images}", f"data.test={images}"] if deck.startswith("fashion") else []
    return subject.training.run(deck, f"{name}-{deck}-{compute}", f"precision.compute={compute}", f"run.steps={steps}", *data,
                                "run.log_every=4", *STEPS_ONLY)


def rates(subject, report, deck, images):
    steps = 8 if subject.is_small else 60
    if subject.installation.budget.left() < 5:
        raise OutOfTime("less than 5 s left")
    found = {}
    for compute in TYPES:
        found[compute] = subject.training.samples_per_s(train(subject, "types", deck, compute, images, steps))
        report.speed(f"{deck}, {compute}", found[compute], "samples/s")
    for compute in TYPES[1:]:
        report.speed(f"{deck}, {compute} / fp32", found[compute] / found["fp32"], "times")
    return f"{steps} steps each"


def kernels(subject, report, deck, images):
    path = subject.results / f"{deck}-step.tsv"
    with our_steps.tracing(subject.installation, path):
        train(subject, "traced", deck, "bf16", images, our_steps.STEPS)
    return our_steps.show(subject, report, path, our_steps.STEPS, deck, shown=8)
