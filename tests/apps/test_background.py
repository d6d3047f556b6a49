"""Checkpoints that are written asynchronously hold the same bits as those for which the steps wait."""
import re

from small_problem import prepare
from support.cases import run_cases
from support.run_folders import compare
from support.tables import column_of

EVERY_S = 0.06


def files(command, folder):
    return {path.name: path for path in (command.folder / folder / "checkpoints").glob("step-*.h5")}


def check_same_bits(command, ranks):
    common = ["train", "deck.toml", "checkpoint.every=3"]
    beside = command.must(*common, f"run.folder=beside-{ranks}", ranks=ranks)
    between = command.must(*common, f"run.folder=between-{ranks}", "checkpoint.background=false", ranks=ranks)
    assert "11 written, 10 of them asynchronously" in beside.stdout, beside.stdout
    assert "11 written, 0 of them asynchronously" in between.stdout, between.stdout
    a, b = files(command, f"beside-{ranks}"), files(command, f"between-{ranks}")
    assert len(a) == 11 and a.keys() == b.keys(), (a, b)
    for name, path in a.items():
        compare(path, b[name], f"{name} on {ranks} ranks")
        command.must("info", path)
    last = max(a.items())[1]
    written = last.stat().st_mtime_ns
    again = command.must(*common, f"run.folder=beside-{ranks}", "--restart", "latest", ranks=ranks)
    assert "nothing left to do" in again.stdout and last.stat().st_mtime_ns == written, "the checkpoint was written again"
    print(f"{ranks} ranks: {len(a)} checkpoints have the same bits")


def check_budget(command):
    """A copy that does not fit is not made, and is no reason to compute anything again."""
    plan = command.plan("deck.toml", "model.hidden=[1024, 1024]")
    copy = re.search(r"copy for checkpoints +([\d.]+) MiB", plan.stdout)
    peak = re.search(r"peak of a rank +([\d.]+) MiB", plan.stdout)
    assert copy and float(copy[1]) > 12, plan.stdout
    budget = f"memory.budget={int(float(peak[1]) - float(copy[1]) / 2)} MiB"  # processes differ by some MiB
    plan = command.plan("deck.toml", "model.hidden=[1024, 1024]", budget)
    assert "copy for checkpoints" not in plan.stdout and "every block keeps all" in plan.stdout, plan.stdout
    run = command.must("train", "deck.toml", "model.hidden=[1024, 1024]", budget, "run.folder=tight")
    assert "between steps: a copy of the state does not fit memory.budget" in run.stdout, run.stdout
    assert re.search(r"\d written, 0 of them asynchronously", run.stdout), run.stdout
    print(f"a copy of {copy[1]} MiB is left out where it does not fit")


def check_clock(command, ranks):
    steps = ["run.steps=4000", "run.evaluate_every=1000000", "run.log_every=100"]  # some tenths of a second
    result = command.must("train", "deck.toml", f"run.folder=clock-{ranks}", *steps, "checkpoint.every=0",
                          f"checkpoint.every_minutes={EVERY_S / 60}", ranks=ranks)
    seconds = column_of(command.folder / f"clock-{ranks}" / "history.csv", "elapsed_s")[-1]
    count = len(files(command, f"clock-{ranks}")) - 1  # and the last
    assert 1 <= count <= seconds / EVERY_S + 1, (count, seconds, result.stdout[-2000:])
    command.must("train", "deck.toml", f"run.folder=hour-{ranks}", *steps, "checkpoint.every=0", "checkpoint.every_minutes=60",
                 ranks=ranks)
    assert len(files(command, f"hour-{ranks}")) == 1, "an hour is longer than this run"
    print(f"{ranks} ranks: {count} checkpoints by the clock in {seconds:.1f} s, one each {EVERY_S} s at most")


run_cases(prepare, (check_same_bits, 1), (check_same_bits, 3), check_budget, (check_clock, 2))
