"""The file of results that the option --json names and perf/compare.py reads."""

import json
import statistics


def store(path, subjects, quiet, unit="ms"):
    """Writes what was measured, if `path` is not None. `subjects`: {subject: {job: [result of each round]}}."""
    if path is not None:
        record = {"unit": unit, "subjects": subjects, "turns": quiet.turns, "disturbed": quiet.disturbed,
                  "others_percent": round(100 * statistics.mean(quiet.shares), 1) if quiet.shares else 0.0}
        path.write_text(json.dumps(record, indent=1), encoding="utf-8")


def cached(path, compute):
    """The document of an earlier call in a JSON file, or that of compute(), which is then written there."""
    if not path.exists():
        path.write_text(json.dumps(compute()), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))
