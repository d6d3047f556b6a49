"""usage: spills.py LOG MOST_BYTES
Of ptxas' lines in a build's log (-Xptxas=-v): the kernels that spill more bytes, and code 1 where there are any. 2: the log
has no such lines."""

import re
import sys

KERNEL = re.compile(r"Compiling entry function '(\S+)'|Function properties for (\S+)")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def spills_of(lines):
    """Bytes of each kernel: the more of stores and loads."""
    found, kernel = {}, None
    for line in lines:
        if named := KERNEL.search(line):
            kernel = named[1] or named[2]
        elif spilled := SPILLS.search(line):
            found[kernel] = max(found.get(kernel, 0), int(spilled[2]), int(spilled[3]))
    return found


def main():
    with open(sys.argv[1], errors="replace") as log:
        found = spills_of(log)
    most = int(sys.argv[2])
    if not found:
        print(f"{sys.argv[1]} says nothing of kernels", file=sys.stderr)
        return 2
    bad = sorted(((bytes_, kernel) for kernel, bytes_ in found.items() if bytes_ > most), reverse=True)
    for bytes_, kernel in bad:
        print(f"{bytes_:6} bytes  {kernel}")
    spilling = sum(bytes_ > 0 for bytes_ in found.values())
    print(f"{len(found)} kernels, {spilling} of them spill, {len(bad)} more than {most} bytes")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
