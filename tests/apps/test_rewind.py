"""Runs that diverge go back to a checkpoint from before the trouble, change what their deck allows, and end as good as runs
that had no trouble; one that is stopped and gone on with in between ends with the same bits."""
import json
import shutil

import numpy

from amended_runs import Bench, amendments_of, go_on, go_on_after_kill, kill_at, reached_by, require_same
from rewind_cases import HEAD, INJECTED, RATE, SAMPLE, STATIC_STEP, prepare_cases
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.data_files import read_data
from support.run_folders import events_of, history_without_times, last_checkpoint
from test_report import report


def learning_rate_of(path):
    lines = read_data(path, "deck").decode().splitlines()
    return float(next(line for line in lines if line.startswith("lr = ")).split("=")[1])


def learning_rate_of_deck(command, folder):
    """Of the deck as the user gave it."""
    lines = command.text(f"{folder}/resolved.toml").splitlines()
    return float(next(line for line in lines if line.startswith("lr = ")).split("=")[1])


def begin(command, name, folder):
    """Of the static scale: a run that was sound, with a scale in its checkpoint that no gradient has room for."""
    deck, ranks, overrides = INJECTED[name]
    arguments = ["train", deck, *overrides, f"run.folder={folder}"]
    if name != "static-scale":
        return arguments, ranks
    command.must(*arguments, "--stop-after", STATIC_STEP, ranks=ranks, code=85)
    file = last_checkpoint(command, folder)
    replace_signed(file, file.with_suffix(".other"), {"/scaler/scale": numpy.float32(2.0 ** 21)})
    file.with_suffix(".other").rename(file)
    return [*arguments, "--restart", "latest"], ranks


def check_injected(command, benches, name):
    deck, _, overrides = INJECTED[name]
    folder = f"injected-{name}"
    arguments, ranks = begin(command, name, folder)
    said = command.must(*arguments, ranks=ranks).stdout
    returns = events_of(command, folder, "rewind")
    assert 1 <= len(returns) <= 3, said
    for event in returns:
        assert f"step {event['step']}: {event['text']}" in said, event
    last = last_checkpoint(command, folder)
    amendments = amendments_of(last)
    assert [one["text"] for one in amendments] == [one["text"] for one in returns]
    for one in amendments:  # to a checkpoint of checkpoint.every from before the trouble
        assert one["from"] % 20 == 0 and one["from"] < one["step"], one
    expected = learning_rate_of_deck(command, folder) * numpy.prod([one.get("lr_factor", 1) for one in amendments])
    assert abs(learning_rate_of(last) / expected - 1) < 1e-12, (learning_rate_of(last), expected)
    if name.startswith("rate"):
        assert {event["cause"] for event in returns} <= {"loss jump", "not finite"}, returns
        assert learning_rate_of(last) < learning_rate_of_deck(command, folder), amendments
    if name.startswith("head"):
        assert [one.get("float_layer") for one in amendments] == ["head"] and "lr_factor" not in amendments[0], amendments
    if name == "static-scale":
        assert [one["scale_factor"] for one in amendments] == [0.0625] and amendments[0]["from"] == STATIC_STEP, amendments
        assert "lr_factor" not in amendments[0] and "float_layer" not in amendments[0], amendments
    rows = history_without_times(command, folder)
    assert [int(row["step"]) for row in rows] == list(range(1, len(rows) + 1)), "a row for each step, once"
    reached, bench = reached_by(command, folder), benches[deck]
    assert reached >= bench.least, f"{name}: {reached}, of sound runs {bench.reached}: {returns}"
    print(f"{name}, {ranks} ranks: {len(returns)} returns, {reached:.3f}, of sound runs at least {bench.least:.3f}", flush=True)


def check_pieces(command, name, steps):
    """Stopped and gone on with every few steps: before, between and behind the returns."""
    folder = f"pieces-{name}-{steps}"
    arguments, ranks = begin(command, name, folder)
    starts = go_on(command, arguments, ranks, steps)
    require_same(command, f"injected-{name}", folder)
    print(f"{name}: the same bits over {starts} starts", flush=True)


def check_killed(command, name):
    """Between the checkpoint that was gone back to and any other."""
    folder = f"killed-{name}"
    arguments, ranks = begin(command, name, folder)
    kill_at(command, "; back to step", *arguments, ranks=ranks)
    given = [one for one in arguments if one not in ("--restart", "latest")]
    go_on_after_kill(command, *given, ranks=ranks)
    require_same(command, f"injected-{name}", folder)
    print(f"{name}: the same bits after a kill", flush=True)


