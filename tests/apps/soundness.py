"""Whether a run warned of anything: one that is sound does not."""
import json
import pathlib

EVERY_PARAMETER = "health.every=10"


def require_no_warning(folder):
    """`folder`: of a run that looked at its parameters."""
    events = pathlib.Path(folder) / "events.jsonl"
    lines = events.read_text(encoding="utf-8").splitlines() if events.exists() else []
    found = [event for event in map(json.loads, lines) if event["kind"] == "warning"]
    assert not found, f"{folder}: a sound run warned: {found[0]}"
    assert (pathlib.Path(folder) / "health.csv").exists(), f"{folder}: was not looked at"
