"""A disk that fails at one write, sync or close of a command's files: the command says so and leaves no half file under a
final name, or what it wrote is what it writes on a disk that works.

usage: test_failed_writes.py MYLOS FAILING_DISK [--full]     --full: every operation of every command that writes
"""
import errno
import json
import random
import shutil

import h5py
import numpy

import reference_gpt2
import rollout_fields
import uncertain_data
from support.cases import run_cases
from support.data_files import write_data
from support.run_folders import TIMES, datasets
from support.tables import rows_of

SECONDS = 120  # within which a command ends
TABLES = {"history.csv", "evaluations.csv", "health.csv"}  # rows are added to them: a part of them is whole
CLOCKS = {name.rsplit("/", 1)[1] for name in TIMES}
OUT = "out"
# A run that is killed by the disk still has its lock, and what it prints is in no number.
IGNORED = {"lock", "log"}


class Case:
    """A command that writes into the folder out/. `before`: files that are copied there first, {name: source}."""

    def __init__(self, name, *arguments, before=None, code=0):
        self.name, self.arguments, self.before, self.code = name, arguments, before or {}, code


CASES = [
    Case("predict", "predict", "run", "test.h5", "out/predictions.h5"),
    Case("prepare csv", "prepare", "csv", "table.csv", "--label", "class", "--out", "out/data.h5"),
    Case("train", "train", "deck.toml", "run.folder=out/run", "run.steps=6", "checkpoint.every=3", "run.evaluate_every=2",
         "run.log_every=1", "health.every=2", "checkpoint.keep_last=0", 'checkpoint.keep_best="test.loss"'),
    Case("predict csv", "predict", "run", "test.h5", "out/predictions.csv"),
    Case("prepare text", "prepare", "text", "text.txt", "--out", "out/text.h5"),
    Case("stamp", "prepare", "stamp", "out/edited.h5", before={"edited.h5": "edited.h5"}),
    Case("stamp tokens", "prepare", "stamp", "out/tokens.h5", before={"tokens.h5": "tokens.h5"}),
    Case("restart", "train", "deck.toml", "run.folder=out/run", "run.steps=9", "checkpoint.every=3", "run.log_every=1", "checkpoint.keep_last=0",
         "--restart", "latest", before={"run": "run"}),
    Case("stop", "train", "deck.toml", "run.folder=out/run", "run.steps=9", "--stop-after", "2", code=85),
    Case("export", "export", "run", "out/model.h5"),
    Case("export onnx", "export", "run", "out/model.onnx"),
    Case("calibrate", "calibrate", "run", "--out", "out/model.h5"),
    Case("rollout", "rollout", "linear", "linear.h5", "--steps", "3", "--out", "out/fields.h5", "--truth", "linear.h5"),
    Case("predict arrays", "predict", "linear", "linear.h5", "out/fields.h5"),
    Case("init", "init", "deck.toml", "out/start.h5"),
    Case("from GPT-2", "convert", "gpt2/model.safetensors", "out/gpt2.h5"),
    Case("to GPT-2", "convert", "gpt2.h5", "out/gpt2/model.safetensors"),
    Case("report", "report", "run", "--out", "out/page.html"),
    Case("picture", "data", "linear.toml", "--picture", "out/sample.svg"),
    Case("sweep", "sweep", "deck.toml", "optimizer.lr=1e-3,1e-2", "run.steps=2", "--out", "out/sweep"),
]


