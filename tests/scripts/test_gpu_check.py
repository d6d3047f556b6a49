"""scripts/gpu-check on the host build: it passes what is right, fails what is wrong, and says so in its code. Programs that
die or hang take nothing else with them, and what was found before the end of its time is there.

usage: test_gpu_check.py REPOSITORY BUILD
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile


def require(condition, what, process):
    if not condition:
        sys.exit(f"FAILED: {what}\ncode {process.returncode}\n{process.stdout}")


# A test program of three files: one dies as of an illegal address, one is right, one hangs with a child of its own.
PROGRAM = """#!/usr/bin/env python3
import json, os, subprocess, sys
options = dict(argument[2:].split("=", 1) for argument in sys.argv[1:] if "=" in argument)
tests = [{"name": name, "file": f"/src/test_{name}.cpp", "time": "0s", "result": "COMPLETED"} for name in ("dies", "is_right", "hangs")]
if "--gtest_list_tests" not in sys.argv:
    chosen = options["gtest_filter"].split(":")
    tests = [test for test in tests if "Suite." + test["name"] in chosen]
    if "Suite.dies" in chosen:
        os.abort()
    if "Suite.hangs" in chosen:
        subprocess.run(["sleep", "98765"])
with open(options["gtest_output"].removeprefix("json:"), "w") as file:
    json.dump({"testsuites": [{"name": "Suite", "testsuite": tests}]}, file)
