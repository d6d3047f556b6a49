"""The unit tests of kernels, layers, optimizer, scaler and communication. Each test file has its own process and line, so
that an illegal address or a hang in one file does not affect the others. Several run at the same time if there are enough
cores: most of their time goes into the references, which the host computes.

They compare with references in double precision on the host, to bounds in units of roundoff. Layers are also compared with
central differences, which checks gradients.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import tempfile

from harness.budget import OutOfTime
from harness.programs import last_lines

from .report import Failure, Skipped

# Program, and the filter of its tests in a sample.
PROGRAMS = [("test_kernels", "RmsNorm*:Gemm.*:Convert.Refuses*"), ("test_precision", "GradientCheckTest.*"),
            ("test_optim", ""), ("test_optim_ranks", ""), ("test_model", ""), ("test_comm_ranks", "Agreement.*"),
            ("test_inference", ""), ("test_train", "")]
SUBJECTS = {"attention": "attention forward, backward", "gemm": "GEMMs of every engine", "recompute": "recompute bitwise",
            "memory": "plan against allocations, to the byte", "steady_state": "steps allocate and wait for nothing"}
LIST_SECONDS = 60
FILE_SECONDS = 120
MAX_AT_ONCE, CORES_OF_ONE = 8, 2
MAX_NAMED, MAX_CHARACTERS = 10, 400  # failed tests of a file, and characters of each message


def run(installation, report, sample):
    report.section("Unit tests" + (" (a sample)" if sample else ""))
    files = []
    for program, of_sample in PROGRAMS:
        chosen = of_sample if sample else "*"
        if not installation.has(program):
            report.record(program, "SKIP", 0, "not built")
        elif chosen:
            files += _files(installation, report, program, chosen)
    files.sort(key=lambda file: -len(file[2]))  # the longest first
    with concurrent.futures.ThreadPoolExecutor(max(1, min(MAX_AT_ONCE, os.cpu_count() // CORES_OF_ONE))) as workers:
        for work in [workers.submit(_check, installation, report, *file) for file in files]:
            work.result()


def _files(installation, report, program, chosen):
    """A list of (program, name of the check, its tests)."""
    try:
        files = _tests_by_file(installation, program, chosen)
    except OutOfTime as late:
        report.record(program, "LATE", 0, str(late))
        return []
    except Failure as failure:
        report.record(program, "FAIL", 0, str(failure))
        return []
    short = program.removeprefix("test_")
    return [(program, f"{short}.{file.removeprefix('test_').removesuffix('.cpp')}", tests)
            for file, tests in sorted(files.items())]


def _check(installation, report, program, name, tests):
    report.check(name, lambda: _run_file(installation, program, name, tests))


def _run(installation, program, *options, limit, **variables):
    """The process and its JSON output: None if it did not finish."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        process = installation.run(program, f"--gtest_output=json:{results}", *options, timeout=limit, **variables)
        try:
            return process, json.loads(results.read_text())["testsuites"]
        except (OSError, ValueError, KeyError):
            return process, None


def passed_tests(process):
    """The number that a program of unit tests printed; None if it did not come to its end."""
    passed = re.search(r"PASSED +\] (?:\x1b\[m)?(\d+) test", process.stdout)
    return int(passed.group(1)) if passed else None


def _tests_by_file(installation, program, chosen):
    process, suites = _run(installation, program, f"--gtest_filter={chosen}", "--gtest_list_tests", limit=LIST_SECONDS)
    if suites is None:
        raise Failure(f"cannot list its tests, ended with code {process.returncode}\n{last_lines(process.stdout, 8)}")
    files = {}
    for suite in suites:
        for test in suite["testsuite"]:
            files.setdefault(test["file"].rsplit("/", 1)[-1], []).append(f"{suite['name']}.{test['name']}")
    return files


def _run_file(installation, program, name, tests):
    process, suites = _run(installation, program, f"--gtest_filter={':'.join(tests)}", limit=FILE_SECONDS,
                           OMP_NUM_THREADS=installation.environment.get("OMP_NUM_THREADS", "2"))
    if suites is None:
        raise Failure(f"ended with code {process.returncode}\n{last_lines(process.stdout, 8)}")
    results = [test for suite in suites for test in suite["testsuite"]]
    failed = [test for test in results if "failures" in test]
    skipped = sum(test.get("result") == "SKIPPED" for test in results)
    subject = SUBJECTS.get(name.split(".")[1], "")
    detail = f"{len(results) - skipped} tests" + (f", {skipped} not for this machine" if skipped else "")
    detail += f"; {subject}" if subject else ""
    for test in failed[:MAX_NAMED]:
        what = " ".join(test["failures"][0]["failure"].split())
        detail += f"\n{test['classname']}.{test['name']}: {what[:MAX_CHARACTERS]}"
    if failed:
        more = f"\nand {len(failed) - MAX_NAMED} more" if len(failed) > MAX_NAMED else ""
        raise Failure(f"{len(failed)} of {detail}{more}")
    if process.returncode != 0:
        raise Failure(f"its tests passed, it ended with code {process.returncode}\n{last_lines(process.stdout, 8)}")
    if skipped == len(results):
        raise Skipped(detail)
    return detail
