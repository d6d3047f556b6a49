"""usage: kernel_needs.py LOG
Of ptxas' lines in a build's log (-Xptxas=-v): a line "NAME REGISTERS SHARED_BYTES" for each kernel."""

import re
import sys

KERNEL = re.compile(r"Compiling entry function '(\S+)'")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def needs_of(lines):
    found, kernel = {}, None
    for line in lines:
        if named := KERNEL.search(line):
            kernel = named[1]
        elif kernel and (registers := REGISTERS.search(line)):
            shared = SHARED.search(line)
            found[kernel] = (int(registers[1]), int(shared[1]) if shared else 0)
    return found


if __name__ == "__main__":
    with open(sys.argv[1], errors="replace") as log:
        for name, (registers, shared) in needs_of(log).items():
            print(name, registers, shared)
