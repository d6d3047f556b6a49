"""scripts/gpu-check on the host build: it passes what is right, fails what is wrong, and says so in its code.

usage: test_gpu_check.py REPOSITORY BUILD
"""

import json
import pathlib
import subprocess
import sys
import tempfile


def require(condition, what, process):
    if not condition:
        sys.exit(f"FAILED: {what}\ncode {process.returncode}\n{process.stdout}")


def main():
    repository, build = map(pathlib.Path, sys.argv[1:3])

    def gpu_check(*arguments):
        return subprocess.run([sys.executable, repository / "scripts/gpu-check", *map(str, arguments)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        wrong = folder / "losses.json"  # as of a machine that computes nonsense
        wrong.write_text(json.dumps({deck: ["1.0"] * 20 for deck in ("gpt_shakespeare_cpu", "surrogate")}))
        results = folder / "results.json"
        process = gpu_check("--host", "--build", build, "--sample", "--losses", wrong, "--json", results)
        require(results.exists(), "it comes to its end", process)
        found = json.loads(results.read_text())
        failed = [check["name"] for check in found["checks"] if check["result"] == "FAIL"]
        skipped = [check["name"] for check in found["checks"] if check["result"] == "SKIP"]
        require(process.returncode == 1 and not found["passed"], "wrong losses fail", process)
        require(failed == ["losses of 20 steps in fp32"], "all else passes", process)
        require(set(skipped) <= {"benchmarks"}, "nothing but the benchmarks may be left out", process)
        require(any("restart, bitwise" in check["name"] for check in found["checks"]), "restarts are checked", process)
        require(any(speed["unit"] == "tokens/s" for speed in found["speeds"]), "steps have a speed", process)

        for arguments, words in ((("--host", "--build", folder), "is not there"), (("--build", build), "give --host")):
            refused = gpu_check(*arguments)
            require(refused.returncode == 2 and words in refused.stdout, f"refused: {words}", refused)


if __name__ == "__main__":
    main()
