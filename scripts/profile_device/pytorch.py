"""Starts one of PyTorch's programs in perf/, which compiles its steps once and answers each line by a number."""

import subprocess

from gpu_check.report import Failure, Skipped
from harness.programs import ROOT, Server


class PyTorch(Server):
    def __init__(self, subject, program, *arguments):
        self.program = program
        super().__init__([subject.python, ROOT / "perf" / program, *arguments])

    def failure(self):
        return Failure(f"{self.program} ended: {super().failure().messages[-800:]}")


def require_device(python):
    if subprocess.run([python, "-c", "import torch; assert torch.cuda.is_available()"], check=False,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skipped(f"{python} has no PyTorch that sees a device (--python)")
