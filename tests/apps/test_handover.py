"""A job of a chain is asked to stop, and its successor is started at once, while the job still writes its last checkpoint.

usage: test_handover.py MYLOS SOURCES SLOW_DISK_LIBRARY [--full]     --full: 50 random moments
"""
import pathlib
import random
import signal
import sys
import time

from small_problem import prepare
from support.cases import run_cases
from support.processes import finish, ranks_of, require_none_left, send, wait_until
from support.run_folders import compare, last_checkpoint

DONE, BAD_INPUT, STOPPED = 0, 2, 85
STEPS = 6000 if "--full" in sys.argv else 800
CHAIN = ["train", "deck.toml", f"run.steps={STEPS}", "run.log_every=100", "run.evaluate_every=1000000",
         f"checkpoint.every={STEPS // 4}"]
ENDLESS = ["train", "deck.toml", "run.epochs=1000000", "run.log_every=1000", "run.evaluate_every=1000000",
           "checkpoint.every=0"]


def slow_disk(library, seconds):
    return {"LD_PRELOAD": library, "SLOW_DISK_S": str(seconds)}


def steps_of(folder):
    return [int(line.split(",")[0]) for line in (folder / "history.csv").read_text().splitlines()[1:]]


def require_each_step_once(folder, last, what):
    steps = steps_of(folder)
    assert steps == list(range(1, last + 1)), f"{what}: history.csv has {len(steps)} rows, {len(set(steps))} steps of {last}"


def train_until_steps(command, folder, *arguments, **options):
    run = command.start(*ENDLESS, f"run.folder={folder}", *arguments, **options)
    history = command.folder / folder / "history.csv"
    before = history.stat().st_size if history.exists() else 0
    wait_until(lambda: history.exists() and history.stat().st_size > before + 2000, f"{folder} makes no steps")
    return run


def check_last_write(command, library, ranks):
    """The last checkpoint takes longer than a start waits for a run that goes on."""
    for restart in ("auto", "latest", "none"):
        what = f"{restart}, {ranks} ranks"
        name = f"last-{restart}-{ranks}"
        folder = command.folder / name
        older = ("--restart", "auto")
        if restart == "latest":  # there is one to fall back to
            command.must(*ENDLESS, f"run.folder={name}", "--stop-after", 5, ranks=ranks, code=STOPPED)
        first = train_until_steps(command, name, *older, ranks=ranks, variables=slow_disk(library, 3))
        name_of_first = f"process {ranks_of(command)[0]} on "
        first.send_signal(signal.SIGUSR1)
        wait_until(lambda: list((folder / "checkpoints").glob("*.h5.tmp")), "no checkpoint is being written")
        arguments = () if restart == "none" else ("--restart", restart)
        code, stdout, stderr = finish(command.start(*ENDLESS, f"run.folder={name}", "communication.timeout=1",
                                                    "--stop-after", 3, *arguments, ranks=ranks))
        assert finish(first)[0] == STOPPED, what
        last = steps_of(folder)[-1]
        assert not (folder / "checkpoints/superseded").exists(), f"{what}\n{stdout}"
        if restart == "none":
            refusals = "[folder-has-checkpoints]", f"{name}: {name_of_first}"  # as long as it takes
            assert code == BAD_INPUT and any(text in stderr for text in refusals), f"{what}: {code} {stderr}"
        else:
            assert code == STOPPED, f"{what}: {code} {stderr}"
            assert f"waiting for {name_of_first}" in stdout and f"which is ending in {name}" in stdout, f"{what}\n{stdout}"
            assert "history.csv" not in stdout, f"{what}\n{stdout}"
            assert f"at step {last - 3} of" in stdout and "afresh" not in stdout, f"{what}\n{stdout}"
        assert last_checkpoint(command, name).name == f"step-{last:010d}.h5", what
        require_each_step_once(folder, last, what)
    print(f"{ranks} ranks: started while the last checkpoint was written, with --restart auto, latest and without", flush=True)


