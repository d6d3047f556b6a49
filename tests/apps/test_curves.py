"""Evaluations as rows, the best checkpoint, and runs that end early."""
import math
import os
import re
import shutil
import signal
import time

import h5py
import numpy

from small_problem import DECK, SCALER, prepare, write_csv
from support import checkpoint_block
from support.cases import run_cases
from support.processes import HANGS_AFTER_S, finish, ranks_of, require_none_left, send
from support.run_folders import compare, compare_runs, datasets, events_of, last_checkpoint, rows_without_times

# A validation part as well; noisy enough that the best is seldom the last, and few enough samples for ties of accuracies.
COMMON = ["train", "deck.toml", "data.validation=0.1", "run.evaluate_every=5", "optimizer.lr=0.05", "schedule.type=constant",
          "schedule.warmup=0", "checkpoint.keep_last=2"]
TRAIN = [*COMMON, "run.epochs=8", "checkpoint.every=16"]
LONG = [*COMMON, "run.epochs=40", "checkpoint.every=16"]
KEEP_ALL = COMMON[:-1]  # the deck's own checkpoint.keep_last = 0
METRICS = ["validation.loss", "validation.accuracy", "test.loss", "test.accuracy", "train.loss"]


def values_of(rows, metric):
    """Step and value of each evaluation, by a metric's name."""
    part, quantity = metric.split(".")
    return [(int(row["step"]), float(row[quantity])) for row in rows if row["part"] == part]


def best_of(values, metric):
    """The first of the best."""
    sign = 1 if metric.endswith("loss") else -1
    return min(values, key=lambda one: (sign * one[1], one[0]))


def end_by_patience(values, metric, patience):
    """The step at which a run ends that has this patience; None: at its end."""
    best, without = math.inf, 0
    for step, value in values:
        value = value if metric.endswith("loss") else -value
        without = 0 if value < best else without + 1
        best = min(best, value)
        if without == patience:
            return step
    return None


def named_best(command, folder):
    path = command.folder / folder / "checkpoints" / "best"
    return path.read_text().strip() if path.exists() else None


def steps_of_files(command, folder):
    return {int(path.name[5:15]) for path in (command.folder / folder / "checkpoints").glob("step-*.h5")}


def name_of(step):
    return f"step-{step:010}.h5"


def check_rows(command):
    """A row for each part at each evaluation; losses as printed, and the training loss as history.csv has it."""
    output = command.must(*TRAIN, "run.folder=rows", ranks=2).stdout
    rows = command.rows("rows/evaluations.csv")
    steps = command.rows("rows/history.csv")
    last = len(steps)
    evaluated = sorted({*range(5, last, 5), last})
    assert [(int(row["step"]), row["part"]) for row in rows] == \
        [(step, part) for step in evaluated for part in ("train", "validation", "test")], rows
    for row in rows:
        if row["part"] != "train":
            line = rf"step {row['step']}: {row['part']} loss {float(row['loss']):.4f}, accuracy {float(row['accuracy']):.4f} "
            assert line in output, line
    for before, step in zip([0, *evaluated], evaluated):
        mine = [float(row["loss"]) for row in steps[before:step] if row["overflow"] == "0"]
        row, = [row for row in rows if row["part"] == "train" and int(row["step"]) == step]
        assert row["accuracy"] == "" and math.isclose(float(row["loss"]), sum(mine) / len(mine), rel_tol=1e-7), (row, mine)
    elapsed = [float(row["elapsed_s"]) for row in rows]
    assert elapsed == sorted(elapsed) and elapsed[0] > 0, elapsed
    with h5py.File(last_checkpoint(command, "rows")) as file:
        table = file["/history/evaluations"]
        assert [(int(s), ("train", "validation", "test")[p]) for s, p in zip(table["step"], table["part"])] == \
            [(int(row["step"]), row["part"]) for row in rows]
        assert [float(row["loss"]) for row in rows] == list(table["loss"]), "every bit"