"""


def check_that_files_are_alone(repository, folder):
    sys.path[:0] = [str(repository / "scripts"), str(repository / "perf")]
    sys.dont_write_bytecode = True
    from gpu_check import unit_tests
    from harness.budget import Budget
    from gpu_check.installation import Installation
    from gpu_check.report import INCOMPLETE, Report

    (folder / "bin").mkdir()
    for name, text in (("mylos", "#!/bin/sh\necho Mylos, OpenMP\n"), ("test_kernels", PROGRAM)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    table = folder / "table.tsv"
    report = Report(Installation(repository, True, folder, Budget(1000)), table)
    unit_tests.FILE_SECONDS = 15  # on a busy machine a program of Python takes seconds to start
    unit_tests.PROGRAMS = [("test_kernels", "")]
    unit_tests.run(Installation(repository, True, folder, Budget(1000)), report, False)
    found = {check["name"]: check["result"] for check in report.document["checks"]}
    assert found == {"kernels.dies": "FAIL", "kernels.hangs": "FAIL", "kernels.is_right": "PASS"}, found
    lines = [line.split("\t") for line in table.read_text().splitlines()]
    assert [line[:3] for line in lines if line[0] == "check"] == [["check", *item] for item in found.items()], lines
    left_behind = subprocess.run(["pgrep", "-f", "sleep 98765"], text=True, stdout=subprocess.PIPE).stdout
    assert left_behind == "", f"what a program started goes with it: {left_behind}"

    budget = Budget(1000)
    installation = Installation(repository, True, folder, budget)
    late = Report(installation)
    unit_tests.FILE_SECONDS = 1000
    budget.end_section_at(0.004)
    unit_tests.run(installation, late, False)  # however few of them are begun in this time
    budget.end_section_at(0)
    unit_tests.run(installation, late, False)
    found = {check["name"]: check["result"] for check in late.document["checks"]}
    assert found.get("kernels.hangs", "LATE") == found["test_kernels"] == "LATE", found
    late.document["checks"] = [check for check in late.document["checks"] if check["result"] != "FAIL"]
    assert late.finish(None) == INCOMPLETE


def check_what_fits_a_time(repository):
    from harness.budget import MIN_STEPS, MAX_STEPS, rounds_within, steps_within
    for start, step in ((0.5, 0.01), (3, 1.8), (10, 3.5), (1, 0.0)):
        for seconds in (5, 60, 130, 1e6):
            steps = steps_within(seconds, 14, start, step)
            assert MIN_STEPS <= steps <= MAX_STEPS
            assert steps == MIN_STEPS or 14 * (start + steps * step) <= seconds * 1.000001
            fitting = rounds_within(seconds, 2, start, step)
            if fitting is None:
                assert 2 * (start + MIN_STEPS * step) > seconds * 0.999999
            else:
                assert fitting[0] * 2 * (start + fitting[1] * step) <= seconds * 1.000001
                assert fitting == (3, MAX_STEPS) or fitting[0] * 2 * (start + (fitting[1] + 1) * step) > seconds or fitting[0] < 3


def check_nccl_is_found(folder):
    """Of a version with which ranks may share a device."""
    from gpu_check import shared_device
    from gpu_check.report import Skipped

    def library(name, version):
        path = folder / name
        path.mkdir(parents=True)
        source = f"int ncclGetVersion(int* version) {{ *version = {version}; return 0; }}"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path / "libnccl.so.2"], input=source, text=True, check=True)
        return path

    def why_skipped(given):
        try:
            return f"found in {shared_device.find_nccl(given)}"
        except Skipped as reason:
            return str(reason)

    old, new = library("old", 22809), library("new", 23003)
    assert shared_device.find_nccl(new) == new.resolve()
    assert "old has version 22809" in why_skipped(old), why_skipped(old)
    assert "nvidia-nccl-cu13" in why_skipped(folder), why_skipped(folder)
    package = library("packages/nvidia/nccl/lib", 23203)
    sys.path.insert(0, str(folder / "packages"))
    assert shared_device.find_nccl() == package.resolve()
    sys.path.pop(0)


def check_errors_of_the_sanitizer(repository, folder):
    """What it finds is a failure, with its own lines; so is a program in which no test ran."""
    from gpu_check import sanitizer
    from harness.budget import Budget
    from gpu_check.installation import Installation
    from gpu_check.report import Failure, Skipped

    def write(name, *lines):
        path = folder / "bin" / name
        path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
        path.chmod(0o755)

    def outcome(tool):
        try:
            return sanitizer.check(installation, tool, "test_optim", "*")
        except (Failure, Skipped) as problem:
            return f"{type(problem).__name__}: {problem}"

    (folder / "bin").mkdir(parents=True)
    write("mylos", "echo Mylos, OpenMP")
    write("test_optim", "echo '[  PASSED  ] 3 tests.'")
    installation = Installation(repository, True, folder, Budget(1000))
    assert outcome("memcheck").startswith("Skipped"), outcome("memcheck")
    installation.on_host = False
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{folder / 'bin'}:{before}"
    write("compute-sanitizer", 'tool=$2', 'while [ "$1" != 9 ]; do shift; done; shift', '"$@"',
          '[ "$tool" = memcheck ] || { echo "========= Race reported"; exit 9; }')
    assert outcome("memcheck") == "3 tests, no errors", outcome("memcheck")
    assert outcome("racecheck").startswith("Failure") and "Race reported" in outcome("racecheck"), outcome("racecheck")
    write("test_optim", "echo '[  PASSED  ] 0 tests.'")
    assert outcome("memcheck").startswith("Failure: no test"), outcome("memcheck")
    os.environ["PATH"] = before


def check_a_plan_is_near_full_memory():
    from gpu_check import full_memory

    class Plans:
        def plan(self, samples, room):
            return {"rank_bytes": 3_000_000_000 + 550_000_000 * samples}

    samples = full_memory.largest_micro_batch(Plans(), 78_000_000_000)
    assert samples == 136, samples


def check_processor_is_asked(build):
    """Before its own code runs, by every test program that a bundle has."""
    for program in ("test_kernels", "test_train", "test_comm_ranks"):
        path = build / "bin" / program
        if os.uname().machine != "x86_64" or not path.exists():
            continue
        sections = subprocess.run(["readelf", "--sections", "--wide", path], text=True, capture_output=True, check=True).stdout
        assert ".preinit_array" in sections, program


def main():
    repository, build = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        check_that_files_are_alone(repository, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        check_nccl_is_found(pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        check_errors_of_the_sanitizer(repository, pathlib.Path(folder))
    check_a_plan_is_near_full_memory()
    check_what_fits_a_time(repository)
    check_processor_is_asked(build)

    def gpu_check(*arguments):
        return subprocess.run([sys.executable, repository / "scripts/gpu-check", *map(str, arguments)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wrong = folder / "losses.json"  # as of a machine that computes nonsense
        wrong.write_text(json.dumps({deck: ["1.0"] * 20 for deck in ("gpt_shakespeare_cpu", "surrogate")}))
        results, table = folder / "results.json", folder / "results.tsv"
        process = gpu_check("--host", "--build", build, "--sample", "--losses", wrong, "--json", results, "--table", table)
        require(results.exists(), "it comes to its end", process)
        found = json.loads(results.read_text())
        failed = [check["name"] for check in found["checks"] if check["result"] == "FAIL"]
        skipped = [check["name"] for check in found["checks"] if check["result"] == "SKIP"]
        require(process.returncode == 1 and not found["passed"], "wrong losses fail", process)
        require(failed == ["losses of 20 steps in fp32"], "all else passes", process)
        require(set(skipped) <= {"benchmarks"}, "nothing but the benchmarks may be left out", process)
        require(any("restart, bitwise" in check["name"] for check in found["checks"]), "restarts are checked", process)
        require(any(speed["unit"] == "tokens/s" for speed in found["speeds"]), "steps have a speed", process)

        lines = [line.split("\t") for line in table.read_text().splitlines()]
        require([line[1] for line in lines if line[0] == "check"] == [check["name"] for check in found["checks"]],
                "the table has every check", process)

        for arguments, words in ((("--host", "--build", folder), "is not there"), (("--build", build), "give --host")):
            refused = gpu_check(*arguments)
            require(refused.returncode == 2 and words in refused.stdout, f"refused: {words}", refused)


if __name__ == "__main__":
    main()
