"""mylos sweep: members with the bits of `mylos train`, sweeps that are killed or asked to stop, halving, and bad input."""
import json
import os
import random
import signal
import time

from small_problem import prepare
from support.cases import run_cases
from support.processes import finish, finish_killed, ranks_of, require_none_left, send, wait_until
from support.run_folders import compare_runs, last_checkpoint, rows_without_times, weights_of

STOPPED = 85
KEYS = ["optimizer.lr=1e-3,1e-2", "model.dropout=0,0.2"]
COMMON = ["data.validation=0.2", "checkpoint.every=5", "run.threads=1"]


def alone(command, folder, ranks=1):
    """Every member of this grid, each trained by `mylos train`."""
    values = [(lr, dropout) for lr in ("1e-3", "1e-2") for dropout in ("0", "0.2")]
    for number, (lr, dropout) in enumerate(values):
        command.must("train", "deck.toml", *COMMON, f"optimizer.lr={lr}", f"model.dropout={dropout}", f"run.name=small-{number:04}",
                     f"run.folder={folder}/{number:04}", ranks=ranks)


def require_as_alone(command, folder, single):
    for number, row in enumerate(command.rows(f"{folder}/sweep.csv")):
        member = f"{folder}/{row['folder']}"
        assert row["state"] == "done" and row["folder"] == f"members/{number:04}", row
        compare_runs(command, f"{single}/{number:04}", member)
        for name in ("history.csv", "evaluations.csv"):
            assert rows_without_times(command, member, name) == rows_without_times(command, f"{single}/{number:04}", name), (member, name)
        losses = [(float(each["loss"]), int(each["step"])) for each in rows_without_times(command, member, "evaluations.csv")
                  if each["part"] == "validation"]
        best = min(losses, key=lambda each: each[0])
        assert (float(row["value"]), int(row["best_step"])) == best, row
        assert (command.folder / member / "log").stat().st_size > 0


def check_grid(command, full):
    """4 members over several numbers of ranks, and 2 ranks for each of them: the same bits as alone."""
    alone(command, "alone")
    for ranks in (1, 2, 4) if full else (1, 4):
        folder = f"grid-{ranks}"
        result = command.must("sweep", "deck.toml", *COMMON, *KEYS, "--out", folder, ranks=ranks)
        ended = [line for line in result.stdout.splitlines() if line.startswith("member 0")]
        assert "4 of 4 members ended" in result.stdout and len(ended) == 4, result.stdout
        require_as_alone(command, folder, "alone")
    described = command.document("grid-1/sweep.json")
    assert (described["metric"], described["better"], described["strategy"], described["trials"]) == ("validation.loss", "lower", "grid", 4)
    assert described["keys"][1] == {"key": "model.dropout", "kind": "list", "values": ["0", "0.2"]}
    alone(command, "alone-2", ranks=2)
    result = command.must("sweep", "deck.toml", *COMMON, *KEYS, "--out", "pairs", "--ranks-per-trial", 2, ranks=3)
    assert "1 of the 3 ranks form no group of 2" in result.stdout, result.stdout
    require_as_alone(command, "pairs", "alone-2")
    # Once more: nothing is left to train.
    before = last_checkpoint(command, "grid-1/members/0000").stat().st_mtime_ns
    command.must("sweep", "deck.toml", *COMMON, *KEYS, "--out", "grid-1")
    assert last_checkpoint(command, "grid-1/members/0000").stat().st_mtime_ns == before
    print("grids on any number of ranks and on pairs of ranks: every member as alone", flush=True)


def check_kills(command, source, full):
    for ranks in (1, 2, 4) if full else (2,):
        folder = f"killed-{ranks}"
        line = ["sweep", "deck.toml", *COMMON, *KEYS, "--out", folder]
        for kill in range(2):
            sweep = command.start(*line, ranks=ranks)
            histories = command.folder / folder / "members"
            wait_until(lambda: sweep.poll() is not None or len(list(histories.glob("*/history.csv"))) > kill, "no member began")
            time.sleep(source.uniform(0, 0.3))
            send(signal.SIGKILL, ranks_of(command))
            finish_killed(sweep, command)
            require_none_left(command)
        command.must(*line, ranks=ranks)
        require_as_alone(command, folder, "alone")
        assert not list((command.folder / folder).glob("requeue"))
    print("sweeps that were killed twice: every member as alone", flush=True)


