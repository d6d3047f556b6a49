"""A rank that stops (SIGSTOP) in any command, at any call that needs the others: all ranks end within the deadline of the deck,
or of the deck in the checkpoint, with one message that names it.

usage: test_stopped_rank.py MYLOS STOPPING_LIBRARY [--full]

A sample of it; with --full every command, 2 and 3 ranks, each rank, at calls from the first behind the deck to MPI_Finalize; and,
before the deck is read, the default deadline, which takes 300 s.
"""
import concurrent.futures
import pathlib
import re
import signal
import sys
import tempfile

import uncertain_data
from rollout_fields import linear_deck, write_linear
from support.command import Command
from support.processes import finish, of_folder, require_none_left, send

TIMEOUT = 2  # communication.timeout of the decks, seconds
DEFAULT = 300
GRACE = 40  # after it: the ranks hear of each other for 2 s, or speak in turns of 6 s; mpirun ends what is stopped; a busy machine
AT_ONCE = 4
TABLE = f"\n[communication]\ntimeout = {TIMEOUT}\n"

COMMANDS = {
    "train": ["train", "deck.toml", "run.folder=again"],
    "check": ["train", "deck.toml", "--check"],
    "eval": ["eval", "run"],
    "dropout": ["eval", "run", "--mc-dropout", 3],
    "ensemble": ["eval", "--ensemble", "run", "other"],
    "predict": ["predict", "run", "test.h5", "out.h5"],
    "calibrate": ["calibrate", "run", "--out", "calibrated.h5"],
    "rollout": ["rollout", "linear", "linear.h5", "--steps", 3, "--out", "rolled.h5"],
    "init": ["init", "deck.toml", "new.h5"],
    "advise": ["advise", "deck.toml", "--steps", 4, "--rounds", 1, "--out", "advised.toml"],
    "sweep": ["sweep", "deck.toml", "optimizer.lr=1e-3,1e-2,1e-1", "--out", "swept"],
    "pairs": ["sweep", "deck.toml", "optimizer.lr=1e-3,1e-2", "--ranks-per-trial", 2, "--out", "swept"],
}
WITHOUT_DECK = {
    "info": ["info", "run"],
    "allreduce": ["bench", "allreduce", "--sizes", "4 KiB", "--rounds", 1],
    "before the deck": ["eval", "run"],
}


def set_up(folder, full):
    command = Command(sys.argv[1], folder)
    for name, samples, seed in (("train.h5", 400, 1), ("test.h5", 100, 2)):
        uncertain_data.write(folder, name, samples, seed)
    command.write("deck.toml", uncertain_data.network("run", "mse", epochs=2, dropout=0.1) + TABLE)
    command.must("train", "deck.toml", "run.folder=run")
    if not full:
        return
    command.must("train", "deck.toml", "run.folder=other", "run.seed=2")
    write_linear(folder / "linear.h5")
    command.write("linear.toml", linear_deck(normalize="none") + TABLE)
    command.must("train", "linear.toml", "run.folder=linear")


class Case:
    """One start of a command, in a folder of its own with links to all that it needs."""

    def __init__(self, base, place, line, ranks):
        self.line, self.ranks = line, ranks
        folder = base / place
        folder.mkdir()
        for file in base.iterdir():
            if not file.is_dir() or file.name in ("run", "other", "linear"):
                (folder / file.name).symlink_to(file)
        self.command = Command(sys.argv[1], folder)

    def start(self, **variables):
        variables = {name: str(value) for name, value in variables.items()} | {"LD_PRELOAD": sys.argv[2]}
        return self.command.start_with_own_messages(*self.line, ranks=self.ranks, variables=variables)

    def calls(self, rank):
        """The names of the calls that the rank has made."""
        return [line.split()[1] for line in self.command.text(f"calls-{rank}").splitlines()]

    def said(self):
        texts = [self.command.text(f"messages-{rank}") for rank in range(self.ranks)]
        return [line for text in texts for line in text.splitlines() if line.startswith("mylos: ")]


def check(case, victim, number, timeout):
    """Returns whether the rank came to that call."""
    run = case.start(STOP_RANK=victim, STOP_AT=number)
    try:
        code, stdout, stderr = finish(run, timeout + GRACE)
    finally:  # what still hangs would stay for ever
        run.kill()
        send(signal.SIGKILL, of_folder(case.command.folder))
    require_none_left(case.command)
    calls = case.calls(victim)
    if len(calls) < number:  # groups of a sweep share its members in the order in which they come
        assert code == 0, (code, stdout, stderr)
        return False
    said, call = case.said(), calls[number - 1]  # the launcher lets the rank go on before it ends it
    what = f"{case.line}, rank {victim} of {case.ranks} before call {number} ({call}): exit code {code}, said {said}"
    assert code == 1 and len(said) == 1, what
    assert re.search(rf"waited [\d.]+ s .*communication\.timeout = {timeout}\b.*\[communication-failed\]$", said[0]), what
    if call not in ("MPI_Init_thread", "MPI_Finalize"):  # where the others can only see that somebody is missing
        assert re.search(rf"\(ended with it: ranks? [\d, ]*\b{victim}\b", said[0]), what
    return True


def behind_the_deck(calls):
    """The number of the first call that has the deck's deadline: the second group of the start."""
    groups = [number for number, name in enumerate(calls, 1) if name == "MPI_Comm_idup"]
    return groups[1]


def moments(calls, count):
    first, last = behind_the_deck(calls), len(calls)
    return sorted({first + (last - first) * part // (count - 1) for part in range(count)})


def cases_of(base, full):
    """Of each case its own folder, the rank that stops, at which call, and the deadline."""
    for name in COMMANDS if full else ("predict", "sweep"):
        for ranks in (2, 3) if full else (2,):
            undisturbed = Case(base, f"{name}-{ranks}", COMMANDS[name], ranks)
            code, stdout, stderr = finish(undisturbed.start())
            assert code == 0, (name, code, stdout, stderr)
            for victim in range(ranks):
                some = moments(undisturbed.calls(victim), 6 if full else 4)
                for number in some if full else some[1 + victim::2]:
                    yield Case(base, f"{name}-{ranks}-{victim}-{number}", COMMANDS[name], ranks), victim, number, TIMEOUT
    if full:
        for number, (name, line) in enumerate(WITHOUT_DECK.items()):
            yield Case(base, f"{name}-default", line, 2), number % 2, 1 if number == 0 else 4, DEFAULT


def main():
    full = "--full" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        set_up(base, full)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(lambda case: check(*case), list(cases_of(base, full))))
    print(f"a rank stopped {sum(results)} times: all ranks ended with one cause; not reached {results.count(False)} times")
    assert sum(results) >= 0.8 * len(results)


main()