def check_stop_during_a_return(command):
    """A stop that is asked for before the return is heard behind it."""
    arguments, ranks = begin(command, "rate-bf16", "asked")
    run = command.start(*arguments, ranks=ranks)
    for line in run.stdout:
        if "; back to step" in line:
            break
    (command.folder / "asked" / "stop").touch()
    rest = run.stdout.read()
    if run.wait() == 0:
        return  # it was at its end before it looked
    assert run.returncode == 85 and "asked to stop by the file" in rest, rest
    command.must(*arguments, "--restart", "latest", ranks=ranks)
    require_same(command, "injected-rate-bf16", "asked")


def check_changed_rate(command):
    """A learning rate of the user's is multiplied like the one before it."""
    shutil.copytree(command.folder / "pieces-rate-bf16-97", command.folder / "changed")
    arguments, ranks = begin(command, "rate-bf16", "changed")
    arguments = [one for one in arguments if not one.startswith("optimizer.lr")]
    factor = numpy.prod([one["lr_factor"] for one in amendments_of(last_checkpoint(command, "changed"))])
    said = command.must(*arguments, "optimizer.lr=1", "run.epochs=22", "--restart", "latest", ranks=ranks).stdout
    assert f"changed at the restart: optimizer.lr = {factor:g} (was {2 * factor:g})" in said, said
    assert abs(learning_rate_of(last_checkpoint(command, "changed")) / factor - 1) < 1e-12
    assert learning_rate_of_deck(command, "changed") == 1


def check_ends(command):
    """Where there is nothing to go back to, or no end of going back."""
    arguments, ranks = begin(command, "head-fp16", "none")
    command.must_refuse([*arguments, "checkpoint.every=100"], "diverged", "the run does not go back: ", "checkpoint.every", ranks=ranks,
                        code=4)
    trapped = [*arguments, "health.rewind_float=false", "health.rewind_scale_factor=1", "health.rewind_lr_factor=0.9",
               "run.folder=trapped", "health.rewinds=2"]
    trapped = [one for one in trapped if one != "run.folder=none"]
    command.must_refuse(trapped, "diverged", "the run does not go back: ", "2 times", "health.rewinds", ranks=ranks, code=4)
    assert len(events_of(command, "trapped", "rewind")) == 2
    assert [event["subject"] for event in events_of(command, "trapped", "divergence")] == ["head"]
    unchanged = [one for one in trapped if not one.startswith("run.folder") and "lr_factor" not in one]
    command.must_refuse([*unchanged, "run.folder=unchanged", "health.rewind_lr_factor=1"], "diverged", "the run does not go back: ",
                        "health.rewind_lr_factor", ranks=ranks, code=4)
    stop = command.must_refuse([*arguments[:-1], "run.folder=stop", "health.on_divergence=stop"], "diverged", ranks=ranks, code=4)
    assert "go back" not in stop.stderr and len(events_of(command, "stop", "divergence")) == 1, stop.stderr


def check_hostile(command):
    """Amendments that no run wrote."""
    shutil.copytree(command.folder / "injected-head-fp16-cut", command.folder / "hostile")
    file = last_checkpoint(command, "hostile")
    arguments, _ = begin(command, "head-fp16-cut", "hostile")
    line = json.dumps(amendments_of(file)[0])
    for wrong, *refusal in ((line.replace('"head"', '"nothing"'), "restart-mismatch", "/history/amendments", "'nothing'"),
                            (line.replace('"scale_factor"', '"lr_factor": 1e300, "scale_factor"'), "damaged", "lr_factor is"),
                            ("[[[", "damaged", "/history/amendments")):
        replace_signed(file, file.with_suffix(".other"), {"/history/amendments": numpy.bytes_(wrong.encode())})
        shutil.copy(file.with_suffix(".other"), command.folder / "hostile.h5")
        command.must_refuse([*arguments[:-1], "run.folder=other", "--restart", "hostile.h5"], *refusal, "hostile.h5")


def check_report(command):
    """The page shows the returns, and the types that are in effect."""
    run, = report(command, "injected-head-fp16-cut")["runs"]
    assert run["events"]["kinds"]["rewind"] == 1 and run["progress"] == "done", run["events"]
    assert {layer["name"]: layer["compute"] for layer in run["layers"]} == {"hidden1": "fp16", "head": "fp32"}, run["layers"]


def check_divergences(command, full):
    benches = {deck: Bench(command, deck, 6 if full else 4) for deck in (RATE, HEAD)}
    names = list(INJECTED) if full else SAMPLE
    for name in names:
        check_injected(command, benches, name)
        check_pieces(command, name, 97)
        if full:
            check_pieces(command, name, 13)
    for name in names if full else names[:1]:
        check_killed(command, name)


run_cases(prepare_cases, check_divergences, check_stop_during_a_return, check_changed_rate, check_ends, check_hostile, check_report)
