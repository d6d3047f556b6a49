"""What else may be in a run's folder, and a disk that takes its time."""
import os
import shutil
import subprocess

import h5py

from small_problem import prepare
from support import checkpoint_block
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.command import environment
from support.data_files import read_data, renew_digests
from support.processes import wait_until
from support.refusal import require_refusal
from support.tables import column_of

STEP = "step-{:010d}.h5"


def names(folder):
    return sorted(path.name for path in (folder / "checkpoints").glob("step-*.h5"))


def steps_in_history(path):
    return [int(line.split(",")[0]) for line in path.read_text().splitlines()[1:]]


def check_two_runs_at_once(command):
    endless = ("train", "deck.toml", "run.epochs=1000000", "run.folder=one", "checkpoint.every=300")
    run = command.start(*endless)
    wait_until(lambda: names(command.folder / "one"), "no checkpoint")
    command.must_refuse([*endless, "--restart", "auto", "communication.timeout=1"], "folder-in-use",
                        f"one: process {run.pid} on ")
    assert run.poll() is None
    (command.folder / "one/stop").touch()
    _, stderr = run.communicate(timeout=600)
    assert run.returncode == 85, (run.returncode, stderr)
    command.must(*endless, "--restart", "latest", "--stop-after", "3", code=85)


def check_another_networks_file_under_a_wrong_name(command):
    command.must("train", "deck.toml", "run.folder=wrong", "--stop-after", "12", code=85)
    command.must("train", "deck.toml", "run.folder=other", "model.hidden=[8]", "--stop-after", "20", code=85)
    # Its own step, 20, is above that of its name: looking below 20 would find it again.
    shutil.copy(command.folder / "other/checkpoints" / STEP.format(20), command.folder / "wrong/checkpoints" / STEP.format(15))
    result = command.must("train", "deck.toml", "run.folder=wrong", "--restart", "auto", "--stop-after", "1", code=85, timeout=600)
    assert result.stdout.count("skipped wrong") == 1 and "at step 12 of" in result.stdout, result.stdout


def check_structure_that_hdf5_refuses(command):
    """The digest is right: the file was damaged before it was computed."""
    command.must("train", "deck.toml", "run.folder=damaged", "--stop-after", "12", code=85)
    newest = command.folder / "damaged/checkpoints" / STEP.format(12)
    contents = bytearray(newest.read_bytes())
    contents[contents.index(b"OHDR", 600) + 12] ^= 1  # in an object's header, behind that of the root
    newest.write_bytes(checkpoint_block.with_right_block(bytes(contents)))
    result = command.must("train", "deck.toml", "run.folder=damaged", "--restart", "latest", "--stop-after", "1", code=85)
    assert "skipped damaged" in result.stdout and "at step 9 of" in result.stdout, result.stdout


def check_another_runs_file(command):
    file = command.folder / "other/checkpoints" / STEP.format(20)
    command.must_refuse(["train", "deck.toml", "run.folder=wrong", "--restart", file, "model.hidden=[8]"], "folder-has-checkpoints",
                        f"--restart {file}: ", "wrong has ", "run.folder")
    inside = command.folder / "other/checkpoints/superseded/older.h5"
    inside.parent.mkdir(exist_ok=True)
    shutil.copy(file, inside)
    before = names(command.folder / "other")
    result = command.must("train", "deck.toml", "run.folder=other", "--restart", inside, "model.hidden=[8]", "--stop-after", "1",
                          code=85)
    # They may be of another branch than the named one: none is left that the next start could take for this run's.
    assert f"moved to other/checkpoints/superseded: {', '.join(before)}" in result.stdout, result.stdout
    assert names(command.folder / "other") == [STEP.format(20), STEP.format(21)]


def check_old_history(command):
    """Of a run that never came to a checkpoint."""
    run = command.start("train", "deck.toml", "run.epochs=1000000", "run.folder=fresh", "checkpoint.every=0")
    history = command.folder / "fresh/history.csv"
    wait_until(lambda: history.exists() and len(history.read_text().splitlines()) > 40, "no history")
    run.kill()
    run.communicate()
    result = command.must("train", "deck.toml", "run.folder=fresh", "--restart", "auto")
    assert "no valid checkpoint in fresh/checkpoints: the run starts afresh" in result.stdout, result.stdout
    assert "is now fresh/history.csv.1" in result.stdout, result.stdout
    assert steps_in_history(history) == list(range(1, 33))
    assert len(steps_in_history(history.with_name("history.csv.1"))) >= 39


