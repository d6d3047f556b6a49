"""What was found: a line each on the screen as it comes, all of it as JSON in the end."""

import json
import platform
import time

from . import device


class Failure(Exception):
    """Why a check failed."""


class Skipped(Exception):
    """Why a check cannot be made here."""


class Report:
    def __init__(self, installation):
        self.started = time.monotonic()
        self.document = {"version": installation.version, "machine": platform.node(), "host": installation.on_host,
                         "devices": [] if installation.on_host else device.names(), "checks": [], "speeds": []}
        print(installation.version)
        for name in self.document["devices"]:
            print(f"  device {name}")

    def section(self, title):
        print(f"\n{title}", flush=True)

    def record(self, name, result, seconds, detail=""):
        self.document["checks"].append({"name": name, "result": result, "seconds": round(seconds, 2), "detail": detail})
        first, *more = (detail or "").splitlines() or [""]
        print(f"  {result:4}  {name:44} {seconds:7.1f} s  {first}".rstrip(), flush=True)
        for line in more:
            print(f"          {line}")

    def check(self, name, work):
        """work() returns what to say of its success."""
        started = time.monotonic()
        try:
            result, detail = "PASS", work()
        except Failure as failure:
            result, detail = "FAIL", str(failure)
        except Skipped as reason:
            result, detail = "SKIP", str(reason)
        self.record(name, result, time.monotonic() - started, detail or "")

    def speed(self, name, value, unit):
        self.document["speeds"].append({"name": name, "value": value, "unit": unit})
        print(f"  {name:58} {value:14,.1f} {unit}", flush=True)

    def finish(self, path):
        count = {result: sum(check["result"] == result for check in self.document["checks"])
                 for result in ("PASS", "FAIL", "SKIP")}
        self.document["passed"] = count["FAIL"] == 0
        self.document["seconds"] = round(time.monotonic() - self.started, 1)
        if path:
            path.write_text(json.dumps(self.document, indent=1) + "\n")
        print(f"\n{'FAILED' if count['FAIL'] else 'PASSED'}: {count['PASS']} checks passed, {count['FAIL']} failed, "
              f"{count['SKIP']} skipped, {len(self.document['speeds'])} speeds, in {self.document['seconds']:.0f} s")
        return 1 if count["FAIL"] else 0
