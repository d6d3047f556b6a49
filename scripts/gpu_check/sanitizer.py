"""NVIDIA's compute-sanitizer over unit tests of our own kernels: accesses outside of memory, and races in shared memory. It does
not know the barriers of cuDNN's kernels, whose tests are left out."""

import os
import shutil

from harness.programs import last_lines

from .report import Failure, Skipped
from .unit_tests import passed_tests

TOOLS = ("memcheck", "racecheck")
# Program, and the tests of those kernels that share memory between lanes, or write by 16 bytes.
TESTS = {
    "test_kernels": "*Norm*:*CrossEntropy*:*SumRows*:*RowSums*:*Embedding*:*SumOfSquares*:*FirstNonfinite*:ActivationBackward*",
    "test_optim": "*FusedUpdate*:*UpdatePass*:Lamb*:*ParameterHealth*",
}
SECONDS = 150  # of one program


def run(installation, report):
    report.section("compute-sanitizer")
    for program, tests in TESTS.items():
        for tool in TOOLS:
            report.check(f"{tool} of {program}", lambda: check(installation, tool, program, tests))


def find():
    """The program of the toolkit. Raises Skipped if there is none."""
    toolkits = [f"{folder}/bin" for folder in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if folder]
    found = shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ.get("PATH", ""), *toolkits]))
    if found is None:
        raise Skipped("no compute-sanitizer in PATH or CUDA_HOME/bin; CUDA's toolkit has it")
    return found


def check(installation, tool, program, tests):
    if installation.on_host:
        raise Skipped("a host build has no kernels of devices")
    if not installation.has(program):
        raise Skipped("not built")
    under = [find(), "--tool", tool, "--target-processes", "all", "--error-exitcode", "9"]
    process = installation.run(program, f"--gtest_filter={tests}", timeout=SECONDS, under=under, OMP_NUM_THREADS=2)
    passed = passed_tests(process)
    if process.returncode != 0 or passed is None:
        errors = "\n".join(line for line in process.stdout.splitlines() if line.startswith("========="))
        raise Failure(f"ended with code {process.returncode}\n{last_lines(errors or process.stdout, 12)}")
    if passed == 0:
        raise Failure(f"no test matches {tests}")
    return f"{passed} tests, no errors"
