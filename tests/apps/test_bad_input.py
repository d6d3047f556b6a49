"""Bad input: the error's id, where, what, and what would be right, once; exit code 2; nothing written.

usage: test_bad_input.py MYLOS [--full]     --full: every case on two ranks too, not only one of each kind
"""
import concurrent.futures
import re
import shutil

from bad_data import write_bad_data
from mistakes import COMMANDS, DATA, DECKS, EMPTY, NEWEST, OF_SAMPLE, OTHER_DATA, RAW_DECKS, RESTARTS
from small_problem import DECK, prepare
from support.cases import run_cases
from support.refusal import require_refusal


def cases(folder):
    """Per kind, arguments and the refusal: its id and what its message must have."""
    for name, (change, _) in DECKS.items():
        assert change[0] in DECK
        (folder / f"{name}.toml").write_text(DECK.replace("peak_flops = 1e12\n", "").replace(*change), encoding="utf-8")
    for name, (content, _) in RAW_DECKS.items():
        (folder / f"{name}.toml").write_bytes(content)
    decks = DECKS | RAW_DECKS
    yield [(["train", f"{name}.toml"], (*refusal, f"{name}.toml:")) for name, (_, refusal) in decks.items()]
    yield [(text.split(), refusal) for text, refusal in COMMANDS.items()]
    yield [(["sample", "done", "--prompt", "a", option], ("bad-argument", "{}: '{}'".format(*option.split("=")), limits))
           for option, limits in OF_SAMPLE.items()]
    train = ["train", "deck.toml"]
    yield [([*train, f"data.train={name}.h5"], (*refusal, f"mylos: {name}.h5: ")) for name, refusal in DATA.items()]
    yield [([*train, key], refusal) for key, refusal in OTHER_DATA.items()]
    restart = [*train, "run.folder=done", "--restart", "latest"]
    yield [([*restart, key] if "folder" not in key else [*train, key, "--restart", "latest"], refusal)
           for key, refusal in RESTARTS.items()]


def require_one_message(result):
    """A line that begins with the command, and for a wrong command line a second one."""
    first, *others = result.stderr.splitlines()
    command = first.split(": ")[0]
    assert re.fullmatch("mylos( [a-z-]+)*", command), result.stderr
    assert others in ([], [f"`{command} --help` says more."]), result.stderr


def refuse_empty(command, arguments):
    """An empty word is never the same as none: the message names its option or place."""
    result = command.run(*arguments)
    named = [word for word in arguments if word.startswith("--")]
    is_of_option = named and arguments[-1] != "out.h5"
    require_refusal(result, "bad-argument", f"mylos {' '.join(arguments[:2] if arguments[0] == 'prepare' else arguments[:1])}: ",
                    ": is empty", *(named[-1:] if is_of_option else []))
    require_one_message(result)
    assert result.stderr.endswith(" --help` says more.\n") and not result.stdout, result


def refuse(command, arguments, refusal, ranks):
    places = {"folder": command.folder.resolve(), "wide_bytes": (command.folder / "wide.h5").stat().st_size}
    result = command.run(*arguments, ranks=ranks)
    result.stderr = result.stderr.replace("mylos: rank 0: ", "mylos: ")  # deck and checkpoint it reads for all
    require_refusal(result, *[part.format(**places) if "{" in part else part for part in refusal])
    require_one_message(result)
    assert not (command.folder / "runs").exists(), f"{arguments} wrote something"


def rank_counts(arguments, two_as_well):
    return (1, 2) if two_as_well and arguments[:1] != ["prepare"] else (1,)  # prepare runs on one rank alone


def listing(folder):
    """Every file and folder with the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def check_mistakes(command, full):
    prepare(command)
    write_bad_data(command.folder)
    command.must("train", "deck.toml", "run.folder=done")
    for name in ("other.h5", "picture.svg"):
        shutil.copy(command.folder / "test.h5", command.folder / name)
    shutil.copy(command.folder / "done/history.csv", command.folder / "history")
    newer = command.folder / "newer/checkpoints/step-0000000032.h5"
    newer.parent.mkdir(parents=True)
    newer.write_bytes((command.folder / NEWEST).read_bytes().replace(b"checkpoint 3", b"checkpoint 4", 1))
    kinds = list(cases(command.folder))
    before = listing(command.folder)
    # Starting MPI is mostly waiting: several at once.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        refused = [pool.submit(refuse, command, *case, ranks) for kind in kinds
                   for number, case in enumerate(kind)
                   for ranks in rank_counts(case[0], number == 0 or full)]
        refused += [pool.submit(refuse_empty, command, arguments) for arguments in EMPTY]
        for refusal in refused:
            refusal.result()
    after = listing(command.folder)
    written = [str(path) for path in after.keys() | before.keys() if after.get(path) != before.get(path)]
    assert not written, f"written or changed: {written}"
    changed = command.must("train", "deck.toml", "run.folder=done", "--restart", "latest", "optimizer.epsilon=1e-7")
    assert "changed at the restart: optimizer.epsilon = 1e-7 (was 1e-8)" in changed.stdout.splitlines(), changed.stdout
    print(f"{len(refused)} mistakes refused, each with one message and nothing written")


run_cases(check_mistakes)
