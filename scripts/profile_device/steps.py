"""Our step: its rate, and its kernels by time."""

import contextlib
import os
import pathlib

from gpu_check.report import Failure, Skipped
from harness.programs import output_if_any

from . import trace

STEPS, COUNTED = 16, 6
SHOWN = 30  # kernels on the screen; the file has all


def run(subject, report):
    steps = 8 if subject.is_small else 40
    report.check("rate of steps", lambda: rates(subject, report, steps))
    report.check("our step, kernel by kernel", lambda: kernels(subject, report))


def rates(subject, report, steps):
    for name, overrides in (("kernels.gemm = auto", []), ("kernels.gemm = measure", ["kernels.gemm=measure"])):
        rate = subject.tokens_per_s(subject.train("rate", steps, *overrides))
        report.speed(f"{subject.deck}, {subject.samples} samples, {name}", rate, "tokens/s")
        report.speed(f"{subject.deck}, {subject.samples} samples, {name}: a step",
                     1e3 * subject.samples * subject.model["context"] / rate, "ms")
    return f"{steps} steps each"


def cupti_folders():
    """Possible folders of libcupti: the toolkit's, and those of Python's packages."""
    roots = [pathlib.Path("/usr/local/cuda"), *pathlib.Path("/usr/local").glob("cuda-*")]
    folders = [folder for root in roots for folder in (root / "lib64", root / "lib", root / "extras/CUPTI/lib64")]
    for path in output_if_any("python3", "-c", "import nvidia; print(*nvidia.__path__, sep='\\n')").split():
        folders += [file.parent for file in pathlib.Path(path).glob("**/libcupti.so*")]
    return [str(folder) for folder in dict.fromkeys(folders) if list(folder.glob("libcupti.so*"))]


def kernels(subject, report):
    steps = 6 if subject.is_small else STEPS
    path = subject.results / "our-step.tsv"
    with tracing(subject.installation, path):
        subject.train("traced", steps)
    return show(subject, report, path, steps, "ours")


@contextlib.contextmanager
def tracing(installation, path):
    """Runs in this context write their kernels to `path`."""
    library = installation.folder / "libmylos_kernel_trace.so"
    if installation.on_host:
        raise Skipped("a host has no device's kernels")
    if not library.exists():
        raise Skipped(f"{library.name} is not there: it is built where CUPTI is (target device_benchmarks)")
    with installation.variables(CUDA_INJECTION64_PATH=str(library.resolve()), MYLOS_KERNEL_TRACE=str(path),
                                LD_LIBRARY_PATH=installation.folders_before("LD_LIBRARY_PATH", *cupti_folders())):
        yield


def show(subject, report, path, steps, whose, shown=SHOWN):
    """Reports the kernels that take most of a step, of `steps` steps that `path` has, and removes the file."""
    if not path.exists():
        raise Failure(f"no trace was written:\n{subject.training.output[-2000:]}")
    counted = min(COUNTED, steps - 3)
    found, elapsed = trace.last_steps(trace.read(path), steps, counted)
    if not found:
        raise Failure(f"{path}: no kernel that each of {steps} steps has once")
    step = elapsed * 1e-6 / counted
    idle = report_kernels(report, path, whose, found, counted, step, "the trace", shown)
    return f"{len(found) / counted:.0f} launches a step, {step:.2f} ms, {idle:.2f} ms of it without a kernel"


def report_kernels(report, path, whose, kernels, steps, step_ms, under, shown=SHOWN):
    """Reports the kernels of so many steps by time, and returns the milliseconds of a step in which none runs. The trace in `path`
    is replaced by a table of all."""
    trace.write_table(path.with_suffix(".by-kernel.tsv"), kernels, steps)
    os.remove(path)  # tens of MB
    rows = trace.table(kernels, steps)
    for milliseconds, launches, name in rows[:shown]:
        report.speed(f"{whose}: {name} ({launches:g} launches)", milliseconds, "ms/step")
    rest = sum(row[0] for row in rows[shown:])
    report.speed(f"{whose}: {max(0, len(rows) - shown)} other kernels", rest, "ms/step")
    idle = step_ms - trace.busy(kernels) * 1e-6 / steps
    report.speed(f"{whose}: a step under {under}", step_ms, "ms/step")
    report.speed(f"{whose}: of it no kernel runs", idle, "ms/step")
    return idle
