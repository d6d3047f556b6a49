"""Starts programs. One that fails ends the study with its own messages."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MYLOS = ROOT / "build/host/bin/mylos"


def limits(pytorch, compiled, onednn, mkl):
    """Environment variables that limit libraries to instructions: PyTorch's own kernels, the code of torch.compile, oneDNN (ours
    and PyTorch's) and MKL."""
    return {"ATEN_CPU_CAPABILITY": pytorch, "TORCHINDUCTOR_CPP_MARCH": compiled, "ONEDNN_MAX_CPU_ISA": onednn,
            "MKL_ENABLE_INSTRUCTIONS": mkl}


# Keys are the names of kernels.instructions. avx512-bf16 excludes the matrix unit (AMX).
INSTRUCTIONS = {
    "baseline": limits("default", "x86-64", "SSE41", "SSE4_2"),
    "avx2": limits("avx2", "x86-64-v3", "AVX2", "AVX2"),
    "avx512": limits("avx512", "x86-64-v4", "AVX512_CORE", "AVX512"),
    "avx512-bf16": limits("avx512", "x86-64-v4", "AVX512_CORE_BF16", "AVX512"),
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def environment(threads, instructions=None):
    """The environment of interleaved programs and of complete runs."""
    result = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="false", **AS_ROOT)
    result.pop("OMP_WAIT_POLICY", None)  # "active" threads would disturb the other program
    return result | INSTRUCTIONS.get(instructions, {})


def on_ranks(ranks, mpirun="mpirun"):
    """The words before a program that start it on several ranks of this machine."""
    return [mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def last_lines(text, count):
    return "\n".join(text.strip().splitlines()[-count:])


class ProgramFailed(SystemExit):
    """Ends the study, unless it is caught: what the program printed, its messages, then the command and its exit code."""

    def __init__(self, command, code, messages, output=""):
        self.exit_code = code
        self.messages = messages.strip() or output.strip()
        printed = [text.rstrip() for text in (output, messages) if text.strip()]
        super().__init__("\n".join([*printed, f"{' '.join(map(str, command))} ended with code {code}"]))


def finished(command, codes=(0,), **options):
    """Runs a command to its end: a CompletedProcess, with what it printed. Throws ProgramFailed for any other exit code.
    `options`: those of subprocess.run."""
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)
    if done.returncode not in codes:
        raise ProgramFailed(command, done.returncode, done.stderr, done.stdout)
    return done


def output_of(command, **options):
    """What a command prints; throws ProgramFailed as finished()."""
    return finished(command, **options).stdout


def output_if_any(*command):
    """What a command prints, "" if it is missing or fails."""
    try:
        return output_of(command, timeout=120)
    except (OSError, subprocess.TimeoutExpired, ProgramFailed):
        return ""


class Server:
    """A program that answers each command on its standard input by lines and an empty one. What it prints as errors and
    warnings is shown only if it fails."""

    def __init__(self, command, environment=None):
        self.command = [str(word) for word in command]
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.close()

    def failure(self):
        """The exception for a program that has ended."""
        code = self.process.wait()
        self.errors.seek(0)
        return ProgramFailed(self.command[:1], code, self.errors.read())

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise self.failure()
        return line

    def ask(self, command):
        """The lines of the answer."""
        try:
            print(command, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise self.failure() from None
        return list(iter(self.line, "\n"))

    def number(self, command):
        return float(self.ask(command)[0].split()[0])

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def start(command, arguments, ranks=1):
    """A server whose ranks share the threads of the study's options, limited to their instructions."""
    return Server(command, environment(max(1, arguments.threads // ranks), arguments.instructions))
