"""What a run says of its steps, and when: every step in history.csv, skips counted, evaluations where they are due, a
progress line that fits the terminal."""
import fcntl
import math
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import h5py

from small_problem import prepare
from support.cases import run_cases
from support.command import environment
from support.processes import finish, ranks_of, send, wait_until
from support.run_folders import last_checkpoint
from support.tables import column_of

LOG_EVERY = 20
# Half precision whose scale grows at every second good step until it overflows: a third of the steps are skipped.
SKIPPING = ["precision.compute=fp16", "precision.scaler.growth_interval=2", "precision.scaler.initial_scale=1048576",
            "checkpoint.every=100000", "run.evaluate_every=100000", "data.batch=3", "model.hidden=[4]"]


def rows(command, folder):
    return [line.split(",") for line in command.text(f"{folder}/history.csv").splitlines()[1:]]


def check_rare_progress_lines(command):
    """The device keeps the records of fewer steps than lie between two progress lines."""
    for ranks in (1, 2):
        folder = f"rare-{ranks}"
        output = command.must("train", "deck.toml", *SKIPPING, "run.epochs=20", f"run.folder={folder}",
                              "run.log_every=5000", ranks=ranks).stdout
        found = rows(command, folder)
        steps = [int(row[0]) for row in found]
        assert len(steps) > 3000 and steps == list(range(1, len(steps) + 1)), \
            f"{ranks} ranks: {len(steps)} rows, {len(set(steps))} steps"
        skipped = sum(int(row[6]) for row in found)
        counted = re.search(r"of this start, (\d+) skipped\)", output)[1]
        assert skipped > 500 and int(counted) == skipped, f"{ranks} ranks: {counted} skips counted, {skipped} were"
        noted = len(re.findall(r"^step \d+: overflow on rank \d", output, re.M))
        assert noted == skipped, f"{ranks} ranks: {noted} of {skipped} skips were said"
        with h5py.File(last_checkpoint(command, folder)) as file:
            tail = list(file["/history/step"][:])
            assert file["/scaler/overflows"][()] == skipped
        assert tail == steps[-len(tail):] and len(tail) == 1000, f"{ranks} ranks: the checkpoint's tail: {tail[:3]}"
    print("every step is in history.csv and every skip counted, on 1 and 2 ranks")


def check_errors_lose_no_steps(command):
    """The last steps before a divergence, or before a rank that is lost, are those that a reader looks for."""
    result = command.run("train", "deck.toml", "run.folder=diverged", "precision.compute=fp16", "optimizer.lr=100",
                         "optimizer.clip_norm=0", "precision.scaler.max_consecutive_skips=3", "run.epochs=40",
                         "run.log_every=5000", "run.evaluate_every=5000", "checkpoint.every=5000", ranks=2)
    assert result.returncode == 4, result
    last = int(re.search(r"diverged at step (\d+)", result.stderr)[1])
    assert [int(row[0]) for row in rows(command, "diverged")] == list(range(1, last + 1))
    counts = []
    while not counts or counts[-1] % LOG_EVERY == 0:  # by chance it was lost at a log point
        assert len(counts) < 5, f"no step since a log point is in history.csv: {counts}"
        counts.append(steps_before_a_lost_rank(command, f"lost-{len(counts)}"))
    print(f"a divergence at step {last} is in history.csv, and all {counts[-1]} steps before a rank was lost")


def steps_before_a_lost_rank(command, folder):
    run = command.start("train", "deck.toml", f"run.folder={folder}", "run.epochs=100000", f"run.log_every={LOG_EVERY}",
                        "run.evaluate_every=1000000", "checkpoint.every=1000000", "communication.timeout=2",
                        "data.batch=500", "model.hidden=[512, 512, 512]", ranks=2)
    history = command.folder / folder / "history.csv"
    wait_until(lambda: history.exists() and history.stat().st_size > 0, "the run does not begin")
    time.sleep(LOG_EVERY / 3 * column_of(history, "elapsed_s")[LOG_EVERY - 1] / LOG_EVERY)  # a third of the way to the next
    send(signal.SIGSTOP, ranks_of(command)[1:])
    code, stdout, stderr = finish(run)
    assert code == 1, (code, stdout, stderr)
    steps = [int(row[0]) for row in rows(command, folder)]
    assert steps == list(range(1, len(steps) + 1)), steps[-3:]
    return len(steps)


def evaluated_steps(command, *arguments):
    output = command.must("train", "deck.toml", "checkpoint.every=1000", *arguments).stdout
    return sorted({int(step) for step in re.findall(r"^epoch \S+ step (\d+): test ", output, re.M)})


def check_evaluations(command):
    """500 samples in batches of 48: after the step that ends an epoch, or every so many steps, and at the end."""
    epochs, samples, batch = 3, 500, 48
    whole = samples // batch
    joined = [math.ceil(epoch * samples / batch) for epoch in range(1, epochs + 1)]
    for arguments, expected in ((["data.last_batch=drop"], [whole * epoch for epoch in range(1, epochs + 1)]),
                                (["data.last_batch=join"], joined),
                                (["data.last_batch=drop", "run.evaluate_every=7"], [7, 14, 21, 28, 30]),
                                (["data.last_batch=join", "run.evaluate_every=9"], [9, 18, 27, joined[-1]])):
        folder = "run.folder=evaluated-" + "-".join(arguments).replace("=", "-")
        found = evaluated_steps(command, folder, *arguments)
        assert found == expected, f"{arguments}: evaluated after steps {found}, expected {expected}"
    print("evaluations come after the steps that end an epoch, and every so many steps")


def check_held_up(command):
    """Checkpoints between steps take longer than steps this small; they cannot take more than all of the time."""
    output = command.must("train", "deck.toml", "run.folder=held", "checkpoint.every=1", "checkpoint.background=false",
                          "checkpoint.keep_last=2").stdout
    share = float(re.search(r"they stalled training for \S+ s \(([\d.]+) % of the time\)", output)[1])
    assert 0 < share < 100, output
    print(f"checkpoints stalled training for {share} % of the time")


def output_on_terminal(command, columns, arguments, ranks):
    """What the command writes to a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command.line(*arguments, ranks=ranks), cwd=command.folder, env=environment(),
                          stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE) as run:
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 1 << 16):
                written += piece
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        messages = run.stderr.read().decode()
    assert run.returncode == 0, (run.returncode, messages)
    return written.decode()


def check_live_bar(command):
    """Text that goes on to a second line would stay on the terminal at each progress line."""
    for columns, parts, ranks in ((200, ["█", "scale", "ETA"], 1), (80, ["█", "loss", "ETA"], 1), (80, ["█", "ETA"], 2),
                                  (50, ["step", "loss", "ETA"], 1), (12, ["step"], 1)):
        train = ["train", "deck.toml", f"run.folder=live-{columns}-{ranks}"]
        output = output_on_terminal(command, columns, train, ranks)
        live = [text for text in output.split("\r\033[K") if text.strip() and "\n" not in text]
        assert len(live) == 8, f"{columns} columns, {ranks} ranks: {output}"
        for text in live:
            assert len(text) < columns and all(part in text for part in parts), f"{columns} columns: {text}"
    print("the live progress line fits terminals of 12 to 200 columns")


run_cases(prepare, check_rare_progress_lines, check_errors_lose_no_steps, check_evaluations, check_held_up, check_live_bar)
