"""Ranks that were not started alike: refused before anything is done, once, and by the number of the odd rank."""
import os
import shutil
import subprocess

from small_problem import prepare
from support.cases import run_cases
from support.command import LAUNCHER, environment
from support.refusal import require_refusal
from support.run_folders import compare_runs, history_without_times

TRAIN = ["train", "deck.toml"]
LINES = {  # of three ranks; the common beginning, and what follows it
    "other deck": ([TRAIN, TRAIN, ["train", "other.toml"]],
                   "`mylos train`", "'other.toml' on rank 2, 'deck.toml' on ranks 0 and 1"),
    "other key on the first": ([[*TRAIN, "data.batch=32"], TRAIN, TRAIN],
                               "`mylos train deck.toml`", "'data.batch=32' on rank 0, nothing on ranks 1 and 2"),
    "three values": ([[*TRAIN, f"run.seed={rank}"] for rank in range(3)],
                     "`mylos train deck.toml`", "'run.seed=2' on rank 2, 'run.seed=1' on rank 1, 'run.seed=0' on rank 0"),
    "other command": ([TRAIN, ["eval", "run"], TRAIN], "`mylos`", "'eval' on rank 1, 'train' on ranks 0 and 2"),
    "a word that one does not know": ([TRAIN, [*TRAIN, "--chekc"], TRAIN],
                                      "`mylos train deck.toml`", "'--chekc' on rank 1, nothing on ranks 0 and 2"),
}


def start(command, lines, programs=None, variables=None, folders=None):
    """A rank with each of the lines, perhaps of its own program, with variables of its own or in another folder."""
    parts = []
    for rank, line in enumerate(lines):
        program = (programs or {}).get(rank, command.program)
        settings = [f"{name}={value}" for name, value in (variables or {}).get(rank, {}).items()]
        folder = ["-C", str(folders[rank])] if rank in (folders or {}) else []
        parts += [":", "-n", "1", "env", *folder, *settings, program, *line]
    return subprocess.run([*LAUNCHER, *parts[1:]], cwd=command.folder, env=environment(), capture_output=True, text=True,
                          timeout=600)


def require_one_refusal(result, *parts):
    require_refusal(result, "ranks-disagree", *parts)
    assert result.stderr.startswith("mylos: ") and result.stderr.count("\n") == 1, result


def check_command_lines(command):
    for lines, *parts in LINES.values():
        require_one_refusal(start(command, lines), *parts)
        assert not (command.folder / "runs").exists(), "something was written"


def check_versions(command):
    """The same program, of another commit."""
    version = command.must("--version").stdout.splitlines()[0].removeprefix("mylos ")
    commit = version.partition("(commit ")[2].rstrip(")")
    if not commit:
        return print("built without a commit")
    other = command.folder / "other-mylos"
    content = open(command.program, "rb").read()
    assert commit.encode() in content, "the commit is not in the program as text"
    other.write_bytes(content.replace(commit.encode(), b"0" * len(commit)))
    other.chmod(0o755)
    compiled = " compiled for " + command.must("--version").stdout.partition("compiled for ")[2].split()[0]
    result = start(command, [TRAIN] * 3, {1: str(other)})
    require_one_refusal(result, f"Mylos {version.replace(commit, '0' * len(commit))}{compiled} on rank 1, "
                        f"Mylos {version}{compiled} on ranks 0 and 2")


def check_products(command):
    """A library that one rank's environment holds to less."""
    if "onednn" not in command.must("--version").stdout.partition("GEMM engines: ")[2].splitlines()[0]:
        return print("no library whose instructions could be held")
    result = start(command, [TRAIN] * 3, None, {2: {"ONEDNN_MAX_CPU_ISA": "SSE41"}})
    require_one_refusal(result, "SSE41 on rank 2, ", " on ranks 0 and 1", "ONEDNN_MAX_CPU_ISA")


def check_content_of_decks(command):
    """Files of one name that are not the same on all ranks, as on disks of their own: all take what rank 0 reads."""
    words = [*TRAIN, "run.epochs=1"]
    command.must(*words, "run.folder=one-deck", ranks=3)
    elsewhere = command.folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("train.h5", "test.h5"):
        os.link(command.folder / name, elsewhere / name)
    deck = command.text("deck.toml")
    for odd, content in (("another-run", deck.replace("hidden = [32, 16]", "hidden = [8]").replace("batch = 48", "batch = 24")),
                         ("no-deck", "[run")):
        assert content != deck
        (elsewhere / "deck.toml").write_text(content, encoding="utf-8")
        result = start(command, [[*words, f"run.folder={command.folder / odd}"]] * 3, folders={1: elsewhere})
        assert result.returncode == 0 and not result.stderr, result
        compare_runs(command, "one-deck", odd)
        assert history_without_times(command, "one-deck") == history_without_times(command, odd), odd
        first = command.folder / f"{odd}-on-rank-0"
        result = start(command, [[*words, f"run.folder={first}"]] * 3, folders={0: elsewhere})
        if odd == "no-deck":
            assert result.returncode == 2 and result.stderr.count("\n") == 1 and not first.exists(), result
        else:
            assert result.returncode == 0 and "hidden = [8]" in (first / "resolved.toml").read_text(encoding="utf-8"), result
    shutil.rmtree(elsewhere)


def check_folder_of_run(command):
    """A folder that every rank has for itself, under the same name."""
    elsewhere = command.folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("train.h5", "test.h5"):
        os.link(command.folder / name, elsewhere / name)
    result = start(command, [[*TRAIN, "run.folder=runs/own"]] * 3, folders={1: elsewhere})
    require_one_refusal(result, 'mylos: rank 1: run.folder = "runs/own"', f"this rank runs in {elsewhere}", f"rank 0 in {command.folder}")
    left = [path.name for path in (command.folder / "runs" / "own").iterdir() if "seen" in path.name]
    assert not left and not (elsewhere / "runs").exists(), left
    shutil.rmtree(elsewhere)
    shutil.rmtree(command.folder / "runs")


def check_equal_starts(command):
    assert start(command, [[*TRAIN, "run.epochs=1"]] * 3).returncode == 0


run_cases(prepare, check_command_lines, check_versions, check_products, check_content_of_decks, check_folder_of_run, check_equal_starts)
