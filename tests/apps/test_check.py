"""`train --check` says what a run would be and touches nothing; `info --verify` outlives hostile files; files may have a
largest size."""
import os
import random
import re
import resource
import subprocess
import tomllib

import h5py

from small_problem import DECK, prepare
from support import checkpoint_block
from support.cases import run_cases
from support.command import environment
from support.processes import finish, wait_until
from support.refusal import ids_of, require_refusal
from support.run_folders import compare_runs, last_checkpoint


def check_of_a_deck(command):
    before = sorted(path.name for path in command.folder.iterdir())
    for ranks in (1, 2):
        result = command.must("train", "deck.toml", "data.micro_batch=10", "--check", ranks=ranks)
        share = {1: "5 micro-batches of 10", 2: "3 micro-batches of 10"}[ranks]
        assert "# data: train 500 samples; test 100 samples; each 8 inputs, 3 classes" in result.stdout
        assert "# model: 867 parameters in 3 blocks" in result.stdout
        assert f"# run: 32 steps of 48 samples; on {ranks} rank" in result.stdout and share in result.stdout
    # What is printed is a deck, and the one that it says.
    command.write("resolved.toml", result.stdout)
    again = command.must("train", "resolved.toml", "--check", ranks=2)
    assert without_machine(again) == without_machine(result)
    (command.folder / "resolved.toml").unlink()
    assert sorted(path.name for path in command.folder.iterdir()) == before, "something was written"
    command.must_refuse(["train", "deck.toml", "--check", "model.inputs=7"], "data-mismatch", "7", "8")
    command.must_refuse(["train", "deck.toml", "--check", "schedule.warmup=99"], "keys-conflict", "schedule.warmup is 99")


def check_sizes_and_layers(command):
    """What is resolved has the sizes that were found in the data, and a block for each layer; it trains to the same weights,
    and goes on from a checkpoint of the run whose deck has neither."""
    command.write("sizes.toml", DECK.replace('type = "mlp"\nhidden = [32, 16]\ndropout = 0.2\n', 'type = "cnn"\nchannels = [4]\n'))
    with h5py.File(command.folder / "train.h5") as given, h5py.File(command.folder / "grid.h5", "w") as file:
        file["inputs"], file["labels"] = given["inputs"][()], given["labels"][()]
        file.attrs["classes"], file.attrs["shape"] = 3, "4 2 1"
    run = ("train", "sizes.toml", "data.train=grid.h5", "data.test=grid.h5", "run.folder=sizes")
    command.must(*run, "--stop-after", 5, code=85)
    deck = tomllib.loads(command.text("sizes/resolved.toml"))
    assert (deck["model"]["inputs"], deck["model"]["outputs"], deck["data"]["shape"]) == (8, 3, [4, 2, 1]), deck
    assert [layer["kind"] for layer in deck["model"]["layers"]] == ["conv", "max_pool", "dense"], deck["model"]
    said = command.must(*run[:-1], "--check").stdout
    assert said.count("\n[[model.layers]]\n") == 3 and max(map(len, said.splitlines())) < 200, said
    assert tomllib.loads(said)["model"] == deck["model"]
    again = command.must("train", "sizes/resolved.toml", "--restart", "latest").stdout
    assert "changed at the restart" not in again and again.endswith("\ndone\n"), again
    command.must("train", "sizes/resolved.toml", "run.folder=sizes-2")
    compare_runs(command, "sizes", "sizes-2", "the resolved deck")


def without_machine(result):
    return [line for line in result.stdout.splitlines() if not line.startswith("# here: ")]


def check_what_the_start_refuses(command):
    """Threads and memory of this machine, and who works in the folder."""
    check = ("train", "deck.toml", "--check")
    said = command.must(*check, "run.threads=3").stdout
    assert re.search(r"^# here: 3 threads per rank; memory: .* of .* per rank, every block keeps all$", said, re.M), said
    assert said.endswith("\n# in order\n"), said
    small = ("memory.budget=8 MiB",)
    command.must_refuse([*check, *small], "does-not-fit", "mylos: ", "8 MiB", code=3, ranks=2)
    run = command.start("train", "deck.toml", "run.epochs=1000000", "run.folder=used", "run.log_every=1000",
                        "run.evaluate_every=1000000", "checkpoint.every=0")
    lock = command.folder / "used/lock"
    wait_until(lambda: lock.exists() and "process" in lock.read_text(), "no lock")
    command.must_refuse([*check, "run.folder=used"], "folder-in-use", f"used: process {run.pid} on ")
    said = command.must(*check, "run.folder=used", "--restart", "auto").stdout
    assert f"\n# used: process {run.pid} on " in said and "the run waits for it" in said and said.endswith("\n# in order\n"), said
    run.terminate()
    assert finish(run)[0] == 85
    # Ranks do not take each other for another run.
    command.must_refuse([*check, "run.folder=used"], "folder-has-checkpoints", "used has checkpoints of an earlier run", ranks=4)


