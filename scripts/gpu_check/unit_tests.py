"""The unit tests of kernels, layers, optimizer, scaler and communication: one line per test file.

They compare with references in double precision on the host, to bounds in units of roundoff; layers also with central
differences, which is the check of gradients.
"""

import json
import tempfile
import time

# Program, and what of it the sample runs.
PROGRAMS = [("test_kernels", "RmsNorm*:Gemm.*:Convert.Refuses*"), ("test_precision", "GradientCheckTest.*"),
            ("test_optim", ""), ("test_optim_ranks", ""), ("test_model", ""), ("test_comm_ranks", "Agreement.*"),
            ("test_train", "")]
SUBJECTS = {"attention": "attention forward, backward", "gemm": "products of every engine", "recompute": "recompute bitwise",
            "memory": "plan against allocations, to the byte", "steady_state": "steps allocate and wait for nothing"}


def run(installation, report, sample):
    report.section("Unit tests" + (" (a sample)" if sample else ""))
    for program, of_sample in PROGRAMS:
        chosen = of_sample if sample else "*"
        if not installation.has(program):
            report.record(program, "SKIP", 0, "not built")
        elif chosen:
            _run_program(installation, report, program, chosen)


def _run_program(installation, report, program, chosen):
    started = time.monotonic()
    with tempfile.NamedTemporaryFile(suffix=".json") as results:
        process = installation.run(program, f"--gtest_output=json:{results.name}", f"--gtest_filter={chosen}",
                                   OMP_NUM_THREADS=installation.environment.get("OMP_NUM_THREADS", "2"))
        try:
            suites = json.load(results)["testsuites"]
        except (ValueError, KeyError):
            tail = "\n".join(process.stdout.strip().splitlines()[-8:])
            report.record(program, "FAIL", time.monotonic() - started, f"ended with code {process.returncode}\n{tail}")
            return
    files = {}
    for test in (test for suite in suites for test in suite["testsuite"]):
        files.setdefault(test["file"].rsplit("/", 1)[-1], []).append(test)
    for file, tests in sorted(files.items()):
        _record(report, f"{program.removeprefix('test_')}.{file.removeprefix('test_').removesuffix('.cpp')}", tests)
    if process.returncode != 0 and not any("failures" in test for tests in files.values() for test in tests):
        report.record(program, "FAIL", time.monotonic() - started, f"its tests passed, it ended with code {process.returncode}")


def _record(report, name, tests):
    failed = [test for test in tests if "failures" in test]
    skipped = sum(test.get("result") == "SKIPPED" for test in tests)
    seconds = sum(float(test["time"].rstrip("s")) for test in tests)
    subject = SUBJECTS.get(name.split(".")[1], "")
    detail = f"{len(tests) - skipped} tests" + (f", {skipped} not for this machine" if skipped else "")
    detail += f"; {subject}" if subject else ""
    for test in failed:
        detail += f"\n{test['classname']}.{test['name']}: {test['failures'][0]['failure'].splitlines()[0]}"
    report.record(name, "FAIL" if failed else "SKIP" if skipped == len(tests) else "PASS", seconds, detail)
