"""Bad input: where, what, and what would be right, word for word and once; exit code 2; nothing written.

usage: test_bad_input.py MYLOS [--full]     --full: every case on two ranks too, not only one of each kind
"""
import concurrent.futures
import sys
import tempfile

from bad_data import write_bad_data
from mistakes import COMMANDS, DATA, DECKS, EMPTY, NEWEST, OF_SAMPLE, OTHER_DATA, RAW_DECKS, RESTARTS
from small_problem import DECK, Command, prepare


def cases(folder):
    """Per kind, arguments and the whole message."""
    for name, (change, _) in DECKS.items():
        assert change[0] in DECK
        (folder / f"{name}.toml").write_text(DECK.replace("peak_flops = 1e12\n", "").replace(*change), encoding="utf-8")
    for name, (content, _) in RAW_DECKS.items():
        (folder / f"{name}.toml").write_bytes(content)
    decks = DECKS | RAW_DECKS
    yield [(["train", f"{name}.toml"], f"mylos: {name}.toml{said}") for name, (_, said) in decks.items()]
    yield [(text.split(), said) for text, said in COMMANDS.items()]
    yield [(["sample", "done", "--prompt", "a", option], f"mylos sample: {said}\n`mylos sample --help` says more.")
           for option, said in OF_SAMPLE.items()]
    train = ["train", "deck.toml"]
    yield [([*train, f"data.train={name}.h5"], f"mylos: {name}.h5{said}") for name, said in DATA.items()]
    yield [([*train, key], f"mylos: {said}") for key, said in OTHER_DATA.items()]
    restart = [*train, "run.folder=done", "--restart", "latest"]
    yield [([*restart, key] if "folder" not in key else [*train, key, "--restart", "latest"], f"mylos: {said}")
           for key, said in RESTARTS.items()]


def refuse_empty(command, arguments):
    """An empty word is never the same as none: the message names its option or place."""
    result = command.run(*arguments)
    said = f"`mylos {' '.join(arguments[:2] if arguments[0] == 'prepare' else arguments[:1])} --help` says more."
    lines = result.stderr.splitlines()
    assert result.returncode == 2 and not result.stdout, f"{arguments}: {result.returncode}\n{result.stdout}"
    assert len(lines) == 2 and lines[0].endswith(": is empty; give a value or leave it out") and lines[1] == said, \
        f"{arguments} says\n{result.stderr}"
    named = [word for word in arguments if word.startswith("--")]
    assert not named or arguments[-1] == "out.h5" or named[-1].rstrip("=") in lines[0], f"{arguments} says\n{result.stderr}"


def refuse(command, arguments, message, ranks):
    places = {"folder": command.folder.resolve(), "wide_bytes": (command.folder / "wide.h5").stat().st_size}
    expected = message.format(**places) if "{" in message else message
    result = command.run(*arguments, ranks=ranks)
    assert result.returncode == 2, f"{arguments}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    said = result.stderr.rstrip("\n").replace("mylos: rank 0: ", "mylos: ")  # deck and checkpoint it reads for all
    assert said == expected, \
        f"{arguments} on {ranks} ranks says\n{result.stderr}and not\n{expected}"
    assert not (command.folder / "runs").exists(), f"{arguments} wrote something"


def rank_counts(arguments, two_as_well):
    return (1, 2) if two_as_well and arguments[:1] != ["prepare"] else (1,)  # prepare runs on one rank alone


def listing(folder):
    """Every file and folder with the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = Command(sys.argv[1], folder)
        prepare(command)
        write_bad_data(command.folder)
        command.must("train", "deck.toml", "run.folder=done")
        newer = command.folder / "newer/checkpoints/step-0000000032.h5"
        newer.parent.mkdir(parents=True)
        newer.write_bytes((command.folder / NEWEST).read_bytes().replace(b"checkpoint 3", b"checkpoint 4", 1))
        kinds = list(cases(command.folder))
        before = listing(command.folder)
        # Starting MPI is mostly waiting: several at once.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            refused = [pool.submit(refuse, command, *case, ranks) for kind in kinds
                       for number, case in enumerate(kind)
                       for ranks in rank_counts(case[0], number == 0 or "--full" in sys.argv)]
            refused += [pool.submit(refuse_empty, command, arguments) for arguments in EMPTY]
            for refusal in refused:
                refusal.result()
        after = listing(command.folder)
        written = [str(path) for path in after.keys() | before.keys() if after.get(path) != before.get(path)]
        assert not written, f"written or changed: {written}"
        changed = command.must("train", "deck.toml", "run.folder=done", "--restart", "latest", "optimizer.epsilon=1e-7")
        assert "changed at the restart: optimizer.epsilon = 1e-7 (was 1e-8)" in changed.stdout.splitlines(), changed.stdout
        print(f"{len(refused)} mistakes refused, each with one message and nothing written")


main()
