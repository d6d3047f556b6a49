"""PyTorch's step compared with ours: interleaved rates, ours in half too, its kernels by time, and its attention."""

import re
import statistics

from gpu_check.report import Skipped
from harness.measurements import median_ratio
from harness.rounds import interleaved

from . import steps as our_steps
from . import trace
from .pytorch import PyTorch, require_device

ROUNDS = 2
COUNT = 24  # steps in a turn
STEPS = 8


def run(subject, report):
    report.check("PyTorch's step", lambda: compare(subject, report))


def rates_of(subject, report, peer):
    """Tokens/s of each round by name, each side with the faster of the micro-batches for it."""
    sides = {"Mylos": lambda samples: of_ours(subject, samples, "bf16"),
             "Mylos in half": lambda samples: of_ours(subject, samples, "fp16"),
             "PyTorch": lambda samples: peer.number(f"steps {samples} {COUNT}")}
    best = {}
    for name in "Mylos", "PyTorch":
        found = {samples: sides[name](samples) for samples in (subject.samples, 2 * subject.samples)}
        for samples, rate in found.items():
            report.speed(f"{name}, {samples} samples at a time", rate, "tokens/s")
        best[name] = max(found, key=found.get)
    best["Mylos in half"] = best["Mylos"]
    rates = interleaved(ROUNDS, {name: lambda name=name: sides[name](best[name]) for name in sides})
    for name, found in rates.items():
        report.speed(f"{name}, {best[name]} samples, in the same rounds", statistics.median(found), "tokens/s")
    return rates


def of_ours(subject, samples, compute):
    return subject.tokens_per_s(subject.train("beside", COUNT, "kernels.gemm=measure", f"precision.compute={compute}",
                                              samples=samples))


def compare(subject, report):
    if subject.installation.on_host:
        raise Skipped("perf/gpt_vs_pytorch.py compares hosts")
    require_device(subject.python)
    path = subject.results / "pytorch-step.tsv"
    shape = (subject.model[key] for key in ("layers", "heads", "width", "context", "vocabulary"))
    with PyTorch(subject, "pytorch_device.py", *shape) as peer:
        report.speed("a product of 8192 in bf16", peer.number("product"), "TFLOP/s")
        rates = rates_of(subject, report, peer)
        ratio = median_ratio(rates["Mylos"], rates["PyTorch"])
        report.speed("Mylos / PyTorch", ratio, "times")
        report.speed("Mylos in half / in bfloat16", median_ratio(rates["Mylos in half"], rates["Mylos"]), "times")
        elapsed = peer.number(f"profile {subject.samples} {STEPS} {path}")
    kernels = trace.read(path)
    attention = {name for kernel in kernels if re.search(r"flash|fmha|sdpa|attention", name := kernel.name, re.IGNORECASE)}
    report.record("its attention", "PASS", 0, "\n".join(sorted(name[:150] for name in attention)) or "no such kernel")
    our_steps.report_kernels(report, path, "PyTorch", kernels, STEPS, 1e3 * elapsed, "its profiler")
    return f"{ratio:.3f} of its rate"