def check_stop(command):
    """A signal, and the file `stop`, end all members with checkpoints; the same command continues them."""
    line = ["sweep", "deck.toml", *COMMON, *KEYS, "run.epochs=100000", "run.evaluate_every=1000000"]
    for how in ("signal", "file"):
        folder = f"stopped-{how}"
        sweep = command.start(*line, "--out", folder, ranks=2)
        members = command.folder / folder / "members"
        wait_until(lambda: sweep.poll() is not None or len(list(members.glob("*/history.csv"))) == 2, "no members")
        assert sweep.poll() is None, finish(sweep)
        if how == "signal":
            os.kill(sweep.pid, signal.SIGUSR1)
        else:
            (command.folder / folder / "stop").touch()
        code, stdout, stderr = finish(sweep)
        assert code == STOPPED, (code, stdout, stderr)
        assert (command.folder / folder / "requeue").exists() and not (command.folder / folder / "stop").exists()
        assert [row["state"] for row in command.rows(f"{folder}/sweep.csv")] == ["waiting"] * 4, command.rows(f"{folder}/sweep.csv")
        for member in ("0000", "0001"):
            assert last_checkpoint(command, f"{folder}/members/{member}").exists()
    # Another sweep may not work there at the same time.
    sweep = command.start(*line, "--out", "stopped-file", ranks=2)
    wait_until(lambda: "restarted from" in (members / "0000/log").read_text() or sweep.poll() is not None, "no restart")
    command.must_refuse([*line, "--out", "stopped-file"], "folder-in-use", "stopped-file")
    os.kill(sweep.pid, signal.SIGUSR1)
    assert finish(sweep)[0] == STOPPED
    print("sweeps that were asked to stop continue", flush=True)


def check_failures(command):
    """A member that diverges, one whose data are missing, and one that does not fit are rows; the others are trained."""
    command.must("sweep", "deck.toml", *COMMON, "optimizer.lr=1e-2,1000", "optimizer.type=sgd", "run.epochs=20",
                 "precision.compute=fp16", "--out", "diverges")
    good, bad = command.rows("diverges/sweep.csv")
    assert (good["state"], bad["state"]) == ("done", "diverged"), (good, bad)
    assert bad["value"] == "" and "diverged" in bad["cause"], bad
    command.must_refuse(["sweep", "deck.toml", *COMMON, "optimizer.lr=900,1000", "optimizer.type=sgd", "run.epochs=20",
                         "precision.compute=fp16", "--out", "none-is-left"], "not-measured", "none of the 2 members", code=1)
    command.must("sweep", "deck.toml", *COMMON, "data.train=train.h5,none.h5", "--out", "missing")
    good, bad = command.rows("missing/sweep.csv")
    assert (good["state"], bad["state"]) == ("done", "failed") and "none.h5" in bad["cause"], (good, bad)
    command.must("sweep", "deck.toml", *COMMON, "memory.budget=\"1 GiB\",\"1 MiB\"", "--out", "tight")
    good, bad = command.rows("tight/sweep.csv")
    assert (good["state"], bad["state"]) == ("done", "does_not_fit"), (good, bad)
    print("failed members are rows", flush=True)


