"""A run that is asked to stop writes a checkpoint, leaves `requeue`, ends with 85, and goes on from there."""
import os
import pathlib
import select
import signal
import subprocess
import time

from small_problem import prepare
from support.cases import run_cases
from support.command import environment
from support.processes import finish, wait_until
from support.run_folders import compare_runs, last_checkpoint
from support.tables import column_of

STOPPED = 85
LONG = ["run.epochs=1000000", "checkpoint.every=0", "run.evaluate_every=1000000",
        "run.log_every=2000"]  # few lines: mpirun takes none from ranks that it ends, and a full pipe would hold them


def wait_for_steps(process, history):
    wait_until(lambda: process.poll() is not None or history.exists() and history.stat().st_size > 2000, "no steps")
    assert process.poll() is None, process.communicate()


def stop(command, ranks, how, name, launcher=()):
    """Starts a long run, asks it to stop; its exit code, what it printed and how long it took to stop."""
    line = [command.program, "train", "deck.toml", f"run.folder={name}", *LONG]
    if ranks > 1:
        line = ["mpirun", "--quiet", "--oversubscribe", "--bind-to", "none", *launcher, "-n", str(ranks), *line]
    with subprocess.Popen(line, cwd=command.folder, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        wait_for_steps(process, command.folder / name / "history.csv")
        start = time.monotonic()
        how(process, command.folder / name)
        text = process.communicate(timeout=600)[0]
        return process.returncode, text[-2000:], time.monotonic() - start


def check_stopped(command, name, text):
    assert (command.folder / name / "requeue").exists(), text
    assert not (command.folder / name / "stop").exists(), text
    steps = command.text(f"{name}/history.csv").splitlines()[-1].split(",")[0]
    assert last_checkpoint(command, name).name == f"step-{int(steps):010d}.h5", text
    command.must("info", last_checkpoint(command, name))
    return int(steps)


def check_ways_to_stop(command):
    def send(*numbers):
        def how(process, _):
            for number in numbers:
                os.kill(process.pid, number)
                time.sleep(0.01)
        return how

    def touch(_, folder):
        (folder / "stop").touch()

    # mpirun passes SIGUSR1 on; SIGTERM it answers itself: with SIGTERM, and after these seconds with SIGKILL.
    patient = ("--mca", "odls_base_sigkill_timeout", "4")
    cases = [
        ("usr1", 1, send(signal.SIGUSR1), (), STOPPED, "SIGUSR1"),
        ("int-twice", 1, send(signal.SIGINT, signal.SIGINT, signal.SIGTERM), (), STOPPED, "SIG"),
        ("usr1-3", 3, send(signal.SIGUSR1, signal.SIGUSR1), (), STOPPED, "SIGUSR1, on rank"),
        ("file-2", 2, touch, (), STOPPED, "the file file-2/stop, on rank 0"),
        ("term-2", 2, send(signal.SIGTERM), patient, 1, "SIGTERM"),
    ]
    for name, ranks, how, launcher, code, reason in cases:
        returned, text, seconds = stop(command, ranks, how, name, launcher)
        assert returned == code, (name, returned, text)
        assert reason in text or code == 1, (name, text)
        steps = check_stopped(command, name, text)
        print(f"{name}: stopped after step {steps}, {seconds:.2f} s after it was asked")


def check_notice(command, library):
    """Of a run that cannot come to it soon, here as its disk is slow: a line within 5 s, while it goes on."""
    always = [word for word in LONG if not word.startswith("checkpoint.every")]
    line = ["train", "deck.toml", "run.folder=slow", *always, "checkpoint.every=1", "checkpoint.background=false"]
    with command.start(*line, variables={"LD_PRELOAD": library, "SLOW_DISK_S": "4"}) as process:
        writing = command.folder / "slow/checkpoints"
        wait_until(lambda: process.poll() is not None or any(writing.glob("*.tmp")), "no checkpoint is being written")
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGTERM)
        assert select.select([process.stderr], [], [], 300)[0], "no word within 300 s"
        assert process.poll() is None, "the run was to be held up"
        code, output, said = finish(process)
    assert code == STOPPED and "asked to stop by SIGTERM" in output, (code, output, said)
    assert said.count("SIGTERM has arrived: the run stops, with a checkpoint, after ") == 1, said
    print("held up by a slow disk: says that it was heard")


def check_walltime(command):
    result = command.must("train", "deck.toml", "run.folder=wall", *LONG, "--walltime", "00:00:04", ranks=2,
                          code=STOPPED)
    seconds = column_of(command.folder / "wall" / "history.csv", "elapsed_s")[-1]
    assert seconds < 8, seconds  # else it would go on for hours; a busy machine holds single steps up
    assert "asked to stop by walltime 0:04" in result.stdout, result.stdout
    check_stopped(command, "wall", result.stdout)
    print(f"walltime of 4 s: trained for {seconds:.2f} s")


def check_loop(command, repository):
    """Five slices through the resubmit loop end with the bits of one run."""
    common = ["train", "deck.toml", "run.steps=40", "run.log_every=100"]
    command.must(*common, "run.folder=whole")
    loop = [pathlib.Path(repository) / "scripts" / "resubmit", "sliced", "--", command.program, *common,
            "run.folder=sliced", "--restart", "auto", "--stop-after", "8"]
    result = subprocess.run(loop, cwd=command.folder, env=environment(), capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("restarted from") == 4, result.stdout
    compare_runs(command, "whole", "sliced", "five slices")
    # What cannot succeed is not started again and again.
    loop[-1] = "0"
    result = subprocess.run(loop, cwd=command.folder, env=environment(), capture_output=True, text=True, timeout=600)
    assert result.returncode == 2, (result.returncode, result.stdout, result.stderr)
    print("five slices through scripts/resubmit: bitwise equal to one run")


run_cases(prepare, check_ways_to_stop, check_notice, check_walltime, check_loop, arguments=["repository", "library"])
