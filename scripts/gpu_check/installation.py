"""Finds the programs in a bundle or a build folder, and starts them."""

import contextlib
import os
import signal
import subprocess

from harness.budget import OutOfTime
from harness.programs import AS_ROOT, last_lines, on_ranks

from .report import Failure


class CannotStart(Exception):
    """A message about what is missing, and what to do."""


class Installation:
    def __init__(self, root, on_host, build, budget):
        self.root, self.on_host, self.budget = root, on_host, budget
        self.is_bundle = (root / "start").exists() and build is None
        self.folder = root / "bin" if self.is_bundle else (build or root / "build" / ("host" if on_host else "cuda")) / "bin"
        self.inputs = root / "inputs"
        if not (self.folder / "mylos").exists():
            preset = "host" if on_host else "cuda-tests"
            raise CannotStart(f"{self.folder}/mylos is not there. Build it (cmake --preset {preset}; cmake --build "
                              f"--preset {preset}), or name a build folder by --build")
        self.environment = os.environ | AS_ROOT | {"OMP_PROC_BIND": "false"}
        self.version = self._version()

    def has(self, name):
        return (self.folder / name).exists()

    def command(self, name, *arguments, ranks=0):
        start = [str(self.root / "start"), name] if self.is_bundle else [str(self.folder / name)]
        launcher = on_ranks(ranks, str(self.root / "mpirun") if self.is_bundle else "mpirun") if ranks else []
        return [*launcher, *start, *map(str, arguments)]

    @contextlib.contextmanager
    def variables(self, **variables):
        """Programs that start in this context have these variables too."""
        environment = self.environment
        self.environment = environment | variables
        try:
            yield
        finally:
            self.environment = environment

    def folders_before(self, variable, *folders):
        """The value of a variable that lists folders, with these before its own."""
        return ":".join(filter(None, [*map(str, folders), self.environment.get(variable)]))

    def run(self, name, *arguments, ranks=0, timeout=300, under=(), **variables):
        """Returns the finished process; its output is standard output and error together. A process that takes longer than
        `timeout` seconds is ended with all its children. `under`: a command that starts it. Raises OutOfTime if the budget
        has no time."""
        limit = min(timeout, self.budget.left())
        if limit < 1:
            raise OutOfTime(f"no time left of {self.budget.seconds:.0f} s (--budget)")
        environment = self.environment | {key: str(value) for key, value in variables.items()}
        command = [*under, *self.command(name, *arguments, ranks=ranks)]
        process = subprocess.Popen(command, env=environment, text=True, errors="replace", start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=limit)
            return subprocess.CompletedProcess(command, process.returncode, output)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        if limit < timeout:
            raise OutOfTime(f"cut after {limit:.0f} s, the last of {self.budget.seconds:.0f} s (--budget)")
        return subprocess.CompletedProcess(command, 124, f"{output}\nended after {timeout} s")

    def output_of(self, name, command, *arguments):
        """What such a command of a program prints. Raises Failure if it fails."""
        process = self.run(name, command, *arguments)
        if process.returncode != 0:
            raise Failure(f"{name} {command} ended with code {process.returncode}:\n{last_lines(process.stdout, 8)}")
        return process.stdout

    def _version(self):
        process = self.run("mylos", "--version")
        if process.returncode != 0:
            raise CannotStart(f"mylos does not start here:\n{process.stdout.strip()}")
        version = process.stdout.strip()
        runs_on_device = any(f", {space}" in version for space in ("Cuda", "HIP", "SYCL"))
        if runs_on_device == self.on_host:
            raise CannotStart(f"{self.folder}/mylos is a build for {'devices' if runs_on_device else 'the host'}; "
                              f"{'leave --host out' if self.on_host else 'give --host, or the folder of a build for devices'}")
        if not self.on_host:
            self._require_device()
        return version

    def _require_device(self):
        plan = self.run("mylos", "plan", self.inputs / "gpt_shakespeare_cpu.toml", "model.vocabulary=65")
        if plan.returncode != 0:
            raise CannotStart(plan.stdout.strip().removeprefix("mylos: "))
