"""How the command ends: by the code of its work, whatever its libraries do while they shut down.

usage: test_endings.py MYLOS EMBEDDED CRASHING_LIBRARY SOURCES [--full [STARTS]]

--full: STARTS (5,000) processes of six kinds, two at a time, beside six others that compute. None ends by a signal.
"""
import concurrent.futures
import os
import pathlib
import signal
import shutil
import subprocess
import sys
import tempfile
import time

from small_problem import prepare
from support.command import Command, environment
from support.processes import of_folder, require_none_left, wait_until

WARNING = "while libraries were shutting down; the command had done its work, and its exit code stands"
SAMPLE = 12
BUSY, BUSY_OF_SAMPLE = 6, 2  # the ordinary tests go on beside the sample


def check_crashes(command, library):
    def crash(place, *line, ranks=1):
        variables = {"LD_PRELOAD": library, "CRASH_AT": place, "CRASH_NAME": os.path.basename(command.program)}
        return command.run(*line, ranks=ranks, variables=variables)

    check = ["train", "deck.toml", "--check"]
    for place in ("finalize", "thread", "abort", "exit"):
        end = crash(place, *check)
        assert end.returncode == 0 and end.stdout.endswith("\n# in order\n") and end.stderr.count(WARNING) == 1, (place, end)
    lines = [(85, ["train", "deck.toml", "--stop-after", 1, "run.folder=stopped"]), (2, ["train", "deck.toml", "run.steps=0x"]),
             (0, ["types"]), (2, ["info", "nowhere"])]
    for code, line in lines:
        end = crash("exit", *line)
        assert end.returncode == code and end.stderr.count(WARNING) == 1, (line, end)
    end = crash("finalize", *lines[0][1][:-1], "run.folder=finalized")
    assert end.returncode == 85 and (command.folder / "finalized/requeue").exists(), end
    end = crash("exit", *check, ranks=2)
    assert end.returncode == 0 and end.stderr.count(WARNING) == 2, end
    for ranks in (1, 2):  # our own faults are not hidden
        end = crash("work", *check, ranks=ranks)
        assert end.returncode in (-signal.SIGSEGV, 128 + signal.SIGSEGV) and WARNING not in end.stderr, (ranks, end)
    print("a crash of a library's shutdown leaves the exit code as it is; one of the work does not")


def check_isolation(command):
    """A process alone starts no daemon; a setting of the user's own comes before that."""
    long = ["train", "deck.toml", "run.steps=100000000", "run.evaluate_every=1000000000", "run.log_every=10000"]
    for setting, names in ((None, {"mylos"}), ("0", {"mylos", "orted"})):
        variables = {"OMPI_MCA_ess_singleton_isolated": setting} if setting else {}
        folder = f"alone-{setting}"
        with command.start(*long, f"run.folder={folder}", variables=variables) as run:
            try:
                wait_until(lambda: (command.folder / folder / "checkpoints").exists(), "the run has not begun")
                found = set(of_folder(command.folder).values())
            finally:
                run.send_signal(signal.SIGUSR1)
            run.communicate()
            assert run.returncode == 85 and found == names, (setting, run.returncode, found)
        require_none_left(command)
    print("a process alone starts no other")


def check_starts_side_by_side(command, starts):
    """Processes alone share nothing that one of them could take from the others when it ends."""
    def start(_):
        return command.run("train", "deck.toml", "--check")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for end in pool.map(start, range(starts)):
            assert end.returncode == 0, end
    print(f"{starts} starts, eight at a time")


class BusyMachine:
    """Processes that do nothing but compute."""

    def __init__(self, count):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def kinds_of(command, embedded, sources):
    """What is started, and the code that it must end with."""
    deck = (sources / "apps/embedded/surrogate.toml").read_text(encoding="utf-8").replace("steps = 1000", "steps = 60")
    command.write("embedded.toml", deck)
    command.must("train", "deck.toml", "run.folder=base", "run.steps=3")
    mylos = command.program
    short = [mylos, "train", "deck.toml", "run.steps=3"]
    return [("check", [mylos, "train", "deck.toml", "--check"], 0),
            ("train", [*short, "run.folder={place}"], 0),
            ("stop", [*short, "run.folder={place}", "--stop-after", "1"], 85),
            ("eval", [mylos, "eval", "base", "--data", "test.h5"], 0),
            ("predict", [mylos, "predict", "base", "test.h5", "{place}.h5"], 0),
            ("embedded", [embedded, "embedded.toml"], 0)]


def check_many(command, kinds, starts, busy):
    """Threads wait as they do for users: test_environment has them sleep."""
    variables = {name: value for name, value in environment().items() if name not in ("OMP_WAIT_POLICY", "OMP_NUM_THREADS")}
    variables["OMP_NUM_THREADS"] = "2"

    def start(number):
        name, line, code = kinds[number % len(kinds)]
        place = command.folder / f"place-{number}"
        place.mkdir()
        for file in ("deck.toml", "train.h5", "test.h5", "base", "embedded.toml"):
            (place / file).symlink_to(command.folder / file)
        try:
            end = subprocess.run([word.format(place=f"out-{number}") for word in line], cwd=place, env=variables,
                                 capture_output=True, text=True, timeout=600)
            return name, code, end
        finally:
            shutil.rmtree(place)

    began = time.monotonic()
    signals, warned = 0, 0
    with BusyMachine(busy), concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done, (name, code, end) in enumerate(pool.map(start, range(starts)), 1):
            signals += end.returncode < 0
            warned += WARNING in end.stderr
            if end.returncode != code or WARNING in end.stderr:
                print(f"{name}, start {done}: code {end.returncode}, expected {code}\n{end.stdout}\n{end.stderr}", flush=True)
            if done % 250 == 0:
                print(f"{done} starts: {signals} ended by a signal, {warned} crashes in a shutdown", flush=True)
            assert end.returncode == code
    print(f"{starts} starts of {len(kinds)} kinds beside {busy} busy processes in {time.monotonic() - began:.0f} s: "
          f"{signals} ended by a signal, {warned} crashes in a shutdown")
    assert signals == 0 and warned == 0


def main():
    program, embedded, library, sources = sys.argv[1:5]
    full = "--full" in sys.argv
    starts = int(sys.argv[6]) if len(sys.argv) > 6 else 5000 if full else SAMPLE
    with tempfile.TemporaryDirectory() as folder:
        command = Command(program, folder)
        prepare(command)
        if not full:
            check_crashes(command, library)
            check_isolation(command)
        check_starts_side_by_side(command, 800 if full else 48)
        check_many(command, kinds_of(command, embedded, pathlib.Path(sources)), starts, BUSY if full else BUSY_OF_SAMPLE)


main()
