"""A run whose ranks are killed again and again ends with the same bits as one that is left alone."""
import random
import signal
import subprocess
import time

from small_problem import prepare
from support.cases import run_cases
from support.processes import finish, ranks_of, require_none_left, send
from support.run_folders import compare_runs

SEED = 7
KILLS_PER_RUN = 4
TRAIN = ["train", "deck.toml", "run.epochs=5", "run.log_every=1000", "run.evaluate_every=1000",
         "checkpoint.every=2", "checkpoint.keep_last=2", 'communication.bucket="4 KiB"']


def end_of(command, run):
    """Exit code and messages. Debian 12's launcher (PMIx 4.2.2) was seen to hang or crash in its own clean-up, in a lock
    that it had freed, with all ranks gone."""
    try:
        code, _, stderr = finish(run)
    except subprocess.TimeoutExpired:
        assert not ranks_of(command), "ranks are left, and the launcher waits"
        run.kill()
        run.communicate()
        print("the launcher did not end after its ranks had", flush=True)
        return -signal.SIGKILL, ""
    if code == -signal.SIGSEGV and "PMIx_server_finalize" in stderr:
        print("the launcher crashed after its ranks had ended", flush=True)
        return -signal.SIGKILL, ""
    return code, stderr


def killed(command, train, folder, ranks, source, duration):
    """Starts or restarts the run and kills one rank, or all, at a random moment. False if it came to its end first,
    else True, or "writing" where that left half a checkpoint."""
    delay = source.uniform(0, 0.7 * duration)  # later, and most restarts would come to their end first
    while_writing = source.random() < 0.5
    one = source.random() < 0.5
    run = command.start(*train, f"run.folder={folder}", "--restart", "auto", ranks=ranks)
    time.sleep(delay)
    while run.poll() is None and not ranks_of(command):
        time.sleep(0.002)
    checkpoints = command.folder / folder / "checkpoints"
    while while_writing and run.poll() is None and not list(checkpoints.glob("*.tmp")):
        time.sleep(0.0005)
    victims = ranks_of(command)
    send(signal.SIGKILL, [source.choice(victims)] if victims and one else victims)
    code, stderr = end_of(command, run)
    require_none_left(command)
    if code == 0:
        return False
    assert code in (-signal.SIGKILL, 128 + signal.SIGKILL), f"exit code {code} on {ranks} ranks: {stderr}"
    return "writing" if list(checkpoints.glob("*.tmp")) else True


def check(command, shard, ranks, kills, source):
    train = [*TRAIN, f"optimizer.shard={shard}"]
    begin = time.monotonic()
    command.must(*train, f"run.folder=whole-{shard}-{ranks}", ranks=ranks)
    duration = time.monotonic() - begin
    done = runs = writing = 0
    while done < kills:
        folder = f"killed-{shard}-{ranks}-{runs}"
        for _ in range(min(KILLS_PER_RUN, kills - done)):
            outcome = killed(command, train, folder, ranks, source, duration)
            if not outcome:
                break
            done += 1
            writing += outcome == "writing"
        saved = list((command.folder / folder / "checkpoints").glob("*.h5"))
        went_on = command.must(*train, f"run.folder={folder}", "--restart", "auto", ranks=ranks).stdout
        assert ("restarted from" in went_on) == bool(saved), f"{folder}: {saved}, but {went_on}"
        compare_runs(command, f"whole-{shard}-{ranks}", folder, f"{folder}, seed {SEED}")
        runs += 1
    print(f"{ranks} ranks, shard = {shard}: {done} kills ({writing} while a checkpoint was written) in {runs} runs, which ended with "
          f"the same bits", flush=True)


def check_all(command, full):
    kills = {("none", 1): 33 if full else 2, ("none", 2): 34 if full else 2, ("none", 3): 33 if full else 2,
             ("state", 3): 100 if full else 2, ("gradients", 2): 50 if full else 2}
    source = random.Random(SEED)
    for (shard, ranks), count in kills.items():
        check(command, shard, ranks, count, source)


run_cases(prepare, check_all)
