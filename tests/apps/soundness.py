"""Whether a run warned of anything: one that is sound does not."""

from support.run_folders import events_of

EVERY_PARAMETER = "health.every=10"


def require_no_warning(command, run):
    """`run`: the folder of one that looked at its parameters."""
    found = events_of(command, run, "warning")
    assert not found, f"{run}: a sound run warned: {found[0]}"
    assert (command.folder / run / "health.csv").exists(), f"{run}: was not looked at"
