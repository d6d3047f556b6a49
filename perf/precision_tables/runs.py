"""Runs the mylos command, and reads the processor's features."""

import pathlib
import subprocess

import turns


def mylos(arguments, *words):
    """Runs the command and returns its output; ends the study if it fails."""
    command = [str(arguments.bin / "mylos"), *map(str, words)]
    if arguments.instructions:
        command += [f"kernels.instructions={arguments.instructions}"] if "train" in command else []
    result = subprocess.run(command, capture_output=True, text=True, check=False,
                            env=turns.environment(arguments.threads, arguments.instructions))
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with code {result.returncode}:\n{result.stderr}")
    return result.stdout


def multiplies_bfloat16():
    """True if this processor multiplies bfloat16."""
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return "avx512_bf16" in flags or "amx_bf16" in flags
