"""scripts/cuda-architecture: architectures that a CUDA toolkit compiles for, and a clear line for all others.

usage: test_cuda_architecture.py REPOSITORY
"""

import pathlib
import subprocess
import sys
import tempfile

NVCC = """#!/bin/sh
case "$1" in
  --list-gpu-arch) printf 'compute_75\\ncompute_80\\ncompute_90\\ncompute_100\\n' ;;
  --version) echo 'Cuda compilation tools, release 13.0, V13.0.88' ;;
esac
"""


def main():
    repository = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        nvcc = pathlib.Path(folder) / "nvcc"
        nvcc.write_text(NVCC)
        nvcc.chmod(0o755)

        def ask(architecture):
            return subprocess.run([repository / "scripts/cuda-architecture", nvcc, architecture], text=True,
                                  capture_output=True, check=False)

        for known in ("TURING75", "HOPPER90", "BLACKWELL100"):
            asked = ask(known)
            assert (asked.returncode, asked.stderr) == (0, ""), asked
        for unknown, expected in (("VOLTA70", ("CUDA 13.0", "VOLTA70", "7.5, 8.0, 9.0, 10.0", "CUDA 12", "V100")),
                                  ("HOPPER", ("does not compile for HOPPER.",)), ("AMPERE10", ("AMPERE10",))):
            asked = ask(unknown)
            assert asked.returncode == 1 and all(text in asked.stderr for text in expected), asked
        assert "V100" not in ask("HOPPER").stderr


if __name__ == "__main__":
    main()
