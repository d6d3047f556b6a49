"""Reads ptxas' lines about each kernel from a build's log (-Xptxas=-v)."""

import dataclasses
import re

KERNEL = re.compile(r"Compiling entry function '(\S+)'|Function properties for (\S+)")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


@dataclasses.dataclass
class Kernel:
    spilled: int = 0  # bytes: the larger of stores and loads
    registers: int = 0  # per thread
    shared: int = 0  # bytes per block


def kernels_of(path):
    """Returns kernels by name; none if the log has no such lines."""
    found, name = {}, None
    with open(path, errors="replace") as log:
        for line in log:
            if named := KERNEL.search(line):
                name = named[1] or named[2]
            elif spilled := SPILLS.search(line):
                kernel = found.setdefault(name, Kernel())
                kernel.spilled = max(kernel.spilled, int(spilled[2]), int(spilled[3]))
            elif name in found and (registers := REGISTERS.search(line)):
                shared = SHARED.search(line)
                found[name].registers = int(registers[1])
                found[name].shared = int(shared[1]) if shared else 0
    return found
