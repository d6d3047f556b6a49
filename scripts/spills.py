"""usage: spills.py LOG MAX_BYTES
Prints the kernels that spill more bytes than that, or than is stated below for them, from ptxas' lines in a build's log
(-Xptxas=-v). Exit code 1: there are such kernels; 2: the log has no such lines."""

import sys

from ptxas_log import kernels_of

# Kernels that may spill more, by a part of their names: bytes, and why.
NAMED = {
    # The loss holds a row of logits in 100 of the 128 registers of each lane. What it spills lies outside of the loops over
    # them: on an H100 it reads and writes 2,850 GB/s.
    "cross_entropy9read_once": 176,
}


def bound_of(name, max_bytes, named=None):
    return max([max_bytes, *(size for part, size in (NAMED if named is None else named).items() if part in name)])


def main():
    found = kernels_of(sys.argv[1])
    max_bytes = int(sys.argv[2])
    if not found:
        print(f"{sys.argv[1]} has no lines about kernels", file=sys.stderr)
        return 2
    bad = sorted(((kernel.spilled, name) for name, kernel in found.items() if kernel.spilled > bound_of(name, max_bytes)),
                 reverse=True)
    for bytes_, name in bad:
        print(f"{bytes_:6} bytes  {name}")
    spilling = sum(kernel.spilled > 0 for kernel in found.values())
    print(f"{len(found)} kernels, {spilling} of them spill, {len(bad)} more than {max_bytes} bytes, or than their names permit")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
