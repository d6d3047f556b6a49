"""usage: spills.py LOG MAX_BYTES
Prints the kernels that spill more bytes, from ptxas' lines in a build's log (-Xptxas=-v). Exit code 1: there are such kernels;
2: the log has no such lines."""

import sys

from ptxas_log import kernels_of


def main():
    found = kernels_of(sys.argv[1])
    max_bytes = int(sys.argv[2])
    if not found:
        print(f"{sys.argv[1]} has no lines about kernels", file=sys.stderr)
        return 2
    bad = sorted(((kernel.spilled, name) for name, kernel in found.items() if kernel.spilled > max_bytes), reverse=True)
    for bytes_, name in bad:
        print(f"{bytes_:6} bytes  {name}")
    spilling = sum(kernel.spilled > 0 for kernel in found.values())
    print(f"{len(found)} kernels, {spilling} of them spill, {len(bad)} more than {max_bytes} bytes")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
