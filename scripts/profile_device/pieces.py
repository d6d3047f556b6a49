"""The pieces of our step, each alone and with several implementations (perf/step_pieces.cpp)."""

from gpu_check.report import Failure, Skipped

LONGEST = 200  # seconds of one program
# What step_pieces measures, and the name of the check.
PIECES = {"attention": "attention", "head": "classifier and loss", "kernels": "memory-bound kernels", "products": "products by algorithm"}


def run(what, subject, report):
    report.check(PIECES[what], lambda: measure(subject, report, what))


def measure(subject, report, what):
    installation = subject.installation
    if not installation.has("step_pieces"):
        raise Skipped("step_pieces is not built (target device_benchmarks)")
    sizes = ["--samples", 2, "--context", 64, "--heads", 2, "--vocabulary", 320, "--seconds", 0.002] if subject.is_small \
        else ["--seconds", 0.03]
    # In the results' folder: what it printed is there even when it is cut short.
    path = subject.results / f"{what}.tsv"
    process = installation.run("step_pieces", what, *sizes, timeout=LONGEST)
    path.write_text(process.stdout)
    lines = [line.split("\t") for line in process.stdout.splitlines() if line.count("\t") == 3]
    algorithms = {}  # of each product: (milliseconds, detail), the library's first choice first
    for piece, variant, milliseconds, detail in lines:
        if not milliseconds:
            report.record(f"{piece}, {variant}", "SKIP", 0, detail)
        elif what == "products":
            algorithms.setdefault(f"{piece}, {variant}", []).append((float(milliseconds), detail))
        else:
            report.speed(f"{piece}, {variant} ({detail})", float(milliseconds), "ms")
    for product, found in algorithms.items():
        milliseconds, detail = min(found, key=lambda one: one[0])
        report.speed(f"{product}: best of {len(found)} ({detail})", milliseconds, "ms")
        report.speed(f"{product}: the library's first", found[0][0], "ms")
    if process.returncode != 0 or not lines:
        raise Failure(f"step_pieces {what} ended with code {process.returncode}: {process.stdout[-500:]}")
    return f"{len(lines)} measurements"
