"""A disk that fills up, turns read-only or loses the run's folder: the run says so and ends; its checkpoints stand.

usage: test_disk.py MYLOS [--full]     --full: more sizes of the disk, 1 to 4 ranks each, sharded and not
The disk is a tmpfs in a mount namespace of our own: nothing stays mounted. Where that is not allowed (it needs root)
the test says so and ends with code 77, which ctest counts as skipped.
"""
import concurrent.futures
import ctypes
import os
import re
import shutil
import subprocess
import time

from small_problem import prepare
from support.cases import run_cases, skip
from support.processes import finish, require_none_left, wait_until

CLONE_NEWNS = 0x00020000  # linux/sched.h
SECONDS = 150  # until a run that writes to a full disk must have ended; a busy machine takes a minute
PAGE = 4096
TRAIN = ["train", "deck.toml", "run.folder=disk/run", "model.hidden=[256, 256]", "checkpoint.every=4",
         "run.log_every=1", 'communication.bucket="64 KiB"']


def take_own_mounts(_):
    """Skips the test where a user may not mount."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        skip(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    private = subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True, text=True)
    if private.returncode != 0:  # in a chroot / is no mount point: what is mounted would be seen outside
        skip(f"no mounts of its own: {private.stderr.strip()}")


class Disk:
    """A tmpfs of so many bytes at disk/."""

    def __init__(self, command, size):
        self.path = command.folder / "disk"
        self.size = size

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "none", self.path], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.path], check=True)


def checkpoints(command):
    return sorted((command.folder / "disk/run/checkpoints").glob("*.h5"))


def require_end(command, what, run, causes, code=1):
    """The run ends with the code and says one of the causes, once; every checkpoint that is there is whole."""
    found, stdout, stderr = finish(run, SECONDS)
    assert found == code, f"{what}: exit code {found}\n{stdout}\n{stderr}"
    said = [line for line in stderr.splitlines() if line.startswith("mylos: ")]
    assert len(said) == 1 and re.search(causes, said[0]), f"{what}: said {stderr}, expected once /{causes}/"
    require_none_left(command)
    for file in checkpoints(command):
        command.must("info", file)
    return said[0]


FULL = r"checkpoints/step-\d+\.h5\.tmp: .* full: .* \(\d+ bytes\), .* \(\d+ bytes\) .* disk/run/checkpoints"
NO_ROOM = r"disk/run\S*: .*\[cannot-write\]$"


def check_full(command, shard, size, ranks):
    """Keeps all checkpoints on a disk that does not hold all of them; with room again, it goes on."""
    train = [*TRAIN, f"optimizer.shard={shard}"]
    with Disk(command, size) as disk:
        what = f"a disk of {size} bytes, {ranks} ranks, shard = {shard}"
        said = require_end(command, what, command.start(*train, ranks=ranks), NO_ROOM)
        kept = checkpoints(command)
        assert not list(disk.path.rglob("*.h5.tmp")), f"{what}: half a checkpoint is left"
        if kept:
            subprocess.run(["mount", "-o", "remount,size=1g", disk.path], check=True)
            result = command.must(*train, "--restart", "latest", ranks=ranks)
            assert f"restarted from {kept[-1].relative_to(command.folder)} " in result.stdout, what
        return len(kept), bool(re.search(FULL, said))


def check_goes_on(command, shard, size, ranks):
    """With on_error = "continue" a full disk is a warning, until there is room again; the last checkpoint counts."""
    on = ["checkpoint.on_error=continue", f"optimizer.shard={shard}"]
    with Disk(command, size) as disk:
        said = require_end(command, "continue, full to the end", command.start(*TRAIN, *on, ranks=ranks), NO_ROOM)
        assert re.search(FULL, said), said
    with Disk(command, size) as disk, concurrent.futures.ThreadPoolExecutor() as pool:
        run = command.start(*TRAIN, *on, "run.epochs=100000", ranks=ranks)
        heard = pool.submit(run.communicate, timeout=600)  # a full pipe would hold the run
        wait_until(lambda: checkpoints(command), "no checkpoint")
        time.sleep(1)
        assert run.poll() is None, "ended though it should go on"
        subprocess.run(["mount", "-o", "remount,size=1g", disk.path], check=True)
        wait_until(lambda: len(checkpoints(command)) > 6, "no checkpoint though there is room again")
        (disk.path / "run/stop").touch()
        stdout, stderr = heard.result()
        assert run.returncode == 85, (run.returncode, stderr)
        assert re.search(rf"warning: disk/run/{FULL}; the run continues", stdout), stdout[-3000:]
        rows = [int(row.split(",")[0]) for row in (disk.path / "run/history.csv").read_text().splitlines()[1:]]
        assert rows == list(range(1, len(rows) + 1)), "rows of history.csv are lost"
        for file in checkpoints(command):
            command.must("info", file)


def check_read_only(command, shard, ranks):
    """From the start, and from the middle of a run on."""
    with Disk(command, 1 << 30):
        subprocess.run(["mount", "-o", "remount,ro", command.folder / "disk"], check=True)
        run = command.start(*TRAIN, f"optimizer.shard={shard}", ranks=ranks)
        require_end(command, "read-only from the start", run,
                    r"disk/run: .* \[cannot-write\]$")
    with Disk(command, 1 << 30):
        run = command.start(*TRAIN, "run.epochs=100000", "checkpoint.keep_last=2", f"optimizer.shard={shard}",
                            ranks=ranks)
        wait_until(lambda: checkpoints(command), "no checkpoint")
        # A file that is being written keeps a disk from turning read-only.
        wait_until(lambda: subprocess.run(["mount", "-o", "remount,ro", command.folder / "disk"],
                                          stderr=subprocess.DEVNULL, check=False).returncode == 0, "always busy")
        require_end(command, "read-only", run, r"disk/run/.*: .* \[cannot-write\]$")
        assert checkpoints(command)


def check_folder_deleted(command, shard, ranks):
    with Disk(command, 1 << 30):
        run = command.start(*TRAIN, "run.epochs=100000", "checkpoint.keep_last=2", f"optimizer.shard={shard}",
                            ranks=ranks)
        wait_until(lambda: checkpoints(command), "no checkpoint")
        shutil.rmtree(command.folder / "disk/run", ignore_errors=True)
        require_end(command, "folder deleted", run, r"disk/run")


def check_history_refused_at_end(command, shard, ranks):
    """What refuses after the last step ends the run on every rank, and the weights are in a checkpoint."""
    with Disk(command, 1 << 30) as disk:
        run = command.start("train", "deck.toml", "run.folder=disk/run", "run.epochs=80", "run.log_every=1000000",
                            "run.evaluate_every=1000000", "checkpoint.every=0", f"optimizer.shard={shard}",
                            ranks=ranks)
        history = disk.path / "run/history.csv"
        wait_until((disk.path / "run/plan.json").exists, "the run does not start")
        history.mkdir()
        require_end(command, "no history at the end", run, r"disk/run/history\.csv: .* \[cannot-write\]$")
        assert len(checkpoints(command)) == 1, "the weights are lost"


def sizes(command, full):
    """Around what two, three and four checkpoints take, with a few pages for the other files."""
    with Disk(command, 1 << 30):
        command.must(*TRAIN)
        pages = [-(-file.stat().st_size // PAGE) * PAGE for file in checkpoints(command)]
    for count in (2, 3, 4) if full else (3,):
        for offset in (-4, 0, 4, 8, 12, 16, 20) if full else (0, 8, 16):
            yield sum(pages[:count]) + offset * PAGE


def check_disks(command, full):
    every = [(shard, ranks) for shard in ("none", "state", "gradients") for ranks in range(1, 5)]
    sample = [("none", 1), ("state", 2), ("gradients", 3)]
    found = [check_full(command, shard, size, ranks) for number, size in enumerate(sizes(command, full))
             for shard, ranks in (every if full else sample[number:number + 1])]
    print(f"{len(found)} full disks: {sum(full for _, full in found)} named the checkpoint and its bytes; "
          f"{sorted({kept for kept, _ in found})} checkpoints were kept and went on")
    size_for_two = next(sizes(command, False)) * 2 // 3 + 40 * PAGE
    for shard, ranks in every if full else sample[:2]:
        check_read_only(command, shard, ranks)
        check_folder_deleted(command, shard, ranks)
        check_history_refused_at_end(command, shard, ranks)
        check_goes_on(command, shard, size_for_two, ranks)
    print("read-only disks and deleted folders end a run; with on_error = \"continue\" it outlives a full disk")


run_cases(take_own_mounts, prepare, check_disks)