def check_best(command):
    """In six runs of other metrics, seeds and ranks `best` names what an oracle finds in evaluations.csv; ties: the first."""
    ties = 0
    for metric, seed, ranks, background in zip([*METRICS, "test.accuracy"], range(1, 7), (1, 2, 3, 4, 1, 2),
                                               ("true", "true", "false", "true", "false", "true")):
        folder = f"best-{seed}"
        shard = "state" if ranks == 4 else "none"
        output = command.must(*TRAIN, f"run.folder={folder}", f"run.seed={seed}", f'checkpoint.keep_best="{metric}"',
                              f"checkpoint.background={background}", f"optimizer.shard={shard}", ranks=ranks).stdout
        values = values_of(command.rows(f"{folder}/evaluations.csv"), metric)
        step, value = best_of(values, metric)
        ties += sum(other == value for _, other in values) > 1
        assert named_best(command, folder) == name_of(step), (metric, named_best(command, folder), values)
        with h5py.File(command.folder / folder / "checkpoints" / name_of(step)) as file:
            best = file["/evaluation/best"]
            assert (best["metric"][()].decode(), best["step"][()], best["value"][()]) == (metric, step, value)
        last = max(step for step, _ in values)
        regular = [s for s in range(16, last, 16)]
        improved, so_far = [], None
        for s, v in values:
            if so_far is None or (v < so_far if metric.endswith("loss") else v > so_far):
                improved, so_far = [*improved, s], v
        written = sorted({*regular, *improved, last})
        assert steps_of_files(command, folder) == {step, *written[-2:]}, (steps_of_files(command, folder), written)
        summary = command.document(f"{folder}/summary.json")
        assert summary["best"] == {"metric": metric, "value": value, "step": step}, summary
        assert summary["stopped_early"] is False
        assert re.search(rf"^  best +{metric} \S+ at step {step}$", output, re.M), output
        if ranks == 2:  # what the file says is what it does
            found = command.must("eval", folder, "--best").stdout
            assert f"{name_of(step)} at step {step} on" in found, found
            if metric == "test.accuracy":
                assert f"accuracy {value:.4f}" in found, (found, value)
    assert ties > 0, "no run had equal values: it says nothing of ties"


def check_patience(command, full):
    """A run ends where the oracle says, a restart in mid-patience ends with the same bits there, and later restarts say so."""
    metric = "validation.accuracy"
    keys = [f'checkpoint.keep_best="{metric}"', "run.patience=3"]
    command.must(*LONG, *keys[:1], "run.folder=endless")
    values = values_of(command.rows("endless/evaluations.csv"), metric)
    end = end_by_patience(values, metric, 3)
    assert end and end < values[-1][0], values
    step, _ = best_of([one for one in values if one[0] <= end], metric)
    for ranks in (1, 2, 3, 4) if full else (1, 3):
        folder = f"patient-{ranks}"
        output = command.must(*LONG, *keys, f"run.folder={folder}", ranks=ranks).stdout
        values = values_of(command.rows(f"{folder}/evaluations.csv"), metric)
        end = end_by_patience(values, metric, 3)
        assert end == values[-1][0], (end, values)
        step, value = best_of(values, metric)
        assert f"step {end}: stopped early, after 3 evaluations without a better {metric} (run.patience)" in output, output
        assert named_best(command, folder) == name_of(step)
        assert last_checkpoint(command, folder).name == name_of(end)
        assert not (command.folder / folder / "requeue").exists()
        summary = command.document(f"{folder}/summary.json")
        assert summary["outcome"] == "done" and summary["stopped_early"] and summary["step"] == end, summary

        parts = f"parts-{ranks}"
        stops = [step + 2, 5, 3]  # in mid-patience, and between two evaluations
        command.must(*LONG, *keys, f"run.folder={parts}", "--stop-after", stops[0], ranks=ranks, code=85)
        command.must(*LONG, *keys, f"run.folder={parts}", "--restart", "latest", "--stop-after", stops[1], ranks=ranks, code=85)
        command.must(*LONG, *keys, f"run.folder={parts}", "--restart", "latest", ranks=ranks)
        compare_runs(command, folder, parts, f"patience on {ranks} ranks")
        assert rows_without_times(command, folder, "evaluations.csv") == rows_without_times(command, parts, "evaluations.csv")
        assert named_best(command, parts) == name_of(step)

    again = command.must(*LONG, *keys, "run.folder=patient-1", "--restart", "latest").stdout
    assert "stopped early" in again and "run.patience, or 0, and --restart latest go on" in again, again
    with open(command.folder / "patient-1" / "history.csv", encoding="utf-8") as file:
        assert len(file.readlines()) == values_end(command, "patient-1") + 1, "no step was made"
    keys[1] = "run.patience=0"
    command.must(*LONG, *keys, "run.folder=patient-1", "--restart", "latest")
    event, = events_of(command, "patient-1")
    end = end_by_patience(values_of(command.rows("patient-1/evaluations.csv"), metric), metric, 3)
    assert (event["kind"], event["step"]) == ("early_stop", end) and "stopped early" in event["text"], event
    whole, resumed = (datasets(last_checkpoint(command, folder)) for folder in ("endless", "patient-1"))
    assert b"early_stop" in resumed.pop("/history/events")  # it did stop
    assert whole.keys() == resumed.keys()
    for name in whole:
        assert numpy.asarray(whole[name]).tobytes() == numpy.asarray(resumed[name]).tobytes(), f"patience taken back: {name}"


