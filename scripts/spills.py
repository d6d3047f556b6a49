"""usage: spills.py LOG MOST_BYTES
Of ptxas' lines in a build's log (-Xptxas=-v): the kernels that spill more bytes, and code 1 where there are any. 2: the log
has no such lines."""

import sys

from ptxas_log import kernels_of


def main():
    found = kernels_of(sys.argv[1])
    most = int(sys.argv[2])
    if not found:
        print(f"{sys.argv[1]} says nothing of kernels", file=sys.stderr)
        return 2
    bad = sorted(((kernel.spilled, name) for name, kernel in found.items() if kernel.spilled > most), reverse=True)
    for bytes_, name in bad:
        print(f"{bytes_:6} bytes  {name}")
    spilling = sum(kernel.spilled > 0 for kernel in found.values())
    print(f"{len(found)} kernels, {spilling} of them spill, {len(bad)} more than {most} bytes")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
