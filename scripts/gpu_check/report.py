"""Reports results: one line each on the screen at once and, if a file is given, in a table that is complete at any time; all
results as JSON at the end."""

import json
import os
import platform
import threading
import time

from harness.budget import OutOfTime

from . import device

RESULTS = ("PASS", "FAIL", "SKIP", "LATE")
PASSED, FAILED, INCOMPLETE = 0, 1, 3  # exit codes


class Failure(Exception):
    """The reason why a check failed."""


class Skipped(Exception):
    """The reason why a check cannot run on this machine."""


class Table:
    """A file of tab-separated values; each line is on the disk before the next check begins."""

    def __init__(self, path):
        self._file = path.open("w") if path else None
        self.add("what", "name", "result", "unit", "detail")

    def add(self, *values):
        if self._file is None:
            return
        print(*(" | ".join(str(value).split("\n")).replace("\t", " ") for value in values), sep="\t", file=self._file)
        self._file.flush()
        os.fsync(self._file.fileno())


class Report:
    def __init__(self, installation, table=None):
        self.started = time.monotonic()
        self.document = {"version": installation.version, "machine": platform.node(), "host": installation.on_host,
                         "devices": [] if installation.on_host else device.names(), "checks": [], "speeds": []}
        self._table = Table(table)
        self._lock = threading.Lock()  # checks may run side by side
        for line in installation.version.splitlines():
            self._table.add("version", line, "", "", "")
        print(installation.version)
        for name in self.document["devices"]:
            self._table.add("device", name, "", "", "")
            print(f"  device {name}")

    def section(self, title):
        print(f"\n{title}", flush=True)

    def record(self, name, result, seconds, detail=""):
        with self._lock:
            self._record(name, result, seconds, detail)

    def _record(self, name, result, seconds, detail):
        self.document["checks"].append({"name": name, "result": result, "seconds": round(seconds, 2), "detail": detail})
        self._table.add("check", name, result, f"{seconds:.1f} s", detail)
        first, *more = (detail or "").splitlines() or [""]
        print(f"  {result:4}  {name:44} {seconds:7.1f} s  {first}".rstrip(), flush=True)
        for line in more:
            print(f"          {line}", flush=True)

    def check(self, name, work):
        """Runs work(), which returns the text for success."""
        started = time.monotonic()
        try:
            result, detail = "PASS", work()
        except Failure as failure:
            result, detail = "FAIL", str(failure)
        except Skipped as reason:
            result, detail = "SKIP", str(reason)
        except OutOfTime as late:
            result, detail = "LATE", str(late)
        self.record(name, result, time.monotonic() - started, detail or "")

    def speed(self, name, value, unit):
        self.document["speeds"].append({"name": name, "value": value, "unit": unit})
        self._table.add("speed", name, f"{value:.6g}", unit, "")
        print(f"  {name:58} {value:14,.1f} {unit}", flush=True)

    def finish(self, path):
        count = {result: sum(check["result"] == result for check in self.document["checks"]) for result in RESULTS}
        self.document["passed"] = count["FAIL"] == 0 and count["LATE"] == 0
        self.document["seconds"] = round(time.monotonic() - self.started, 1)
        if path:
            path.write_text(json.dumps(self.document, indent=1) + "\n")
        code = FAILED if count["FAIL"] else INCOMPLETE if count["LATE"] else PASSED
        verdict = {FAILED: "FAILED", INCOMPLETE: "INCOMPLETE", PASSED: "PASSED"}[code]
        late = f", {count['LATE']} had no time (--budget)" if count["LATE"] else ""
        print(f"\n{verdict}: {count['PASS']} checks passed, {count['FAIL']} failed, {count['SKIP']} skipped{late}, "
              f"{len(self.document['speeds'])} speeds, in {self.document['seconds']:.0f} s")
        return code
