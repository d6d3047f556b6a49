"""The product's own command, and what the processor can do."""

import pathlib
import subprocess

import turns


def mylos(arguments, *words):
    """Its output; ends the study where it fails."""
    command = [str(arguments.bin / "mylos"), *map(str, words)]
    if arguments.instructions:
        command += [f"kernels.instructions={arguments.instructions}"] if "train" in command else []
    result = subprocess.run(command, capture_output=True, text=True, check=False,
                            env=turns.environment(arguments.threads, arguments.instructions))
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with code {result.returncode}:\n{result.stderr}")
    return result.stdout


def multiplies_bfloat16():
    """Whether this processor has products of bfloat16."""
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return "avx512_bf16" in flags or "amx_bf16" in flags
