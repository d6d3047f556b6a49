"""PyTorch's step compared with ours: interleaved rates, its kernels by time, and its attention implementation."""

import re
import statistics
import subprocess

from gpu_check.report import Failure, Skipped

from . import steps as our_steps
from . import trace

ROUNDS = 2
STEPS = 8


class PyTorch:
    """One process of perf/pytorch_device.py, which compiles its step once."""

    def __init__(self, subject):
        shape = [str(subject.model[key]) for key in ("layers", "heads", "width", "context", "vocabulary")]
        self.process = subprocess.Popen([subject.python, str(subject.peers() / "pytorch_device.py"), *shape], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def answer(self, line):
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            self.process.kill()
            raise Failure(f"pytorch_device.py ended: {self.process.communicate()[1][-800:]}")
        return float(answer)

    def close(self):
        self.process.kill()
        self.process.communicate()


def run(subject, report):
    report.check("PyTorch's step", lambda: compare(subject, report))


def compare(subject, report):
    if subject.installation.on_host:
        raise Skipped("perf/gpt_vs_pytorch.py compares hosts")
    if subprocess.run([subject.python, "-c", "import torch; assert torch.cuda.is_available()"], check=False,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skipped(f"{subject.python} has no PyTorch that sees a device (--python)")
    peer = PyTorch(subject)
    try:
        report.speed("a product of 8192 in bf16", peer.answer("product"), "TFLOP/s")
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(peer.answer(f"steps {subject.samples} 24"))
            ours.append(subject.tokens_per_s(subject.train("beside", 24, "kernels.gemm=measure")))
        report.speed("PyTorch, compiled", statistics.median(theirs), "tokens/s")
        report.speed("Mylos in the same rounds, kernels.gemm = measure", statistics.median(ours), "tokens/s")
        ratio = statistics.median(our / their for our, their in zip(ours, theirs))
        report.speed("Mylos / PyTorch", ratio, "times")
        path = subject.results / "pytorch-step.tsv"
        elapsed = peer.answer(f"profile {subject.samples} {STEPS} {path}")
    finally:
        peer.close()
    kernels = trace.read(path)
    attention = {name for kernel in kernels if re.search(r"flash|fmha|sdpa|attention", name := kernel.name, re.IGNORECASE)}
    report.record("its attention", "PASS", 0, "\n".join(sorted(name[:150] for name in attention)) or "no such kernel")
    trace.write_table(path.with_suffix(".by-kernel.tsv"), kernels, STEPS)
    path.unlink()
    rows = trace.table(kernels, STEPS)
    for milliseconds, launches, name in rows[:our_steps.SHOWN]:
        report.speed(f"PyTorch: {name} ({launches:g} launches)", milliseconds, "ms/step")
    report.speed(f"PyTorch: {max(0, len(rows) - our_steps.SHOWN)} other kernels",
                 sum(row[0] for row in rows[our_steps.SHOWN:]), "ms/step")
    report.speed("PyTorch: a step under its profiler", 1e3 * elapsed, "ms/step")
    report.speed("PyTorch: of it no kernel runs", 1e3 * elapsed - trace.busy(kernels) * 1e-6 / STEPS, "ms/step")
    return f"{ratio:.3f} of its rate"
