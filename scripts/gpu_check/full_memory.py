"""A run whose plan takes nearly all of the device's memory: it fits, and it takes what was planned."""

import json

from harness.runs import STEPS_ONLY

from . import device
from .report import Failure, Skipped

DECK = "gpt2_124m"
FULL = 0.985  # of the free memory, with the run's context already there
RESERVE = 64 << 20  # what libraries may take besides the plan (docs/explanation/gpu.md)
MIB = 1 << 20
TOLERANCE = 0.01


class Plans:
    """Plans of one micro-batch of some samples, made without a run."""

    def __init__(self, installation, training):
        self.installation, self.training = installation, training
        self.tokens = training.random_tokens(50257, 1_000_000)

    def overrides(self, samples, budget=None):
        settings = [f"data.train={self.tokens}", "data.validation=0.0", f"data.batch={samples}",
                    f"data.micro_batch={samples}", "memory.recompute=none", "memory.times=model"]
        return settings + ([f"memory.budget={budget // MIB} MiB"] if budget else [])

    def plan(self, samples, budget=None):
        return json.loads(self.installation.output_of("mylos", "plan", self.training.deck(DECK), *self.overrides(samples, budget), "--json"))

    def free_bytes(self):
        """What memory.budget = "auto" is nine tenths of."""
        return int(self.plan(1)["budget_bytes"] / 0.9)


def largest_micro_batch(plans, room):
    few, more = 8, 16
    first, second = (plans.plan(samples, room)["rank_bytes"] for samples in (few, more))
    return int(few + (room - first) * (more - few) / (second - first))


def check(installation, training, context_mebibytes):
    """`context_mebibytes`: what nvidia-smi counts besides the plan of a small run."""
    plans = Plans(installation, training)
    free = plans.free_bytes()
    room = int(FULL * free) - RESERVE
    samples = largest_micro_batch(plans, room)
    run_settings = ["run.steps=3", *STEPS_ONLY]
    with device.MemoryWatch() as watch:
        run = training.run(DECK, "near-full", *plans.overrides(samples, room), *run_settings)
    planned = json.loads((run / "plan.json").read_text())["rank_bytes"] / MIB
    too_many = int(samples * 1.1)
    training.run(DECK, "too-full", *plans.overrides(too_many, int(1.2 * free)), *run_settings, expected=3)
    text = f"{samples} samples, {planned:.0f} MiB planned of {free / MIB:.0f} MiB free; {too_many} samples are refused"
    if watch.mebibytes is None or context_mebibytes is None:
        raise Skipped(f"{text}; nvidia-smi does not say how much memory is in use")
    off = watch.mebibytes - planned - context_mebibytes
    if abs(off) > TOLERANCE * planned:
        raise Failure(f"{text}; {off:.0f} MiB off")
    return f"{text}; {off:.0f} MiB off"
