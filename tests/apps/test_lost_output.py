"""Standard output on a full disk, or read by a program that has ended: a run gives its log up and goes on, to the same
end; a command whose product is standard output fails."""
import os
import re
import subprocess

from small_problem import prepare
from support.cases import run_cases
from support.command import environment
from support.processes import require_none_left
from support.run_folders import last_checkpoint

FULL_DISK = "/dev/full"
SECONDS = 600


def run(command, arguments, output, messages=None, ranks=1):
    """Exit code and messages of the command whose standard output is `output`, a file that is open for writing."""
    result = subprocess.run(command.line(*arguments, ranks=ranks), cwd=command.folder, env=environment(), stdout=output,
                            stderr=messages or subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    require_none_left(command)
    return result.returncode, result.stderr


def unread_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return open(writer, "w", encoding="utf-8")


def require_end(command, folder, code, messages, what):
    assert code == 0, f"{what}: exit code {code}\n{messages}"
    rows = command.text(f"{folder}/history.csv").splitlines()[1:]
    steps = [int(row.split(",")[0]) for row in rows]
    assert steps == list(range(1, 94 + 1)), f"{what}: {steps}"
    assert last_checkpoint(command, folder).name == "step-0000000094.h5", what


def check_runs(command):
    for ranks in (1, 2):
        for what, lost in (("full disk", lambda: open(FULL_DISK, "w", encoding="utf-8")), ("unread pipe", unread_pipe)):
            folder = f"{what.replace(' ', '-')}-{ranks}"
            train = ["train", "deck.toml", f"run.folder={folder}", "run.epochs=9", "run.log_every=1"]
            with lost() as output:
                code, messages = run(command, train, output, ranks=ranks)
            require_end(command, folder, code, messages, f"{what}, {ranks} ranks")
            # What mpirun's disk does not take, its ranks do not learn.
            warnings = 0 if what == "full disk" and ranks > 1 else 1
            assert messages.count("standard output cannot be written") == warnings, messages
    with open(FULL_DISK, "w", encoding="utf-8") as output:
        train = ["train", "deck.toml", "run.folder=nothing-said", "run.epochs=9"]
        code, _ = run(command, train, output, messages=output)
        require_end(command, "nothing-said", code, "", "standard output and error on a full disk")
        code, _ = run(command, ["train", "deck.toml", "run.folder=stopped", "--stop-after", "5"], output, messages=output)
        assert code == 85 and last_checkpoint(command, "stopped").name == "step-0000000005.h5", code
    print("runs without their log come to their end: a full disk and an unread pipe, 1 and 2 ranks")


def check_products(command):
    checkpoint = last_checkpoint(command, "full-disk-1")
    products = [["manual"], ["plan", "deck.toml"], ["plan", "deck.toml", "--json"], ["train", "deck.toml", "--check"],
                ["eval", checkpoint], ["info", checkpoint], ["info", checkpoint, "--verify"], ["--help"], ["--version"],
                ["train", "--help"]]
    with open(FULL_DISK, "w", encoding="utf-8") as output:
        for arguments in products:
            code, messages = run(command, arguments, output)
            assert code == 1 and len(re.findall("^mylos: ", messages, re.M)) == 1, (arguments, code, messages)
        for arguments in (["eval", "none.h5"], ["trian"]):
            code, _ = run(command, arguments, output, messages=output)
            assert code == 2, (arguments, code)
    for arguments in products:
        with unread_pipe() as output:
            code, messages = run(command, arguments, output)
        assert code != 0, (arguments, messages)
    print("commands that cannot print what they are for fail")


run_cases(prepare, check_runs, check_products)
