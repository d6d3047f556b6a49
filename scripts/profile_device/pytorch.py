"""Starts one of PyTorch's programs in perf/, which compiles its steps once and answers each line by a number."""

import subprocess

from gpu_check.report import Failure, Skipped


class PyTorch:
    def __init__(self, subject, program, *arguments):
        self.program = program
        self.process = subprocess.Popen([subject.python, str(subject.peers() / program), *arguments], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def answer(self, line):
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            self.process.kill()
            raise Failure(f"{self.program} ended: {self.process.communicate()[1][-800:]}")
        return float(answer)


def require_device(python):
    if subprocess.run([python, "-c", "import torch; assert torch.cuda.is_available()"], check=False,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        raise Skipped(f"{python} has no PyTorch that sees a device (--python)")