def check_run_that_goes_on(command, ranks):
    """A start waits only so long for it, hears what asks it to stop, and leaves it alone."""
    name = f"on-{ranks}"
    first = train_until_steps(command, name, ranks=ranks)
    ours = ranks_of(command)
    send(signal.SIGSTOP, ours)  # its folder is in use all the same, and others have the processors
    waiting = [*ENDLESS, f"run.folder={name}", "--restart", "auto"]
    refused = command.must_refuse([*waiting, "communication.timeout=1"], "folder-in-use", f"{name}: process {ours[0]} on ", ranks=ranks)
    assert f"waiting up to 0:01 for process {ours[0]} on " in refused.stdout, refused.stdout
    if ranks == 1:  # launchers have codes of their own
        command.must_refuse([*waiting, "--walltime", "00:00:01"], "stopped", "walltime", code=STOPPED)
        second = command.start(*waiting)
        assert "waiting" in second.stdout.readline()
        second.send_signal(signal.SIGTERM)
        code, _, stderr = finish(second)
        assert code == STOPPED and "asked to stop by SIGTERM while it waited" in stderr, (code, stderr)
    history = command.folder / name / "history.csv"
    before = history.stat().st_size
    send(signal.SIGCONT, ours)
    for _ in range(3):  # a run that was told to stop meanwhile writes what it has, and ends
        wait_until(lambda size=before: first.poll() is not None or history.stat().st_size > size, f"{name} does not go on")
        before = history.stat().st_size
    assert first.poll() is None and ranks_of(command) == ours
    first.send_signal(signal.SIGUSR1)
    assert finish(first)[0] == STOPPED
    require_each_step_once(command.folder / name, steps_of(command.folder / name)[-1], name)


def hand_over(command, sources, library, name, ranks, moment):
    """What became of the job, and whether its successor, the resubmit loop, waited for it."""
    folder = command.folder / name
    arguments = [*CHAIN, f"run.folder={name}", "--restart", "auto"]
    job = command.start(*arguments, ranks=ranks, variables=slow_disk(library, 0.7))
    wait_until(lambda: len(ranks_of(command)) == ranks or job.poll() is not None, "no ranks")
    time.sleep(moment)
    job.send_signal(signal.SIGUSR1)
    loop = [pathlib.Path(sources) / "scripts/resubmit", name, "--",
            *command.line(*arguments, "--stop-after", STEPS // 2, ranks=ranks)]
    successor = command.start_line(loop)
    code, stdout, stderr = finish(job)
    what = f"{name}, signal after {moment:.3f} s\n{stdout}\n{stderr}"
    after, said, messages = finish(successor)
    what += f"\n--- the successor, code {after}\n{said}\n{messages}"
    assert after == DONE, what
    require_none_left(command)
    assert code in (DONE, STOPPED, -signal.SIGUSR1, 128 + signal.SIGUSR1), f"code {code}: {what}"
    require_each_step_once(folder, STEPS, what)
    for file in (folder / "checkpoints").glob("superseded/*"):
        assert file.name in said + stdout, f"{file.name} was set aside without a word: {what}"
    assert not list((folder / "checkpoints").glob("superseded/*")), what
    assert not (folder / "requeue").exists(), what
    compare(command.folder / f"whole-{ranks}/checkpoints/step-{STEPS:010d}.h5", last_checkpoint(command, name), what)
    became = {DONE: "at its end", STOPPED: "stopped"}.get(code, "killed before it could hear")
    return became, "waiting" in said


def check_random_moments(command, sources, library, ranks, count, source):
    start = time.monotonic()
    command.must(*CHAIN, f"run.folder=whole-{ranks}", ranks=ranks)
    duration = time.monotonic() - start
    seen = {}
    waited = 0
    for number in range(count):
        moment = duration * (number + source.random()) / count
        became, has_waited = hand_over(command, sources, library, f"chain-{ranks}-{number}", ranks, moment)
        seen[became] = seen.get(became, 0) + 1
        waited += has_waited
    print(f"{ranks} ranks: {count} hand-overs within {duration:.2f} s, {waited} successors waited; the jobs before them: {seen}",
          flush=True)
    assert count < 10 or seen.get("stopped", 0) > 0, seen


def check_all_moments(command, repository, library, full):
    seed = random.randrange(2**32)
    print(f"seed {seed}", flush=True)
    source = random.Random(seed)
    for ranks in (1, 2):
        check_last_write(command, library, ranks)
        check_run_that_goes_on(command, ranks)
        check_random_moments(command, repository, library, ranks, 25 if full else 3, source)


run_cases(prepare, check_all_moments, arguments=["repository", "library"])