def check_restart(command):
    """What would be resumed, and what would be refused, by the run's own words; nothing is touched."""
    command.must("train", "deck.toml", "run.folder=resumed", "checkpoint.every=9", "--stop-after", "20", code=85)
    folder = command.folder / "resumed"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    newest = "resumed/checkpoints/step-0000000020.h5"

    def said(*words, deck="deck.toml", ranks=1):
        checked = command.must("train", deck, "run.folder=resumed", "--check", "--restart", *words, ranks=ranks).stdout
        assert checked.endswith("\n# in order\n"), checked
        return [line[2:] for line in checked.splitlines() if line.startswith("# ")]

    for ranks in (1, 2):
        assert f"restarts from {newest} at step 20 of 32" in said("latest", ranks=ranks), said("latest")
    changed = said("auto", "optimizer.lr=0.002", "run.epochs=4")
    assert "changed at the restart: optimizer.lr = 0.002 (was 0.01)" in changed, changed
    assert any(re.match(r"changed at the restart: the schedule takes \d+ updates \(was 32\)", line) for line in changed), changed
    older = "resumed/checkpoints/step-0000000009.h5"
    assert f"restarts from {older} at step 9 of 32" in said(older)
    (command.folder / "newest").write_bytes((command.folder / newest).read_bytes())
    with open(command.folder / newest, "r+b") as file:
        file.seek(3000)
        file.write(b"damaged")
    damaged = said("latest")
    assert "restarts from resumed/checkpoints/step-0000000018.h5 at step 18 of 32" in damaged, damaged
    assert any(line.startswith(f"skipped {newest}: ") for line in damaged), damaged
    (command.folder / newest).write_bytes((command.folder / "newest").read_bytes())
    refused = [(["run.seed=7", "--restart", "latest"], "restart-mismatch"), (["model.hidden=[31, 16]", "--restart", "auto"], "model-mismatch"),
               (["--restart", "newest.h5"], "no-such-file"), (["run.epochs=1", "--restart", "latest"], "restart-mismatch"),
               (["run.folder=none", "--restart", "latest"], "no-checkpoint")]
    for words, error in refused:
        words = ["train", "deck.toml", *([] if "run.folder=none" in words else ["run.folder=resumed"]), *words]
        messages = {command.must_refuse([*words, *check], error).stderr for check in ([], ["--check"])}
        assert len(messages) == 1, messages
    afresh = command.must("train", "deck.toml", "run.folder=none", "--check", "--restart", "auto").stdout
    assert "# no valid checkpoint in none/checkpoints: the run starts afresh\n" in afresh and not (command.folder / "none").exists(), afresh
    assert before.keys() == {path: 0 for path in folder.rglob("*")}.keys(), "something was written"


def check_folder_that_cannot_be_made(command):
    check = ("train", "deck.toml", "--check")
    (command.folder / "dangling").symlink_to("nowhere")
    (command.folder / "taken").mkdir()
    command.write("taken/checkpoints", "a file")
    of = "command line: run.folder: {} "
    cases = [("train.csv", 2, "not-a-folder", of.format("train.csv"), "train.csv is"),
             ("train.csv/a/run", 2, "not-a-folder", of.format("train.csv/a/run"), "train.csv is"),
             ("dangling/run", 2, "cannot-write", of.format("dangling/run"), "dangling: No such file or directory"),
             ("taken", 2, "not-a-folder", of.format("taken/checkpoints"), "taken/checkpoints is")]
    if os.geteuid() != 0:  # who may write everywhere
        (command.folder / "locked").mkdir(mode=0o500)
        cases.append(("locked/run", 1, "cannot-write", "command line: locked/run: ", "locked: Permission denied"))
    with command.writes_nothing():
        for folder, code, *refusal in cases:
            for ranks in (1, 2):
                for words in (check, check[:-1]):  # the run itself, too
                    said = command.must_refuse([*words, f"run.folder={folder}"], *refusal, ranks=ranks, code=code).stderr
                    assert said.startswith("mylos: ") and said.count("\n") == 1, said
        assert command.must(*check, "run.folder=deep/below/run").stdout.endswith("\n# in order\n")


def run_with_files_of(size, command, *arguments, **streams):
    """Where files may have so many bytes: `ulimit -f`."""
    return subprocess.run(command.line(*arguments), cwd=command.folder, env=environment(), text=True, timeout=600,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)), **streams)


def check_limit_of_file_sizes(command):
    """It is a write that fails, with its message, and not the process's end by a signal."""
    with open(command.folder / "manual", "w", encoding="utf-8") as manual:
        ended = run_with_files_of(4096, command, "manual", stdout=manual, stderr=subprocess.PIPE)
    require_refusal(ended, "system-failed", ": File too large", code=1)
    # MPI has files of some MiB of its own.
    ended = run_with_files_of(8 << 20, command, "train", "deck.toml", "run.folder=limited", "model.hidden=[1024, 1024]",
                              "checkpoint.every=4", "checkpoint.on_error=stop", capture_output=True)
    assert ended.returncode == 1, (ended.returncode, ended.stderr)
    assert re.search(r"^mylos: limited/checkpoints/step-0000000004\.h5\.tmp: .*(File too large|8388608 bytes).* \[cannot-write\]$",
                     ended.stderr, re.M), ended.stderr
    assert not list((command.folder / "limited").rglob("*.tmp"))


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
        kind = "taken" if result.returncode == 0 else ids_of(result.stderr)[0]
        seen[kind] = seen.get(kind, 0) + 1
    # Bytes that nothing uses may change; weights and metadata may not.
    assert seen.get("damaged", 0) > 0 and seen.get("taken", 0) < count / 2, seen
    print(f"hostile files with a right digest: {seen}")


run_cases(prepare, check_of_a_deck, check_sizes_and_layers, check_what_the_start_refuses, check_restart,
          check_folder_that_cannot_be_made, check_limit_of_file_sizes, (check_of_hostile_files, 16))