def set_up(command):
    folder = command.folder
    for name, samples, seed in (("train.h5", 200, 1), ("test.h5", 80, 2), ("edited.h5", 60, 3)):
        uncertain_data.write(folder, name, samples, seed)
    command.write("deck.toml", uncertain_data.network("small", "mse", epochs=2))
    command.must("train", "deck.toml", "run.folder=run", "run.steps=6", "checkpoint.every=3", "run.log_every=1")
    rows = random.Random(1)
    (folder / "table.csv").write_text("a,b,class\n" + "".join(
        f"{rows.random()},{rows.random()},{rows.choice('012')}\n" for _ in range(5000)), encoding="utf-8")
    (folder / "text.txt").write_text("".join(rows.choices("abcdefgh \n", k=200_000)), encoding="utf-8")
    write_data(folder / "tokens.h5", tokens=numpy.arange(60_000, dtype="u2") % 50, vocabulary=50)
    rollout_fields.write_linear(folder / "linear.h5")
    command.write("linear.toml", rollout_fields.linear_deck())
    command.must("train", "linear.toml", "run.folder=linear", "run.steps=3")
    (folder / "gpt2").mkdir()
    shape = dict(layers=2, width=16, context=8, vocabulary=20)
    reference_gpt2.write_safetensors(folder / "gpt2/model.safetensors", {
        name if name == "lm_head.weight" else f"transformer.{name}": tensor
        for name, tensor in reference_gpt2.random_weights(**shape, tied=True, seed=1).items()}, "F32")
    (folder / "gpt2/config.json").write_text(json.dumps(reference_gpt2.config_of(**shape, heads=2, tied=True)), encoding="utf-8")
    command.must("convert", "gpt2/model.safetensors", "gpt2.h5")


def run(command, case, kind="none", at=0, number=errno.EIO, log=False):
    """The finished command on an empty folder out/."""
    out = command.folder / OUT
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    for name, source in case.before.items():
        source = command.folder / source
        (shutil.copytree if source.is_dir() else shutil.copy)(source, out / name)
    variables = {"LD_PRELOAD": command.library, "FAILING_DISK_KIND": kind, "FAILING_DISK_AT": str(at),
                 "FAILING_DISK_ERRNO": str(number), "FAILING_DISK_PATH": f"{command.folder}/{OUT}"}
    if log:
        variables["FAILING_DISK_LOG"] = str(command.folder / "operations")
        (command.folder / "operations").unlink(missing_ok=True)
    return command.run(*case.arguments, timeout=SECONDS, variables=variables)


def files(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file() and path.name not in IGNORED}


def contents(path):
    """Of HDF5, without clocks. Of a checkpoint: what a restart takes."""
    found = {}
    with h5py.File(path) as file:
        is_checkpoint = "optimizer" in file and file.attrs.get("format") in ("mylos-checkpoint", b"mylos-checkpoint")
    if is_checkpoint:
        return {name: (value.shape, numpy.asarray(value).tobytes()) for name, value in
                ((name, numpy.asarray(value)) for name, value in datasets(path).items())}
    with h5py.File(path) as file:
        found["/"] = {name: str(value) for name, value in file.attrs.items() if name != "created"}

        def take(name, item):
            if isinstance(item, h5py.Dataset) and "/" + name not in TIMES:
                found[name] = (item.shape, numpy.asarray(item[()]).tobytes())
            crcs = {key: str(value) for key, value in item.attrs.items() if "/" + name not in TIMES}
            found[name + " attributes"] = crcs

        file.visititems(take)
    return found


def rows(path):
    return [{name: value for name, value in row.items() if name not in CLOCKS and not name.endswith("_s")
             and not name.endswith("seconds")} for row in rows_of(path)]


def is_same(found, expected):
    """What the clock measured may differ."""
    if found.read_bytes() == expected.read_bytes():
        return True
    if found.suffix == ".h5":
        return contents(found) == contents(expected)
    if found.suffix == ".csv":
        return rows(found) == rows(expected)
    if found.suffix == ".json":
        one, other = (json.loads(path.read_text(encoding="utf-8")) for path in (found, expected))
        return one.keys() == other.keys()
    if found.suffix == ".jsonl":
        return all(json.loads(line) for line in found.read_text(encoding="utf-8").splitlines())
    return found.suffix == ".html" and found.read_text(encoding="utf-8").rstrip().endswith("</html>")


def is_a_beginning(found, expected):
    text = found.read_text(encoding="utf-8")
    some, all_rows = rows(found), rows(expected)
    return (text == "" or text.endswith("\n")) and some == all_rows[:len(some)]


