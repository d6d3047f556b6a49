"""The machine of a measurement, and the versions of what it has."""

import os
import pathlib
import platform

from .programs import ROOT, output_if_any


def processor():
    """The processor's name from lscpu."""
    for line in output_if_any("lscpu").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "Model name":
            return value.strip()
    return platform.machine()


def instruction_sets():
    """Those of this processor on which the speed of vector code depends."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return [name for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("avx512_bf16", "BF16"), ("amx_bf16", "AMX"))
            if flag in flags]


def multiplies_bfloat16():
    """True if this processor multiplies bfloat16."""
    return not {"BF16", "AMX"}.isdisjoint(instruction_sets())


def cores():
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def commit(*options):
    """Of this checkout, by git and its options; "" if it is none."""
    return output_if_any("git", "-C", ROOT, *options).strip()


def version_of(mylos):
    """The first line of `mylos --version`."""
    return output_if_any(mylos, "--version").partition("\n")[0]
