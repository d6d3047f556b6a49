"""What befalls one rank ends all of them within seconds, with its cause once, and leaves no process behind.

usage: test_rank_trouble.py MYLOS [--full]     --full: each rank of two, three and four is stopped in turn, sharded and not
"""
import re
import shutil
import signal
import time

import h5py
import numpy

from small_problem import prepare, write_csv
from support.cases import run_cases
from support.data_files import renew_digests
from support.processes import finish, ranks_of, require_none_left, send, wait_until

ENDLESS = ["run.epochs=100000", "run.log_every=1", "checkpoint.every=0", "data.shuffle=blocks"]
MANY_BUCKETS = ['communication.bucket="8 KiB"']  # some are reduced beside backward
TIMEOUT = 2  # communication.timeout, seconds
GRACE = 10  # seconds after it: the ranks hear of each other for 2 s, mpirun takes 1 s or 2 to end what is stopped


def require_cause(code, stderr, error_id, cause, expected_code=2):
    assert code == expected_code, f"exit code {code}, not {expected_code}: {stderr}"
    said = [line for line in stderr.splitlines() if line.startswith("mylos: ")]
    assert len(said) == 1 and re.match(f"mylos: {cause}", said[0]), f"said {said}, not once /{cause}/"
    assert said[0].endswith(f" [{error_id}]"), f"said {said}, not {error_id}"


def wait_for_steps(command, folder):
    wait_until((command.folder / folder / "history.csv").exists, "the run has not begun")


def give_disks(command, ranks):
    """A folder with deck and data for each rank."""
    folders = [f"disk-{rank}" for rank in range(ranks)]
    for folder in folders:
        (command.folder / folder).mkdir(exist_ok=True)
        for name in ("deck.toml", "train.h5", "test.h5"):
            shutil.copy(command.folder / name, command.folder / folder / name)
    return folders


def check_data_of_one_rank(command, what, spoil, error_id, cause):
    """Its file is wrong before the start."""
    folders = give_disks(command, 3)
    spoil(command.folder / folders[1] / "train.h5")
    run = command.start_on_own_disks(folders, "train", "deck.toml")
    code, _, stderr = finish(run, GRACE)
    require_cause(code, stderr, error_id, cause)
    require_none_left(command)
    assert not any((command.folder / folder / "runs").exists() for folder in folders), f"{what}: wrote something"


def cut(path):
    with open(path, "r+b") as file:
        file.truncate(10000)


def check_other_data(command):
    """A sound file that is another one on one rank's disk: of as many samples, of fewer, and the test data."""
    digest = "samples of digest [0-9a-f]{32}"
    for name, samples, spoiled, others in (("as-many", 500, "train", 500), ("fewer", 400, "train", 500),
                                           ("other", 100, "test", 100)):
        write_csv(command.folder / "other.csv", samples, 7)
        command.must("prepare", "csv", "other.csv", "--label", "class", "--out", f"{name}.h5")

        def spoil(path, name=name, spoiled=spoiled):
            shutil.copy(command.folder / f"{name}.h5", path.with_name(f"{spoiled}.h5"))
        check_data_of_one_rank(command, name, spoil, "ranks-disagree",
                               rf"{spoiled}\.h5 .*: {samples} {digest} on rank 1, {others} {digest} on ranks 0 and 2;")


def check_data_cut_in_mid_run(command):
    folders = give_disks(command, 2)
    run = command.start_on_own_disks(folders, "train", "deck.toml", *ENDLESS,
                                     f"run.folder={command.folder / 'cut'}")
    wait_for_steps(command, "cut")
    cut(command.folder / folders[1] / "train.h5")
    code, _, stderr = finish(run, GRACE)
    require_cause(code, stderr, "file-changed", r"rank 1: train\.h5: .* 10000 bytes .* \d+")
    require_none_left(command)


def check_nan(command):
    """In data that were sound when they were prepared: the rank whose sample it is finds it."""
    with h5py.File(command.folder / "train.h5") as sound, h5py.File(command.folder / "hurt.h5", "w") as hurt:
        for name in sound:
            sound.copy(name, hurt)
        hurt.attrs.update(sound.attrs)
        hurt["inputs"][17, 3] = numpy.nan
        renew_digests(hurt, "inputs")
    run = command.start("train", "deck.toml", "data.train=hurt.h5", "run.folder=hurt", ranks=3)
    code, _, stderr = finish(run, GRACE)
    require_cause(code, stderr, "not-finite", r"rank \d: hurt\.h5: /inputs row 17, column 3 \(counted from 0\) is nan")
    require_none_left(command)


def check_stopped(command, shard, ranks, victim):
    """A rank that SIGSTOP holds: as on a node that no longer answers. The launcher lets it go on before it ends it, and
    the rank does not tell a story of its own."""
    folder = f"stopped-{shard}-{ranks}-{victim}"
    run = command.start_with_own_messages("train", "deck.toml", *ENDLESS, *MANY_BUCKETS, f"run.folder={folder}",
                                          f"optimizer.shard={shard}", f"communication.timeout={TIMEOUT}", ranks=ranks)
    wait_for_steps(command, folder)
    send(signal.SIGSTOP, [ranks_of(command)[victim]])
    begin = time.monotonic()
    code = finish(run, TIMEOUT + GRACE)[0]
    said = "".join(command.text(f"messages-{rank}") for rank in range(ranks))
    require_cause(code, said, "communication-failed", rf"rank \d: .*rank \d of {ranks} waited [\d.]+ s for the other ranks "
                  rf"\(communication\.timeout = {TIMEOUT}\) \(ended with it: rank {victim}\) \[", expected_code=1)
    require_none_left(command)
    print(f"rank {victim} of {ranks} stopped, shard = {shard}: ended {time.monotonic() - begin:.1f} s later", flush=True)


def check_stopped_ranks(command, full):
    stopped = [("state", 3, 1)]
    if full:
        stopped = [(shard, n, rank) for shard in ("none", "state", "gradients") for n in (2, 3, 4) for rank in range(n)]
    for shard, ranks, victim in stopped:
        check_stopped(command, shard, ranks, victim)


run_cases(prepare,
          (check_data_of_one_rank, "missing", lambda path: path.unlink(), "no-such-file",
           r"rank 1: train\.h5: .*No such file or directory \(the current folder is .*/disk-1\); `mylos prepare` makes data files"),
          (check_data_of_one_rank, "cut", cut, "truncated", r"rank 1: train\.h5: cannot be read as HDF5: truncated file: .*"),
          check_other_data, check_data_cut_in_mid_run, check_nan, check_stopped_ranks)
