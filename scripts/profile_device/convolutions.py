"""Steps of convolutional decks in 16 bits beside PyTorch's, interleaved, at the deck's batch and at one that fills the device."""

import re
import statistics

from gpu_check.budget import OutOfTime
from gpu_check.report import Failure, Skipped

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
    path = subject.training.folder / "fields.h5"
    process = subject.installation.run("mylos", "prepare", "fields", "--samples", FIELDS, "--out", path)
    if process.returncode != 0:
        raise Failure(f"mylos prepare fields: {process.stdout[-500:]}")
    return path


def same_network(subject, deck, peer, overrides):
    """Raises Failure unless both have the same number of parameters."""
    process = subject.installation.run("mylos", "train", subject.training.deck(deck), *overrides, "--check")
    found = re.search(r"# model: (\d+) parameters", process.stdout)
    if not found:
        raise Failure(f"mylos train --check: {process.stdout[-500:]}")
    theirs = int(peer.answer(f"parameters {deck}"))
    if int(found.group(1)) != theirs:
        raise Failure(f"{found.group(1)} parameters, PyTorch's network has {theirs}")


def compare(subject, report, deck):
    if subject.installation.on_host:
        raise Skipped("perf/chain_vs_pytorch.py compares hosts")
    require_device(subject.python)
    path = data(subject, deck)
    settings = [f"data.train={path}", f"data.test={path}", f"run.steps={STEPS}", "run.log_every=20",
                "run.evaluate_every=1000000", "checkpoint.every=1000000"]
    settings += [] if deck.startswith("fashion") else ["schedule.warmup=10"]

    def ours(compute, batch, turn):
        folder = subject.training.run(deck, f"beside-{deck}-{compute}-{batch}-{turn}", *settings, f"data.batch={batch}",
                                      f"precision.compute={compute}")
        rates = [float(row["samples_per_s"]) for row in subject.training.history(folder)]
        return statistics.median(rates[len(rates) // 2:])

    ratios = {}
    with PyTorch(subject, "pytorch_decks.py") as peer:
        same_network(subject, deck, peer, settings)
        for batch in DECKS[deck]:
            rates = {"Mylos, bf16": [], "Mylos, fp16": [], "PyTorch": [], "PyTorch, as one CUDA graph": []}
            for turn in range(ROUNDS):
                if subject.installation.budget.left() < MIN_SECONDS:
                    raise OutOfTime(f"less than {MIN_SECONDS} s left")
                rates["PyTorch"].append(peer.answer(f"steps {deck} {batch} {STEPS}"))
                rates["PyTorch, as one CUDA graph"].append(peer.answer(f"graph {deck} {batch} {STEPS}"))
                rates["Mylos, bf16"].append(ours("bf16", batch, turn))
                rates["Mylos, fp16"].append(ours("fp16", batch, turn))
            for name, found in rates.items():
                report.speed(f"{deck}, batch {batch}: {name}", statistics.median(found), "samples/s")
            best = [max(pair) for pair in zip(rates["PyTorch"], rates["PyTorch, as one CUDA graph"])]
            ratios[batch] = statistics.median(one / other for one, other in zip(rates["Mylos, bf16"], best))
            report.speed(f"{deck}, batch {batch}: Mylos in bf16 / PyTorch's faster", ratios[batch], "times")
    return ", ".join(f"batch {batch}: {ratio:.2f} of its rate" for batch, ratio in ratios.items())