def values_end(command, folder):
    return max(int(row["step"]) for row in command.rows(f"{folder}/evaluations.csv"))


def kill_behind(command, best, *train):
    """Starts the run, and kills it after the best of this step was named, and perhaps some that followed."""
    run = command.start(*train)
    deadline = time.monotonic() + HANGS_AFTER_S
    while named_best(command, "killed") is None or int(named_best(command, "killed")[5:15]) < best:
        assert time.monotonic() < deadline and run.poll() is None
        time.sleep(0.01)
    send(signal.SIGKILL, ranks_of(command))
    finish(run)
    require_none_left(command)


def check_kill(command):
    """Ended after a best was written, and restarted from an older checkpoint: the same best, and the same bits."""
    for ranks, shard in ((3, "state"), (1, "none")):
        keys = [*KEEP_ALL, 'checkpoint.keep_best="test.loss"', "checkpoint.every=7", f"optimizer.shard={shard}"]
        whole = [*keys, "run.epochs=8"]
        for folder in ("undisturbed", "killed"):
            shutil.rmtree(command.folder / folder, ignore_errors=True)
        command.must(*whole, "run.folder=undisturbed", ranks=ranks)
        best, _ = best_of(values_of(command.rows("undisturbed/evaluations.csv"), "test.loss"), "test.loss")
        assert best > 7
        if ranks == 1:
            kill_behind(command, best, *keys, "run.epochs=4000", "run.folder=killed")
        else:  # launchers do not always survive it
            command.must(*whole, "run.folder=killed", "--stop-after", best + 1, ranks=ranks, code=85)
            assert named_best(command, "killed") == name_of(best)
        checkpoints = command.folder / "killed" / "checkpoints"
        command.must(*whole, "run.folder=killed", "--restart", checkpoints / name_of(7), "--stop-after", 1, ranks=ranks, code=85)
        assert named_best(command, "killed") == name_of(5), "the best up to step 7; the later one is superseded"
        assert name_of(best) in {path.name for path in (checkpoints / "superseded").iterdir()}
        command.must(*whole, "run.folder=killed", "--restart", "latest", ranks=ranks)
        assert named_best(command, "killed") == name_of(best)
        compare(checkpoints / name_of(best), command.folder / "undisturbed" / "checkpoints" / name_of(best), "the best")
        compare_runs(command, "undisturbed", "killed", f"ended on {ranks} ranks")

    # The name alone is lost, or the file.
    (checkpoints / "best").unlink()
    command.must(*whole, "run.folder=killed", "--restart", "latest")
    assert named_best(command, "killed") == name_of(best)
    (checkpoints / name_of(best)).unlink()
    said = command.must(*whole, "run.folder=killed", "--restart", "latest").stdout
    assert named_best(command, "killed") is None and "no longer has the best checkpoint so far" in said, said
    command.must_refuse(["eval", "killed", "--best"], "no-checkpoint", "killed: ", "checkpoint.keep_best")
    command.must_refuse(["eval", checkpoints / name_of(7), "--best"], "not-a-folder", name_of(7), "--best")


