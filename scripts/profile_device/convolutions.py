"""Steps of convolutional decks in 16 bits beside PyTorch's, interleaved, at the deck's batch and at one that fills the device."""

import re
import statistics
import time

from gpu_check.report import Failure, Skipped
from harness.budget import OutOfTime
from harness.measurements import median_ratio
from harness.rounds import interleaved
from harness.runs import STEPS_ONLY

from . import types
from .pytorch import PyTorch, require_device

DECKS = {"fashion_resnet": (128, 1024), "fields_unet": (16, 128)}
FIELDS = 2048
ROUNDS = 2
STEPS = 200
MIN_SECONDS = 20  # PyTorch compiles a step


def run(subject, report):
    for deck in DECKS:
        report.check(f"{deck} beside PyTorch", lambda: compare(subject, report, deck))


def data(subject, deck):
    if deck.startswith("fashion"):
        return types.random_images(subject)
    return subject.training.prepare("fields", "--samples", FIELDS, name="fields.h5")


def same_network(subject, deck, peer, overrides):
    """Raises Failure unless both have the same number of parameters."""
    process = subject.installation.run("mylos", "train", subject.training.deck(deck), *overrides, "--check")
    found = re.search(r"# model: (\d+) parameters", process.stdout)
    if not found:
        raise Failure(f"mylos train --check: {process.stdout[-500:]}")
    theirs = int(peer.number(f"parameters {deck}"))
    if int(found.group(1)) != theirs:
        raise Failure(f"{found.group(1)} parameters, PyTorch's network has {theirs}")


def compare(subject, report, deck):
    if subject.installation.on_host:
        raise Skipped("perf/chain_vs_pytorch.py compares hosts")
    require_device(subject.python)
    path = data(subject, deck)
    settings = [f"data.train={path}", f"data.test={path}", f"run.steps={STEPS}", "run.log_every=20", *STEPS_ONLY]
    settings += [] if deck.startswith("fashion") else ["schedule.warmup=10"]

    def ours(compute, batch):
        folder = subject.training.run(deck, f"beside-{deck}-{compute}-{batch}-{time.monotonic()}", *settings, f"data.batch={batch}",
                                      f"precision.compute={compute}")
        return subject.training.samples_per_s(folder)

    def theirs(command):
        if subject.installation.budget.left() < MIN_SECONDS:
            raise OutOfTime(f"less than {MIN_SECONDS} s left")
        return peer.number(command)

    ratios = {}
    with PyTorch(subject, "pytorch_decks.py") as peer:
        same_network(subject, deck, peer, settings)
        for batch in DECKS[deck]:
            rates = interleaved(ROUNDS, {
                "Mylos, bf16": lambda: ours("bf16", batch), "Mylos, fp16": lambda: ours("fp16", batch),
                "PyTorch": lambda: theirs(f"steps {deck} {batch} {STEPS}"),
                "PyTorch, as one CUDA graph": lambda: theirs(f"graph {deck} {batch} {STEPS}")})
            for name, found in rates.items():
                report.speed(f"{deck}, batch {batch}: {name}", statistics.median(found), "samples/s")
            best = [max(pair) for pair in zip(rates["PyTorch"], rates["PyTorch, as one CUDA graph"])]
            ratios[batch] = median_ratio(rates["Mylos, bf16"], best)
            report.speed(f"{deck}, batch {batch}: Mylos in bf16 / PyTorch's faster", ratios[batch], "times")
    return ", ".join(f"batch {batch}: {ratio:.2f} of its rate" for batch, ratio in ratios.items())