def asha(value, trials, rungs, factor):
    """The members that reach each rung, one job at a time: algorithm 2 of arXiv 1810.05934."""
    results, promoted = [{} for _ in range(rungs)], [set() for _ in range(rungs)]
    started = 0
    while True:
        job = None
        for rung in reversed(range(rungs - 1)):
            best = sorted(results[rung], key=results[rung].get)[:len(results[rung]) // factor]
            free = [member for member in best if member not in promoted[rung]]
            if free:
                promoted[rung].add(free[0])
                job = (free[0], rung + 1)
                break
        if job is None and started < trials:
            job = (started, 0)
            started += 1
        if job is None:
            return [set(each) for each in results]
        results[job[1]][job[0]] = value(*job)


def check_halving(command):
    """9 random trials with rungs of 4, 12 and 36 steps, on one rank: the jobs of the algorithm."""
    line = ["sweep", "deck.toml", *COMMON, "run.steps=36", "optimizer.lr=1e-5:1e-1:log", "--trials", 9, "--seed", 3,
            "--halving", "--first-steps", 4]
    command.must(*line, "--out", "halving")
    rows = command.rows("halving/sweep.csv")
    described = command.document("halving/sweep.json")
    assert described["rungs"] == [4, 12, 36] and described["strategy"] == "halving", described
    reached = [int(row["rung"]) for row in rows]
    assert [int(row["steps"]) for row in rows] == [described["rungs"][rung] for rung in reached]

    def value(member, rung):
        evaluations = rows_without_times(command, f"halving/{rows[member]['folder']}", "evaluations.csv")
        return next(float(each["loss"]) for each in evaluations
                    if each["part"] == "validation" and int(each["step"]) == described["rungs"][rung])

    expected = asha(value, 9, 3, 3)
    assert [{i for i, last in enumerate(reached) if last >= rung} for rung in range(3)] == expected, (reached, expected)
    # A promoted member has the weights of one that was never stopped.
    best = reached.index(2)
    command.must("train", "deck.toml", *COMMON, "run.steps=36", f"optimizer.lr={rows[best]['optimizer.lr']}", "run.folder=never-stopped")
    first, second = (weights_of(last_checkpoint(command, folder)) for folder in ("never-stopped", f"halving/{rows[best]['folder']}"))
    assert first.keys() == second.keys() and all(first[name].tobytes() == second[name].tobytes() for name in first)
    command.must(*line, "--out", "halving-2", ranks=2)
    assert "done" in {row["state"] for row in command.rows("halving-2/sweep.csv")}
    by_time = ["sweep", "deck.toml", *COMMON, "run.steps=1000000", "run.evaluate_every=1000000", "optimizer.lr=1e-3,1e-2", "--halving",
               "--factor", 2, "--budget", "time", "--first-seconds", 1, "--out", "by-time"]
    command.must(*by_time)
    assert sorted(row["state"] for row in command.rows("by-time/sweep.csv")) == ["done", "stopped"], command.rows("by-time/sweep.csv")
    check_seconds_of_earlier_rungs(command, by_time)
    print("halving promotes the best", flush=True)


def check_seconds_of_earlier_rungs(command, line):
    """They count: a member that had its seconds before its last rung takes no more steps there."""
    winner = next(number for number, row in enumerate(command.rows("by-time/sweep.csv")) if row["state"] == "done")
    first, *_, last = sorted((command.folder / "by-time/state").glob(f"{winner:04}-*.json"))
    spent = json.loads(first.read_text(encoding="utf-8")) | {"seconds": 1000.0}
    first.write_text(json.dumps(spent), encoding="utf-8")
    steps = json.loads(last.read_text(encoding="utf-8"))["steps"]
    last.unlink()
    command.must(*line)
    assert json.loads(last.read_text(encoding="utf-8"))["steps"] <= steps + 2, (steps, last.read_text(encoding="utf-8"))


def check_bad_input(command):
    def refuse(error_id, *parts, words=(), code=2):
        command.must_refuse(["sweep", "deck.toml", *COMMON, "--out", "refused", *words], error_id, *parts, code=code)
        assert not (command.folder / "refused").exists(), words

    refuse("unknown-key", "optimizer.ls", words=["optimizer.ls=1e-3,1e-2"])
    refuse("bad-value", "optimizer.lr", words=["optimizer.lr="])
    refuse("bad-value", "optimizer.lr=0:1:log", words=["optimizer.lr=0:1:log", "--trials", 3])
    refuse("bad-argument", "5", "4", words=[*KEYS, "--trials", 5])
    refuse("missing-argument", "--trials", words=["optimizer.lr=1e-3:1"])
    refuse("missing-argument", "no key varies", words=["optimizer.lr=1e-3"])
    refuse("not-measured", "validation.r2", "validation.loss, validation.accuracy", words=[*KEYS, "--metric", "validation.r2"])
    refuse("bad-value", "model.dropout", "member 0001", words=["model.dropout=0.1,7"])
    refuse("bad-argument", "run.folder", words=["run.folder=a,b"])
    refuse("wrong-rank-count", "--ranks-per-trial 3", words=[*KEYS, "--ranks-per-trial", 3])
    refuse("bad-argument", "--first-steps 1000", words=[*KEYS, "--halving", "--first-steps", 1000])
    command.must_refuse(["sweep", "deck.toml", *COMMON, "optimizer.lr=1e-3,1e-1", "--out", "halving"], "restart-mismatch", "halving/sweep.json")
    print("bad input is refused", flush=True)


def check_memory(command):
    """4 members that need four tenths of the memory of this machine each: two fit at once. Refused before anything is allocated."""
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) * 1024
    # Float masters and gradients and Adam's two moments: 16 bytes of each weight.
    width = int((0.4 * 0.9 * available / 16) ** 0.5)
    command.must_refuse(["sweep", "deck.toml", *COMMON, "precision.compute=fp32", f"model.hidden=[{width},{width}]",
                         "optimizer.lr=1e-3,1e-2,2e-2,3e-2", "--out", "large"],
                        "does-not-fit", "2 fit at once", code=3, ranks=4)
    assert not (command.folder / "large").exists()
    print("members that do not fit together are refused", flush=True)


run_cases(prepare, check_grid, (check_kills, random.Random(5)), check_stop, check_failures, check_halving, check_bad_input,
          check_memory)
