"""Links and pipes where the files of a run or a sweep belong: no link is followed, no pipe is waited for, and what is not
replaced is named."""
import os
import re

from small_problem import prepare
from support.cases import run_cases

SECONDS = 60  # a command that opens a pipe would wait for ever
OF_A_RUN = ("lock", "plan.json", "resolved.toml", "amended.toml", "history.csv", "evaluations.csv", "health.csv", "events.jsonl",
            "summary.json", "requeue", "stop", "checkpoints/latest", "checkpoints/best")
OF_A_SWEEP = ("lock", "sweep.json", "sweep.csv", "requeue", "stop")
TRAIN = ("train", "deck.toml", "run.steps=4", "checkpoint.every=2", "health.every=1", 'checkpoint.keep_best="test.loss"')
SWEEP = ("sweep", "deck.toml", "run.steps=4", "optimizer.lr=1e-3,1e-2")


def lay_out(folder, names, kind):
    """The file that the links lead to."""
    target = folder.parent / f"{folder.name}-target"
    target.write_text("kept", encoding="utf-8")
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to(target)
        elif kind == "dangling":
            path.symlink_to(folder.parent / "nothing")
        else:
            os.mkfifo(path)
    return target


def check(command, arguments, option, names, kind):
    """Removes each file that the command names, until it does its work."""
    folder = command.folder / f"{arguments[0]}-{kind}"
    target = lay_out(folder, names, kind)
    refused = []
    for _ in range(len(names) + 1):
        result = command.run(*arguments, *(each.format(folder.name) for each in option), timeout=SECONDS)
        assert target.read_text(encoding="utf-8") == "kept" and not (command.folder / "nothing").exists(), (kind, refused, result.stderr)
        if result.returncode == 0:
            break
        said = re.search(rf"{folder.name}/(\S+?): .*\[not-a-file\]$", result.stderr, re.MULTILINE)
        assert said and said[1] in names and said[1] not in refused, (kind, refused, result.stdout, result.stderr)
        refused.append(said[1])
        (folder / said[1]).unlink()
    left = [name for name in names if (folder / name).is_symlink() or (folder / name).is_fifo()]
    assert not left, (kind, left)
    print(f"{arguments[0]}, {kind}: refused are {refused}, the others replaced")


run_cases(prepare, *((check, TRAIN, ["run.folder={}"], OF_A_RUN, kind) for kind in ("link", "dangling", "pipe")),
          *((check, SWEEP, ["--out", "{}"], OF_A_SWEEP, kind) for kind in ("link", "pipe")))