def require_members(out, expected, what):
    """A member that the disk failed is said to have failed; all others are as they would be."""
    table = rows_of(out / "sweep/sweep.csv")
    assert len(table) == 2, what
    for row in table:
        if row["state"] == "failed":
            assert "[cannot-write]" in row["cause"] or "cannot" in row["cause"], (what, row)
            continue
        member = f"sweep/{row['folder']}/"
        for name, path in expected.items():
            if name.startswith(member):
                assert is_same(out / name, path), f"{what}: {name} differs"


def check(command, case, reference, kind, at, number=errno.EIO):
    """Returns whether the command failed."""
    what = f"{case.name}: {kind} {at} of {case.operations[kind]}, {errno.errorcode[number]}"
    result = run(command, case, kind, at, number)
    said = f"{what}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    out, expected = command.folder / OUT, files(reference)
    found = files(out)
    before = {name for name in case.before for name in ([name] if (command.folder / case.before[name]).is_file() else [])}
    halves = [name for name in found if name.endswith(".tmp")]
    assert not halves, f"{said}\nleft: {halves}"
    if result.returncode == case.code:
        if case.name == "sweep":
            require_members(out, expected, said)
            return False
        # A note for the report may be lost: the run says so, and ends well.
        lost = {name for name in expected.keys() - found.keys() if f"warning: {OUT}/{name}: cannot be written" in said}
        assert found.keys() | lost == expected.keys(), f"{said}\nfiles: {found.keys() ^ expected.keys()}"
        for name, path in found.items():
            assert is_same(path, expected[name]), f"{said}\n{name} differs"
        return False
    assert result.returncode in (1, 2), said
    messages = [line for line in result.stderr.splitlines() if line.startswith("mylos: ")]
    assert len(messages) == 1 and messages[0].endswith("]"), said
    for name, path in found.items():
        if name in before and path.read_bytes() == (command.folder / case.before[name]).read_bytes():
            continue
        if case.name == "sweep" and name == "sweep/sweep.csv":
            continue  # as far as it came
        if path.name in ("latest", "best") or path.name == "resolved.toml" or name.endswith(("requeue", ".claim")):
            continue  # small texts that are replaced as a whole
        if case.name == "restart" and (command.folder / name).exists() and is_same(path, command.folder / name):
            continue  # still that of the first start
        whole = name in expected and is_same(path, expected[name])
        assert whole or (path.name in TABLES and is_a_beginning(path, expected[name])), f"{said}\n{name} is no file of an undisturbed start"
    return True


def measure(command, case):
    """Makes the undisturbed output; counts the operations of each kind."""
    case.operations = {}
    for kind in ("write", "sync", "close"):
        result = run(command, case, kind, log=True)
        assert result.returncode == case.code, f"{case.name}: {result.returncode}\n{result.stdout}\n{result.stderr}"
        log = command.folder / "operations"
        case.operations[kind] = len(log.read_text().splitlines()) if log.exists() else 0
    reference = command.folder / "undisturbed" / case.name.replace(" ", "-")
    shutil.copytree(command.folder / OUT, reference)
    assert case.operations["write"] > 0 and files(reference), case.name
    return reference


def check_cases(command, library, full):
    command.library = library
    set_up(command)
    source = random.Random(4)
    for case in CASES if full else CASES[:3]:
        reference = measure(command, case)
        failed = starts = 0
        for kind, count in case.operations.items():
            places = range(1, count + 1)
            if not full:
                places = sorted(source.sample(places, min(count, 3 if kind == "write" else 1)))
            for at in places:
                number = errno.EIO if full or at % 2 else errno.EDQUOT
                failed += check(command, case, reference, kind, at, number)
                starts += 1
        for number in (errno.ENOSPC, errno.EDQUOT) if full else ():
            failed += check(command, case, reference, "write", max(1, case.operations["write"] // 2), number)
            starts += 1
        print(f"{case.name}: {case.operations}: {failed} of {starts} starts failed and said so; the others wrote what they write", flush=True)
        assert failed > 0, case.name


run_cases(check_cases, arguments=["library"])
