"""What the ranks of a command take at their peak.

usage: process_peaks.py FILE COMMAND...    (a rank: runs COMMAND and writes its peak resident bytes to FILE-RANK)
"""
import os
import subprocess
import sys

from support.command import LAUNCHER, environment


def measure(path, command):
    """Runs a rank and writes what it took at its peak: ru_maxrss, which is VmHWM."""
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    rank = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
    with open(f"{path}-{rank}", "w", encoding="ascii") as file:
        file.write(str(1024 * usage.ru_maxrss))
    sys.exit(os.waitstatus_to_exitcode(status) & 255)


def peaks_of(command, ranks, *arguments):
    """The finished command, and the peak of each rank."""
    for old in command.folder.glob("peak-*"):
        old.unlink()
    line = [sys.executable, os.path.abspath(__file__), "peak", command.program, *arguments]
    if ranks > 1:
        line = [*LAUNCHER, "-n", str(ranks), *line]
    result = subprocess.run(line, cwd=command.folder, env=environment(), capture_output=True, text=True, timeout=900)
    return result, [int(path.read_text(encoding="ascii")) for path in sorted(command.folder.glob("peak-*"))]


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2:])
