"""The processes of a run that is going on: finding them, sending signals, and that none is left behind."""
import os
import pathlib
import subprocess
import time


def of_folder(folder):
    """Name by number of each process that works in this folder or below: a run's launcher and ranks, whoever owns them
    by now."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and pathlib.Path(os.readlink(entry / "cwd")).is_relative_to(folder.resolve()):
                found[int(entry.name)] = (entry / "comm").read_text().strip()
        except OSError:  # it ended meanwhile
            continue
    return found


def ranks_of(command):
    """The numbers of the processes of command's ranks, in the order of their start."""
    name = os.path.basename(command.program)
    return sorted(process for process, found in of_folder(command.folder).items() if found == name)


def send(signal, processes):
    """To each of them that is still there."""
    for process in processes:
        try:
            os.kill(process, signal)
        except ProcessLookupError:
            pass


HANGS_AFTER_S = 300  # no measure of speed: a machine may be busy with much else


def wait_until(condition, what):
    deadline = time.monotonic() + HANGS_AFTER_S
    while not condition():
        assert time.monotonic() < deadline, f"after {HANGS_AFTER_S} s: {what}"
        time.sleep(0.002)


def require_none_left(command):
    wait_until(lambda: not of_folder(command.folder), "processes are left")


LAUNCHER_ENDS_S = 20  # after its ranks; Debian 12's mpirun was seen to wait for ever in its own clean-up


def finish_killed(run, command):
    """The same of a command whose ranks were killed. A launcher that then waits for nobody is killed too."""
    try:
        return finish(run, LAUNCHER_ENDS_S)
    except subprocess.TimeoutExpired:
        wait_until(lambda: not ranks_of(command), "ranks are left, and the launcher waits")
        run.kill()
        return finish(run)


def finish(run, seconds=HANGS_AFTER_S):
    """Exit code, output and messages of a command that must end by itself."""
    stdout, stderr = run.communicate(timeout=seconds)
    return run.returncode, stdout, stderr