def check_metrics(command):
    """A metric that is not measured is refused with what is; another one from a restart on goes by the rows."""
    write_csv(command.folder / "train.csv", 100, 3)
    command.must("prepare", "csv", "train.csv", "--targets", "class", "--out", "numbers.h5")
    plain = ["train", "deck.toml", "run.folder=refused"]
    regression = [*plain, "data.train=numbers.h5", "model.loss=mse", "data.test=numbers.h5"]
    for arguments, refusal in (
            ([*plain, 'checkpoint.keep_best="validation.loss"'],
             ("not-measured", '"validation.loss"', "data.validation is 0", "train.loss, test.loss, test.accuracy")),
            ([*regression, 'checkpoint.keep_best="test.accuracy"'], ("not-measured", '"test.accuracy"', "train.loss, test.loss")),
            ([*plain, 'checkpoint.keep_best="perplexity"'], ("bad-value", "'checkpoint.keep_best'", '"validation.accuracy"'))):
        command.must_refuse(arguments, *refusal)
        assert not (command.folder / "refused").exists()
    deck = command.text("deck.toml")
    command.write("alone.toml", deck.replace('test = "test.h5"\n', ""))
    alone = ["train", "alone.toml", "run.folder=alone", "run.epochs=1"]
    command.must_refuse([*alone, "run.patience=2"], "not-measured", "run.patience = 2", "data.validation", "data.test")
    command.must(*alone, "run.patience=2", 'checkpoint.keep_best="train.loss"')
    assert [row["part"] for row in command.rows("alone/evaluations.csv")] == ["train"]

    command.must(*TRAIN, "run.folder=later", "--stop-after", 40, code=85)
    assert named_best(command, "later") is None
    command.must(*TRAIN, "run.folder=later", 'checkpoint.keep_best="test.accuracy"', "--restart", "latest")
    step, value = best_of(values_of(command.rows("later/evaluations.csv"), "test.accuracy"), "test.accuracy")
    summary = command.document("later/summary.json")
    assert summary["best"] == {"metric": "test.accuracy", "value": value, "step": step}, summary
    assert named_best(command, "later") == (name_of(step) if step > 40 else None)


def check_older(command):
    """A checkpoint of a build that kept no evaluations."""
    command.must(*TRAIN, "run.folder=older", "--stop-after", 32, code=85)
    newest = last_checkpoint(command, "older")
    older = newest.with_name("older.h5")
    shutil.copy(newest, older)
    with h5py.File(older, "r+") as file:
        del file["/evaluation"], file["/history/evaluations"]
    older.write_bytes(checkpoint_block.with_right_block(older.read_bytes()))
    os.replace(older, newest)
    command.must(*TRAIN, "run.folder=older", 'checkpoint.keep_best="test.loss"', "--restart", "latest")
    rows = command.rows("older/evaluations.csv")
    assert [int(row["step"]) for row in rows if row["part"] == "train"][:8] == list(range(5, 45, 5)), rows
    step, _ = best_of([one for one in values_of(rows, "test.loss") if one[0] > 32], "test.loss")
    assert named_best(command, "older") == name_of(step)


def check_new_metric(command):
    """A restart that goes by a metric which the evaluations before it did not measure: these do not count."""
    short = [*COMMON, "run.folder=new-metric"]
    command.must(*short, "run.epochs=4")
    before = len(values_of(command.rows("new-metric/evaluations.csv"), "validation.loss"))
    assert before >= 5, before
    said = command.must(*short, "run.epochs=6", 'run.metrics=["top5"]', 'checkpoint.keep_best="validation.top5"',
                        f"run.patience={before}", "--restart", "latest").stdout
    assert "stopped early" not in said, said
    rows = [row for row in command.rows("new-metric/evaluations.csv") if row["part"] == "validation"]
    assert len(rows) > before and all((row["top5"] != "") == (i >= before) for i, row in enumerate(rows)), rows
    assert named_best(command, "new-metric") == name_of(int(rows[before]["step"])), rows  # three classes: always 1


SMALL = DECK.replace(SCALER, "")  # its growth would reach the cap, which is an event

run_cases((prepare, SMALL), check_rows, check_best, check_patience, check_kill, check_metrics, check_older, check_new_metric)
