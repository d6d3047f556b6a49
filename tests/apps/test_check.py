"""`train --check` says what a run would be and touches nothing; `info --verify` outlives hostile files.

usage: test_check.py MYLOS
"""
import pathlib
import random
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import checkpoint_block
from checkpoints import last_checkpoint
from processes import finish, wait_until
from small_problem import Command, prepare


def check_of_a_deck(command):
    before = sorted(path.name for path in command.folder.iterdir())
    for ranks in (1, 2):
        result = command.must("train", "deck.toml", "data.micro_batch=10", "--check", ranks=ranks)
        share = {1: "5 micro-batches of 10", 2: "3 micro-batches of 10"}[ranks]
        assert "# data: train 500 samples; test 100 samples; each 8 inputs, 3 classes" in result.stdout
        assert "# model: 867 parameters in 3 blocks" in result.stdout
        assert f"# run: 32 steps of 48 samples; on {ranks} rank" in result.stdout and share in result.stdout
    # What is printed is a deck, and the one that it says.
    (command.folder / "resolved.toml").write_text(result.stdout)
    again = command.must("train", "resolved.toml", "--check", ranks=2)
    assert without_machine(again) == without_machine(result)
    (command.folder / "resolved.toml").unlink()
    assert sorted(path.name for path in command.folder.iterdir()) == before, "something was written"
    refused = command.must("train", "deck.toml", "--check", "model.inputs=7", code=2)
    assert "7" in refused.stderr and "8" in refused.stderr, refused.stderr
    refused = command.must("train", "deck.toml", "--check", "schedule.warmup=99", code=2)
    assert "warmup" in refused.stderr, refused.stderr


def without_machine(result):
    return [line for line in result.stdout.splitlines() if not line.startswith("# here: ")]


def check_what_the_start_refuses(command):
    """Threads and memory of this machine, and who works in the folder."""
    check = ("train", "deck.toml", "--check")
    said = command.must(*check, "run.threads=3").stdout
    assert re.search(r"^# here: 3 threads per rank; memory: .* of .* per rank, every block keeps all$", said, re.M), said
    assert said.endswith("\n# in order\n"), said
    small = ("memory.budget=8 MiB",)
    refused = command.must(*check, *small, code=3, ranks=2)
    assert refused.stderr.startswith("mylos: ") and "8 MiB" in refused.stderr, refused.stderr
    run = command.start("train", "deck.toml", "run.epochs=1000000", "run.folder=used", "run.log_every=1000",
                        "run.evaluate_every=1000000", "checkpoint.every=0")
    lock = command.folder / "used/lock"
    wait_until(lambda: lock.exists() and "process" in lock.read_text(), "no lock")
    said = command.must(*check, "run.folder=used").stdout
    assert f"\n# used: process {run.pid} on " in said and said.endswith("\n# in order, but for the folder\n"), said
    run.terminate()
    assert finish(run)[0] == 85
    said = command.must(*check, "run.folder=used", ranks=4).stdout  # which do not take each other for another run
    assert "works in this folder" not in said and "used has checkpoints up to step" in said, said
    assert said.endswith("\n# in order, but for the folder\n"), said


def check_of_hostile_files(command, count):
    command.must("train", "deck.toml", "run.epochs=1", "run.folder=run")
    path = last_checkpoint(command, "run")
    good = command.must("info", path, "--verify")
    assert re.search(r"valid: digest, and CRC-32 of \d+ datasets .*; step 11", good.stdout), good.stdout
    content = path.read_bytes()
    assert checkpoint_block.with_right_block(content) == content
    hostile = command.folder / "hostile.h5"
    source = random.Random(4)
    seen = {}
    for _ in range(count):
        damaged = bytearray(content)
        for _ in range(source.choice((1, 4, 40))):
            damaged[source.randrange(512, len(damaged))] = source.randrange(256)
        hostile.write_bytes(checkpoint_block.with_right_block(bytes(damaged)))
        result = command.run("info", hostile, "--verify", timeout=60)
        assert result.returncode in (0, 2), (result.returncode, result.stdout, result.stderr)
        if result.returncode == 2:
            assert result.stderr.startswith(f"mylos: {hostile}: ") and result.stderr.count("\n") == 1, result.stderr
        kind = "taken" if result.returncode == 0 else "damaged" if "damaged" in result.stderr else "refused"
        seen[kind] = seen.get(kind, 0) + 1
    # Bytes that nothing uses may change; weights and metadata may not.
    assert seen.get("damaged", 0) > 0 and seen.get("taken", 0) < count / 2, seen
    print(f"hostile files with a right digest: {seen}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = Command(sys.argv[1], folder)
        prepare(command)
        check_of_a_deck(command)
        check_what_the_start_refuses(command)
        check_of_hostile_files(command, int(sys.argv[2]) if len(sys.argv) > 2 else 16)


main()
