"""Threads that wait for the next kernel spin shortly: by the command's own start, unless the environment says how."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from small_problem import prepare
from support.cases import run_cases
from support.command import environment
from support.processes import ranks_of, wait_until

SPIN = "1000"
LONG = ["train", "deck.toml", "run.steps=100000000", "run.evaluate_every=1000000000", "run.log_every=10000"]
SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


def without_settings(**more):
    return {name: value for name, value in environment().items() if name not in SETTINGS} | more


def settings_of(process):
    words = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    pairs = (word.decode().split("=", 1) for word in words if b"=" in word)
    return {name: value for name, value in pairs if name in SETTINGS}


@contextlib.contextmanager
def ended(run):
    """Whatever happens: it would go on for ever."""
    try:
        yield
    finally:
        run.terminate()


def check_run(command, line, variables, expected, ranks=1):
    """The settings of each rank of a run; alone, that it is the process which was started."""
    folder = command.folder / "spinning"
    with subprocess.Popen(line, cwd=command.folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as run, ended(run):
        wait_until(lambda: (folder / "checkpoints").exists() or run.poll() is not None, "the run has not begun")
        assert run.poll() is None, run.communicate()
        found = ranks_of(command)
        assert len(found) == ranks and (ranks > 1 or found == [run.pid]), (found, run.pid)
        for process in found:
            assert settings_of(process) == expected, (line, settings_of(process), expected)
        run.send_signal(signal.SIGUSR1)
        run.communicate()
        assert run.returncode == 85, run.returncode
    shutil.rmtree(folder)


def check_settings(command):
    long = [*LONG, "run.folder=spinning"]
    own = {"GOMP_SPINCOUNT": SPIN}
    check_run(command, command.line(*long), without_settings(), own)
    check_run(command, command.line(*long, ranks=2), without_settings(), own, ranks=2)
    for said in ({"GOMP_SPINCOUNT": "7"}, {"OMP_WAIT_POLICY": "passive"}, {"OMP_WAIT_POLICY": "active"}, {"KMP_BLOCKTIME": "3"}):
        check_run(command, command.line(*long), without_settings(**said), said)
    # Found by PATH, by a link, and from another folder by a relative name.
    (command.folder / "programs").mkdir()
    (command.folder / "programs/mylos").symlink_to(command.program)
    paths = f"{command.folder}/programs:{os.environ['PATH']}"
    check_run(command, ["mylos", *long], without_settings(PATH=paths), own)
    relative = os.path.relpath(command.program, command.folder.resolve())
    check_run(command, [relative, *long], without_settings(), own)


def check_odd_words(command):
    """Words that a shell would cut or expand arrive as they are, and so does the exit code."""
    def end(**more):
        result = subprocess.run([command.program, "info", "no such * file\n$HOME", ""], cwd=command.folder, env=without_settings(**more),
                                capture_output=True, text=True)
        return result.returncode, result.stdout, result.stderr

    odd = end()
    assert odd == end(GOMP_SPINCOUNT=SPIN) and odd[0] == 2, odd


def check_loader(command):
    """Of which /proc/self/exe speaks then."""
    loader = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
    if loader.exists():
        end = subprocess.run([loader, command.program, "--version"], env=without_settings(), capture_output=True, text=True)
        assert end.returncode == 0 and "mylos" in end.stdout.lower(), end


run_cases(prepare, check_settings, check_odd_words, check_loader)
