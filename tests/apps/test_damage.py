"""Whatever befell the newest checkpoint, a restart says which file and why, and goes on from the one before it.

usage: test_damage.py MYLOS [--full]
A sample of the damages, each met by a restart. --full: many more, each judged by `mylos info`, some by a restart too.
"""
import concurrent.futures
import random
import re
import shutil

from small_problem import prepare
from support.cases import run_cases
from support.refusal import ids_of
from support.run_folders import compare, last_checkpoint

SEED = 20
NEWEST, BEFORE = "step-0000000032.h5", "step-0000000027.h5"  # of DECK's three epochs, a checkpoint every nine steps
# The ids that are possible, and what a message has, which names no id where a run passes over the file.
TRUNCATED = ("truncated", "wrong-format"), r".*(empty|not a Mylos checkpoint|truncated\b.* \d+ bytes of \d+)"
# A flipped bit in the first line of the user block changes what it says the file is.
FLIPPED = ("damaged", "unknown-version", *TRUNCATED[0]), rf".*damaged|.*version \d+, .* reads 3|{TRUNCATED[1]}"


def truncated(length):
    return f"truncated to {length} bytes", lambda data: data[:length], TRUNCATED


def flipped(bit):
    def flip(data):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)
    return f"bit {bit % 8} of byte {bit // 8} flipped", flip, FLIPPED


def damages(length, cuts, flips):
    """What is done to the file's bytes, and what is said of it."""
    source = random.Random(SEED)
    yield "empty", lambda data: b"", (("truncated",), "is empty")
    yield "a text", lambda data: b"[run]\nname = 'small'\n" * 40, (("wrong-format",), "is not a Mylos checkpoint")
    yield "of a newer version", lambda data: data.replace(b"checkpoint 3", b"checkpoint 4", 1), \
        (("unknown-version",), ".*version 4, .* reads 3")
    for _ in range(cuts):
        yield truncated(source.randrange(1, length))
    for _ in range(flips // 4):
        yield flipped(source.randrange(8 * 512))  # the user block: where the digest is
    for _ in range(flips - flips // 4):
        yield flipped(source.randrange(8 * length))


def copy_of_whole(command, folder):
    """The newest checkpoint of a copy of the undisturbed run."""
    shutil.copytree(command.folder / "whole", command.folder / folder)
    return command.folder / folder / "checkpoints" / NEWEST


def check_info(command, file, what, cause):
    ids, said = cause
    result = command.run("info", file)
    assert result.returncode == 2, f"{what}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    found = ids_of(result.stderr)
    assert len(found) == 1 and found[0] in ids, f"{what}: {result.stderr}"
    assert len(re.findall(f"{file.name}: ({said})", result.stderr)) == 1, f"{what}: {result.stderr}"


def check_restart(command, file, what, cause, ranks):
    run = file.parent.parent
    result = command.must("train", "deck.toml", f"run.folder={run.name}", "--restart", "latest", ranks=ranks)
    said = rf"^skipped {run.name}/checkpoints/{NEWEST}: ({cause[1]})"
    assert len(re.findall(said, result.stdout, re.M)) == 1, f"{what}: {result.stdout}"
    assert re.search(rf"^restarted from {run.name}/checkpoints/{BEFORE} at step 27 of 32$", result.stdout, re.M), what
    if ranks == 1:
        compare(last_checkpoint(command, "whole"), file, what)


def check_other_model(command):
    """Whole, but of another network: the one before is taken; where all are, the first difference is named."""
    command.must("train", "deck.toml", "run.folder=other", "model.hidden=[24, 16]")
    shutil.copy(command.folder / "other/checkpoints" / NEWEST, copy_of_whole(command, "of-other"))
    difference = f"{NEWEST}: /model/hidden1/weight is [24, 8]"
    result = command.must("train", "deck.toml", "run.folder=of-other", "--restart", "latest")
    assert f"skipped of-other/checkpoints/{difference}" in result.stdout, result.stdout
    compare(command.folder / "whole/checkpoints" / NEWEST, command.folder / "of-other/checkpoints" / NEWEST, "other")
    for restart in ("latest", "auto", f"other/checkpoints/{NEWEST}"):
        command.must_refuse(["train", "deck.toml", "run.folder=other", "--restart", restart], "model-mismatch",
                            f"other/checkpoints/{difference}", "[32, 8]")


def check_damages(command, full):
    cuts, flips, restart_each = (50, 500, 25) if full else (5, 20, 1)
    command.must("train", "deck.toml", "run.folder=whole")
    sound = (command.folder / "whole/checkpoints" / NEWEST).read_bytes()

    def check(number, what, damage, cause):
        """True if a restart met the damage."""
        file = copy_of_whole(command, f"case-{number}")
        file.write_bytes(damage(sound))
        assert file.read_bytes() != sound, what
        if full:
            check_info(command, file, what, cause)
        if number % restart_each != 0:
            return False
        check_restart(command, file, what, cause, ranks=2 if number % 9 == 0 else 1)
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # starting MPI is mostly waiting
        checks = [pool.submit(check, number, *case) for number, case in enumerate(damages(len(sound), cuts, flips))]
        restarts = sum(done.result() for done in checks)
    print(f"seed {SEED}: {len(checks)} damaged checkpoints refused, {restarts} restarts from the one before")


run_cases(prepare, check_damages, check_other_model)
