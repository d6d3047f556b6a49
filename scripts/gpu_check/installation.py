"""Where the programs are, a bundle or a build folder, and how they are started."""

import os
import subprocess


class CannotStart(Exception):
    """What is missing, and what to do."""


class Installation:
    def __init__(self, root, on_host, build):
        self.root, self.on_host = root, on_host
        self.is_bundle = (root / "start").exists() and build is None
        self.folder = root / "bin" if self.is_bundle else (build or root / "build" / ("host" if on_host else "cuda")) / "bin"
        self.inputs = root / "inputs"
        if not (self.folder / "mylos").exists():
            preset = "host" if on_host else "cuda-tests"
            raise CannotStart(f"{self.folder}/mylos is not there. Build it (cmake --preset {preset}; cmake --build "
                              f"--preset {preset}), or name a build folder by --build")
        self.environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                         "OMP_PROC_BIND": "false"}
        self.version = self._version()

    def has(self, name):
        return (self.folder / name).exists()

    def command(self, name, *arguments, ranks=0):
        start = [str(self.root / "start"), name] if self.is_bundle else [str(self.folder / name)]
        mpirun = str(self.root / "mpirun") if self.is_bundle else "mpirun"
        launcher = [mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks else []
        return [*launcher, *start, *map(str, arguments)]

    def run(self, name, *arguments, ranks=0, timeout=1800, **variables):
        """The finished process; its output is standard output and error together."""
        environment = self.environment | {key: str(value) for key, value in variables.items()}
        command = self.command(name, *arguments, ranks=ranks)
        try:
            return subprocess.run(command, env=environment, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as late:
            output = late.stdout or b""
            output = output if isinstance(output, str) else output.decode(errors="replace")
            return subprocess.CompletedProcess(command, 124, f"{output}\nended after {timeout} s")

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
