"""Reads nvidia-smi about this machine's devices."""

import subprocess
import threading


def _query(what):
    command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits"]
    try:
        return subprocess.run(command, text=True, capture_output=True, timeout=60, check=True).stdout.strip().splitlines()
    except (OSError, subprocess.SubprocessError):
        return []


def names():
    return _query("name")


def used_mebibytes():
    """The value for the first device; None if it is not reported."""
    lines = _query("memory.used")
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None


class MemoryWatch:
    """The peak memory on the first device while the block runs, minus the memory in use before."""

    def __enter__(self):
        self.before = used_mebibytes()
        self.most = self.before
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self):
        while self.before is not None and not self._ended.wait(0.2):
            self.most = max(self.most, used_mebibytes() or 0)

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    @property
    def mebibytes(self):
        return None if self.before is None else self.most - self.before