def check_users_files(command):
    """A deck in the run's folder stays the user's; a stop file from before is removed with a word."""
    folder = command.folder / "own"
    folder.mkdir()
    deck = "# the notes of a week\n" + command.text("deck.toml")
    (folder / "deck.toml").write_text(deck)
    train = ("train", "own/deck.toml", "run.folder=own")
    command.must(*train, "optimizer.lr=0.0025", "--stop-after", "5", code=85)
    assert (folder / "deck.toml").read_text() == deck
    resolved = (folder / "resolved.toml").read_text()
    assert "lr = 0.0025" in resolved and "batch = 48" in resolved, resolved
    assert "lr = 0.0025" in command.must("train", "own/resolved.toml", "--check", "--restart", "latest").stdout
    (folder / "stop").touch()
    result = command.must(*train, "--restart", "latest", "--stop-after", "5", code=85)
    assert "removed own/stop, which was there before this start" in result.stdout.splitlines(), result.stdout
    assert "at step 5 of" in result.stdout and steps_in_history(folder / "history.csv") == list(range(1, 11))
    assert "lr = 0.01" in (folder / "resolved.toml").read_text()
    (folder / "resolved.toml").write_text(deck)
    result = command.must(*train, "--restart", "own/checkpoints/" + STEP.format(5), "--stop-after", "1", code=85)
    assert (folder / "resolved.toml").read_text() == deck
    assert "own/resolved.toml was not written by a run: left as it is" in result.stdout, result.stdout
    assert f"moved to own/checkpoints/superseded: {STEP.format(9)}, {STEP.format(10)}" in result.stdout.splitlines(), result.stdout


def check_history_of_the_checkpoint(command):
    """Rows that history.csv has not are in the checkpoint, as far as that goes."""
    long = ("train", "deck.toml", "run.steps=1600", "run.log_every=100", "run.evaluate_every=5000", "checkpoint.every=0")
    result = command.must(*long, "run.folder=long", "--stop-after", "1500", code=85)
    history = command.folder / "long/history.csv"
    rows = history.read_text().splitlines(keepends=True)
    assert len(rows) == 1501
    file = "long/checkpoints/" + STEP.format(1500)
    elsewhere = command.folder / "elsewhere/history.csv"
    from_file = ("run.folder=elsewhere", "--restart", file)
    from_folder = ("run.folder=long", "--restart", "latest")
    taken, missing = "{}: {} rows taken from the checkpoint.", "{}: rows of 500 earlier steps are missing; the checkpoint keeps the last 1000"
    another = "".join([rows[0], rows[1].replace("1,", "1,9", 1), *rows[2:]])
    cases = [  # the file as it was, what is left of it, and what is said
        (elsewhere, None, rows[501:], [taken.format("elsewhere/history.csv", 1000), missing.format("elsewhere/history.csv")]),
        (history, "".join(rows), rows[1:], []),
        (history, None, rows[501:], [taken.format("long/history.csv", 1000), missing.format("long/history.csv")]),
        (history, "".join(rows[:701]) + rows[701][:20], rows[1:], [taken.format("long/history.csv", 800)]),
        (history, "".join(rows[:1401] + [rows[1401].replace(",", ",9", 1)]), rows[501:],
         ["long/history.csv is of another run: now long/history.csv.1", missing.format("long/history.csv")]),
    ]
    for path, before, after, said in cases:
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_text(before)
        result = command.must(*long, *(from_file if path == elsewhere else from_folder), "--stop-after", "1", code=85)
        found = path.read_text().splitlines(keepends=True)
        assert found[1:-1] == after and found[-1].startswith("1501,"), (len(found), found[:2], found[-2:], result.stdout)
        assert all(text in result.stdout for text in said), (said, result.stdout)
        assert said or "history.csv" not in result.stdout, result.stdout
        (path.parent / "checkpoints" / STEP.format(1501)).unlink()
    assert command.text("long/history.csv.1") == cases[-1][1]


def check_elapsed_time(command):
    """Of earlier starts, however long ago."""
    folder = command.folder / "aged"
    (folder / "checkpoints").mkdir(parents=True)
    source = command.folder / "other/checkpoints" / STEP.format(20)
    times = read_data(source, "history/elapsed_s") + 7200
    replace_signed(source, folder / "checkpoints" / STEP.format(20), {"/history/elapsed_s": times})
    result = command.must("train", "deck.toml", "run.folder=aged", "model.hidden=[8]", "--restart", "latest",
                          "--stop-after", "5", code=85)
    elapsed = column_of(folder / "history.csv", "elapsed_s")
    assert len(elapsed) == 25 and elapsed == sorted(elapsed) and elapsed[0] >= 7200, elapsed
    assert "of this start, 2:00:0" in result.stdout, result.stdout


