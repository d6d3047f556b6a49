"""What runs that change their own deck say of it, and whether stopped and killed ones end with the bits of those that were
left alone; for the tests of going back and of adapting."""
import json
import math
import re
import signal
import statistics
import time

import h5py

from support.processes import HANGS_AFTER_S
from support.run_folders import compare_runs, events_of, history_without_times, rows_without_times


def amendments_of(path):
    with h5py.File(path, "r") as file:
        text = file["history"]["amendments"][()].decode() if "amendments" in file["history"] else ""
        return [json.loads(line) for line in text.splitlines()]


def reached_by(command, folder):
    """The more the better: an accuracy, or the logarithm of an inverse loss."""
    row = [row for row in rows_without_times(command, folder, "evaluations.csv") if row["part"] == "test"][-1]
    return float(row["accuracy"]) if row["accuracy"] else -math.log(float(row["loss"]))


class Bench:
    """What runs without trouble reach, by the seed."""

    def __init__(self, command, deck, seeds):
        self.reached = []
        text = command.text(deck)  # in float, whose loss has no scale
        command.write(f"sound-{deck}", re.sub(r"^(initial|min)_scale = .*\n", "", text, flags=re.M))
        for seed in range(1, seeds + 1):
            folder = f"sound-{deck}-{seed}"
            command.must("train", f"sound-{deck}", f"run.folder={folder}", f"run.seed={seed}")
            assert not (command.folder / folder / "events.jsonl").exists(), "a sound run has nothing to tell"
            self.reached.append(reached_by(command, folder))
        self.least = statistics.mean(self.reached) - 3 * statistics.stdev(self.reached)


def go_on(command, arguments, ranks, steps):
    """Starts of so many steps each, to the end."""
    given = [one for one in arguments if one not in ("--restart", "latest")]
    result = command.run(*arguments, "--stop-after", steps, ranks=ranks)
    starts = 1
    while result.returncode == 85 and starts < 200:
        result = command.run(*given, "--restart", "latest", "--stop-after", steps, ranks=ranks)
        assert "changed at the restart" not in result.stdout, result.stdout
        starts += 1
    assert result.returncode == 0, result.stderr
    return starts


def require_same(command, whole, other):
    compare_runs(command, whole, other)
    assert history_without_times(command, whole) == history_without_times(command, other)
    for kind in ("rewind", "adaptation", "warning"):
        assert events_of(command, whole, kind) == events_of(command, other, kind), kind


def kill_at(command, line, *arguments, ranks=1):
    """Starts a run without checkpoints beside its steps, and kills it when it says this."""
    run = command.start(*arguments, "checkpoint.background=false", ranks=ranks)
    for said in run.stdout:
        if line in said:
            break
    else:
        raise AssertionError(f"the run ended and did not say: {line}\n{run.stderr.read()}")
    run.send_signal(signal.SIGKILL)
    run.wait()


def go_on_after_kill(command, *arguments, ranks=1):
    """As soon as the ranks of the killed run have left the folder."""
    deadline = time.monotonic() + HANGS_AFTER_S
    again = command.run(*arguments, "--restart", "latest", ranks=ranks)
    while again.returncode == 2 and "works in this folder" in again.stderr and time.monotonic() < deadline:
        again = command.run(*arguments, "--restart", "latest", ranks=ranks)
    assert again.returncode == 0, again.stderr
