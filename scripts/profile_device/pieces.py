"""The pieces of our step, each alone and with several implementations (perf/step_pieces.cpp)."""

import math

from gpu_check.report import Failure, Skipped

LONGEST = 200  # seconds of one program


def products(subject, report):
    report.check("products by algorithm", lambda: _pieces(subject, report, "products"))


def attention(subject, report):
    report.check("attention", lambda: _pieces(subject, report, "attention"))


def head(subject, report):
    report.check("classifier and loss", lambda: _pieces(subject, report, "head"))


def kernels(subject, report):
    report.check("memory-bound kernels", lambda: _pieces(subject, report, "kernels"))


def _pieces(subject, report, what):
    installation = subject.installation
    if not installation.has("step_pieces"):
        raise Skipped("step_pieces is not built (target device_benchmarks)")
    sizes = ["--samples", 2, "--context", 64, "--heads", 2, "--vocabulary", 320, "--seconds", 0.002] if subject.is_small \
        else ["--seconds", 0.03]
    # In the results' folder: what it printed is there even when it is cut short.
    path = subject.results / f"{what}.tsv"
    process = installation.run("step_pieces", what, *sizes, timeout=LONGEST)
    path.write_text(process.stdout)
    best = {}
    lines = 0
    for line in process.stdout.splitlines():
        cells = line.split("\t")
        if len(cells) != 4:
            continue
        piece, variant, milliseconds, detail = cells
        lines += 1
        if not milliseconds:
            report.record(f"{piece}, {variant}", "SKIP", 0, detail)
            continue
        if what == "products":
            found = best.setdefault((piece, variant), [math.inf, "", 0, 0.0])
            found[2] += 1
            if found[2] == 1:
                found[3] = float(milliseconds)
            if float(milliseconds) < found[0]:
                found[:2] = float(milliseconds), detail
        else:
            report.speed(f"{piece}, {variant} ({detail})", float(milliseconds), "ms")
    for (piece, variant), (milliseconds, detail, count, first) in best.items():
        report.speed(f"{piece}, {variant}: best of {count} ({detail})", milliseconds, "ms")
        report.speed(f"{piece}, {variant}: the library's first", first, "ms")
    if process.returncode != 0 or lines == 0:
        raise Failure(f"step_pieces {what} ended with code {process.returncode}: {process.stdout[-500:]}")
    return f"{lines} measurements"