def check_refused_start(command):
    """It does not say that it begins, and leaves no folder."""
    result = command.must("train", "deck.toml", "run.folder=never", "--restart", "auto", "memory.budget=8 MiB", code=3)
    assert "afresh" not in result.stdout and not (command.folder / "never").exists(), result.stdout


def check_unreadable_folder(command):
    """It is not an empty one."""
    if os.getuid() != 0:
        return
    checkpoints = command.folder / "wrong/checkpoints"
    command.folder.chmod(0o755)
    checkpoints.chmod(0o700)
    shutil.chown(checkpoints.parent, "nobody")  # who may write, but not look into what root keeps there
    before = names(command.folder / "wrong")
    for restart in ((), ("--restart", "auto")):
        result = subprocess.run(command.line("train", "deck.toml", "run.folder=wrong", *restart), cwd=command.folder,
                                env=environment(), user="nobody", capture_output=True, text=True, check=False)
        require_refusal(result, "cannot-read", "wrong/checkpoints: ", "Permission denied")
    assert names(command.folder / "wrong") == before


def check_unreadable_checkpoint(command):
    """It may be whole: no older one is taken in its place."""
    if os.getuid() != 0:
        return
    command.must("train", "deck.toml", "run.folder=locked", "run.epochs=1", "checkpoint.every=6")
    folder = command.folder / "locked"
    newest = folder / "checkpoints" / names(folder)[-1]
    newest.chmod(0)
    before = names(folder)
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, "nobody")
    for restart in ("auto", "latest"):
        result = subprocess.run(command.line("train", "deck.toml", "run.folder=locked", "--restart", restart), cwd=command.folder,
                                env=environment(), user="nobody", capture_output=True, text=True, check=False)
        require_refusal(result, "cannot-read", f"{newest.name}: ", "Permission denied", "locked/checkpoints", code=1)
    assert names(folder) == before


def slow_run(command, library, *arguments):
    settings = {**environment(), "LD_PRELOAD": library, "SLOW_DISK_S": "5"}
    return subprocess.run(command.line("train", "deck.toml", "communication.timeout=3", *arguments, ranks=2),
                          cwd=command.folder, env=settings, capture_output=True, text=True, timeout=600, check=False)


def check_slow_disk(command, library):
    """A write that takes longer than the ranks wait for each other."""
    for background in ("true", "false"):
        folder = f"slow-{background}"
        result = slow_run(command, library, f"run.folder={folder}", "run.epochs=1", "checkpoint.every=6",
                          f"checkpoint.background={background}")
        assert result.returncode == 0, result.stderr
        assert names(command.folder / folder) == [STEP.format(step) for step in (6, 11)]


def check_failure_during_a_slow_write(command, library):
    """The message comes at once, and the checkpoint is brought to its end."""
    shutil.copy(command.folder / "train.h5", command.folder / "nan.h5")
    with h5py.File(command.folder / "nan.h5", "r+") as file:
        file["inputs"][499, 3] = float("nan")
        renew_digests(file, "inputs")  # which would end it before the first step
    fails = ("train", "deck.toml", "data.train=nan.h5", "data.normalize=none")
    command.must(*fails, "run.folder=quick", "checkpoint.every=1", ranks=2, code=2)
    last = names(command.folder / "quick")[-1]  # before the step that fails
    every = int(last.removeprefix("step-").removesuffix(".h5"))
    result = slow_run(command, library, *fails[2:], "run.folder=failed", f"checkpoint.every={every}")
    require_refusal(result, "not-finite", "nan.h5")
    assert result.stderr.count("mylos:") == 1 and "ended with it" not in result.stderr, result.stderr
    assert names(command.folder / "failed") == [last], list((command.folder / "failed/checkpoints").iterdir())


run_cases(prepare, check_two_runs_at_once, check_another_networks_file_under_a_wrong_name, check_structure_that_hdf5_refuses,
          check_another_runs_file, check_old_history, check_users_files, check_history_of_the_checkpoint, check_elapsed_time,
          check_refused_start, check_unreadable_folder, check_unreadable_checkpoint, check_slow_disk,
          check_failure_during_a_slow_write, arguments=["library"])
