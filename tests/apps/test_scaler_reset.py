"""precision.scaler.reset gives a run a fresh loss scale at one restart, and checkpoints of builds that kept no statistics of
the scaler are gone on from."""
import shutil
import zlib

import numpy

from small_problem import DECK, SCALER, prepare
from support.cases import run_cases
from support.changed_checkpoints import signed_changes
from support.run_folders import compare_runs, history_without_times, last_checkpoint, weights_of

INITIAL = 2 ** 24  # overflows at first
TRAIN = ["train", "deck.toml", "precision.compute=fp16", f"precision.scaler.initial_scale={INITIAL}"]
RESET = [*TRAIN, "precision.scaler.reset=true", "--restart", "latest"]
STATISTICS = ["recent_flags", "recent_noted", "recent_overflows", "since_backoff", "applied", "gradient_norm_sum",
              "reset_step"]
COLUMNS = ["overflow_rate", "scale_increases", "scale_decreases", "tolerated_overflows"]


def scaler_of(command, folder):
    return weights_of(last_checkpoint(command, folder), ["scaler"])


def check_reset(command, ranks):
    """Once, and what is stopped behind it ends with the same bits."""
    command.must(*TRAIN, "run.folder=first", "--stop-after", 12, ranks=ranks, code=85)
    lowered = scaler_of(command, "first")
    assert lowered["scale"] < INITIAL and lowered["reset_step"] == 0 and lowered["steps"] == 12, lowered
    for folder in ("whole", "parts"):
        shutil.copytree(command.folder / "first", command.folder / folder)
    said = f"precision.scaler.reset: the loss scale begins afresh at step 12 with {INITIAL:g} (was {lowered['scale']:g})"

    whole = command.must(*RESET, "run.folder=whole", ranks=ranks).stdout
    assert said in whole, whole
    rows = history_without_times(command, "whole")
    assert float(rows[12]["scale"]) == INITIAL and rows[12]["overflow_rate"] == rows[12]["overflow"], rows[12]
    assert command.must(*RESET, "run.folder=parts", "--stop-after", 3, ranks=ranks, code=85).stdout.count(said) == 1
    again = command.must(*RESET, "run.folder=parts", ranks=ranks).stdout
    assert "begins afresh" not in again, again
    compare_runs(command, "whole", "parts", "reset")
    assert rows == history_without_times(command, "parts")
    scaler = scaler_of(command, "parts")
    assert scaler["reset_step"] == 12 and scaler["steps"] == len(rows) - 12 == scaler["recent_noted"], scaler
    summary = command.document("parts/summary.json")["scaler"]
    assert summary["steps"] == len(rows) - 12 and summary["overflows"] == scaler["overflows"], summary
    info = command.must("info", "parts").stdout
    rate = 100 * scaler["overflows"] / scaler["steps"]
    assert f"{rate:.3g} % of all steps overflowed" in info and "mean gradient norm" in info, info


def check_no_restart(command, ranks):
    """Where nothing is gone on from, the wish does nothing, and its checkpoints are not reset either."""
    command.must(*TRAIN, "run.folder=plain", ranks=ranks)
    start = command.must(*TRAIN, "precision.scaler.reset=true", "run.folder=wish", "--stop-after", 5, ranks=ranks, code=85)
    on = command.must(*RESET, "run.folder=wish", ranks=ranks)
    assert "begins afresh" not in start.stdout + on.stdout, on.stdout
    compare_runs(command, "plain", "wish", "a wish without a restart")


def without_statistics(path):
    """The file as a build would have written it that kept none."""
    with signed_changes(path) as file:
        for name in STATISTICS:
            del file["scaler"][name]
        for name in COLUMNS:
            del file["history"][name]
        lines = [line for line in file["deck"][()].decode().splitlines()
                 if line.split(" ")[0] not in ("backoff_window", "backoff_overflows", "reset")]
        deck = "\n".join(lines).encode()
        del file["deck"]
        file["deck"] = numpy.bytes_(deck)
        file["deck"].attrs["crc32"] = numpy.int64(zlib.crc32(deck))


def check_older_build(command, ranks):
    """Statistics begin at the restart; everything else goes on with the same bits."""
    shutil.copytree(command.folder / "first", command.folder / "older")
    without_statistics(last_checkpoint(command, "older"))
    text = command.text("older/history.csv").splitlines()
    kept = [i for i, name in enumerate(text[0].split(",")) if name not in COLUMNS]
    command.write("older/history.csv", "".join(",".join(line.split(",")[i] for i in kept) + "\n" for line in text))
    restart = [*TRAIN, "run.folder=older", "--restart", "latest"]
    on = command.must(*restart, "--stop-after", 4, ranks=ranks, code=85).stdout
    assert "history.csv has other columns: now" in on and "12 rows taken from the checkpoint" in on, on
    on = command.must(*restart, ranks=ranks).stdout
    assert "history.csv" not in on, on
    scaler = scaler_of(command, "older")
    rows = history_without_times(command, "older")
    assert scaler["recent_noted"] == len(rows) - 12 and scaler["steps"] == len(rows), scaler
    plain = history_without_times(command, "plain")
    assert [{name: row[name] for name in row if name not in COLUMNS} for row in rows] == \
        [{name: row[name] for name in row if name not in COLUMNS} for row in plain]
    recent = sum(int(row["overflow"]) for row in rows[12:])
    assert scaler["recent_overflows"] == recent, scaler
    assert abs(float(rows[-1]["overflow_rate"]) - recent / (len(rows) - 12)) < 1e-5, rows[-1]


def check_other_type(command, ranks):
    """A run that goes on in half begins with half's scale: at bfloat16's, which is 1, small gradients would be lost."""
    command.write("types.toml", DECK.replace(SCALER, ""))
    bf16 = ["train", "types.toml", "run.folder=types"]
    command.must(*bf16, "--stop-after", 5, ranks=ranks, code=85)
    half = [*bf16, "precision.compute=fp16", "precision.scaler.initial_scale=4096", "--restart", "latest"]
    said = "the loss scaler is dynamic from here on (was off): the scale is 4096 (was 1)"
    assert said in command.must(*half, "--stop-after", 3, ranks=ranks, code=85).stdout
    again = command.must(*half, "--stop-after", 3, ranks=ranks, code=85).stdout
    assert "the loss scaler" not in again, again
    command.must(*bf16, "--restart", "latest", ranks=ranks)
    rows = history_without_times(command, "types")
    assert [float(row["scale"]) for row in rows[:12]] == [1] * 5 + [4096] * 6 + [1], rows[:12]


run_cases(prepare, check_reset, check_no_restart, check_older_build, check_other_type, arguments=["ranks"])
