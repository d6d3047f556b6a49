"""Complete runs: repeated, interrupted, recomputed, on several ranks; their plan against the memory in use."""

import json

from . import device, full_memory, overflow
from .report import Failure, Skipped
from .training import REQUEUE, expect_same

GPT = "gpt_shakespeare_cpu"
FIRST_STEPS = 20
LOSS_TOLERANCE = 1e-4  # relative, of two processors in single precision
PLAN_TOLERANCE = 0.01
RUNS = 16  # of about as many steps, by which those of each are chosen


def run(installation, report, training, sample, losses, write_losses):
    report.section("Runs")
    report.check("a step, timed", lambda: _choose_steps(training))
    for compute in ("bf16", "fp16"):
        whole = training.folder / f"whole-{compute}"
        report.check(f"train, {compute}", lambda: _learns(training, compute, whole))
        report.check(f"restart, bitwise, {compute}", lambda: _restarts(training, compute, whole))
        if sample and compute == "fp16":
            continue
        report.check(f"a repeated run, bitwise, {compute}", lambda: _repeats(training, compute, whole))
        report.check(f"recomputed activations, bitwise, {compute}", lambda: _recomputes(training, compute, whole))
    if installation.on_host:
        report.check("plan against the process's memory", lambda: _host_plan(training))
        report.check("two ranks", lambda: _two_ranks(training))
    else:
        contexts = []
        report.check("plan against device memory", lambda: _device_plan(training, contexts))
        report.check("NCCL in a world of one", lambda: _learns(training, "bf16", training.folder / "nccl",
                                                               "communication.backend=nccl"))
        report.check("two ranks by NCCL", lambda: _two_ranks_by_nccl(training))
        report.check("two ranks by MPI", lambda: _two_ranks(training, "communication.backend=mpi"))
        report.check("overflows in half", lambda: overflow.provoke(installation, training))
        if not sample:
            report.check("a plan near the device's memory",
                         lambda: full_memory.check(installation, training, contexts[0] if contexts else None))
    if losses or write_losses:
        report.check(f"losses of {FIRST_STEPS} steps in fp32", lambda: _same_losses(training, losses, write_losses))


def _choose_steps(training):
    training.choose_steps(RUNS)
    return f"{training.steps} steps in a run"


def _learns(training, compute, folder, *overrides):
    training.run(GPT, folder.name, f"precision.compute={compute}", *overrides)
    losses = training.numbers(folder, "loss")
    if not losses[-1] < losses[0]:
        raise Failure(f"loss {losses[0]:.4f} became {losses[-1]:.4f}")
    return f"loss {losses[0]:.4f} became {losses[-1]:.4f} in {len(losses)} steps"


def _expect_same_run(training, run, whole):
    expect_same("losses", training.losses(run), training.losses(whole))
    expect_same("weights", training.weights(run), training.weights(whole))


def _repeats(training, compute, whole):
    _expect_same_run(training, training.run(GPT, f"again-{compute}", f"precision.compute={compute}"), whole)


def _restarts(training, compute, whole):
    name, middle = f"restart-{compute}", training.steps // 2
    training.run(GPT, name, f"precision.compute={compute}", "--stop-after", str(middle), expected=REQUEUE)
    restarted = training.run(GPT, name, f"precision.compute={compute}", "--restart", "latest")
    _expect_same_run(training, restarted, whole)
    return f"stopped after step {middle} of {training.steps}"


def _recomputes(training, compute, whole):
    run = training.run(GPT, f"recompute-{compute}", f"precision.compute={compute}", "memory.recompute=all")
    _expect_same_run(training, run, whole)


def _host_plan(training):
    training.run(GPT, "plan")
    planned, reached = training.peak_memory()
    if reached > (1 + PLAN_TOLERANCE) * planned:
        raise Failure(f"{reached / 2**20:.1f} MiB reached, {planned / 2**20:.1f} MiB planned")
    return f"{reached / 2**20:.1f} MiB reached, {planned / 2**20:.1f} MiB planned"


def _device_plan(training, contexts):
    """The CUDA context takes memory in addition to the plan; it is the same in a small run and in a large one. Appends it to
    `contexts`."""
    beyond = {}
    for deck in (GPT, "gpt_shakespeare"):
        with device.MemoryWatch() as watch:
            run = training.run(deck, f"plan-{deck}", "memory.recompute=none")
        if watch.mebibytes is None:
            raise Skipped("nvidia-smi does not say how much memory is in use")
        planned = json.loads((run / "plan.json").read_text())["rank_bytes"] / 2**20
        beyond[deck] = watch.mebibytes - planned
    contexts.append(beyond[GPT])
    off = abs(beyond["gpt_shakespeare"] - beyond[GPT])
    text = f"{planned:.0f} MiB planned, {off:.0f} MiB off, beside a context of {beyond[GPT]:.0f} MiB"
    if off > PLAN_TOLERANCE * planned + 2:  # nvidia-smi counts in pages of 2 MiB
        raise Failure(text)
    return text


def _two_ranks(training, *overrides):
    """They share the device, or the host's memory."""
    common = ["precision.compute=fp32", f"run.steps={FIRST_STEPS}", *overrides]
    alone = training.run("surrogate", "alone", *common)
    both = training.run("surrogate", "two-ranks", *common, "run.threads=1", ranks=2)
    return _expect_near(training.losses(both), training.losses(alone), "one rank")


def _two_ranks_by_nccl(training):
    overrides = ["precision.compute=fp32", f"run.steps={FIRST_STEPS}", "communication.backend=nccl"]
    if len(device.names()) < 2:
        training.run("surrogate", "one-device", *overrides, ranks=2, expected=2)
        return "refused, as there is one device"
    alone = training.run("surrogate", "alone-by-nccl", *overrides)
    both = training.run("surrogate", "two-ranks-by-nccl", *overrides, ranks=2)
    return _expect_near(training.losses(both), training.losses(alone), "one rank")


def _same_losses(training, losses, write_losses):
    found = {}
    for deck in (GPT, "surrogate"):
        run = training.run(deck, f"losses-{deck}", "precision.compute=fp32", f"run.steps={FIRST_STEPS}")
        found[deck] = training.losses(run)
    if write_losses:
        write_losses.write_text(json.dumps(found, indent=1) + "\n")
        return f"written to {write_losses}"
    reference = json.loads(losses.read_text())
    return "; ".join(f"{deck}: {_expect_near(found[deck], reference[deck], str(losses))}" for deck in found)


def _expect_near(found, expected, what):
    if len(found) != len(expected):
        raise Failure(f"{len(found)} steps, {len(expected)} of {what}")
    worst = max(abs(float(a) - float(b)) / abs(float(b)) for a, b in zip(found, expected))
    text = f"losses within {worst:.1e} of {what}'s"
    if not worst <= LOSS_TOLERANCE:
        raise Failure(text)
    return text
