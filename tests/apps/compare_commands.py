"""Whether two builds of the command train to the same bits: for changes that must not change a number.

usage: compare_commands.py OLD NEW REPOSITORY [--only TEXT] [--chains N] [--seed N]

Every deck of inputs/, shortened to STEPS steps, in three types on 1 to 4 ranks, and N random chains are run by both commands.
Every dataset of the last checkpoint and every file of the run must agree, but for clocks, sizes of a process and the version.
Of each deck one run also goes halfway by OLD and to its end by NEW: the end must be that of OLD alone. Not a test of the
suite: it needs the other build.
"""
import argparse
import concurrent.futures
import itertools
import json
import pathlib
import re
import sys
import tempfile

import h5py
import numpy

import fashion
import random_chains
from support.command import Command
from support.data_files import write_data
from support.run_folders import TIMES, datasets, last_checkpoint
from support.tables import rows_of

STEPS = 30
CLOCKS = re.compile(r"(_s|_per_s|_flops|utilisation|seconds|joules|elapsed|created|date|code_version|version_of)$|^(time|speed|"
                    r"fastest_rank|slowest_rank|process|rates|energy|times|wall|machine|code)|process|budget|rank_bytes|resident|available")
# Of a process, whose size is not that of the next one.
SIZES = re.compile(r":/(fixed_bytes|node_bytes|memory/0/bytes|memory/(host_bytes|host_peak_bytes|planned_bytes))$")
BOUNDS = r"(epochs|steps|initial|warmup\w*|save_every|stop_after) *="
# What makes a deck small enough, beside run.steps: by its file's name.
SMALLER = {
    "deep_mlp": ["data.batch=256"], "fashion_cnn": ["data.batch=24"], "fashion_resnet": ["data.batch=12"],
    "fields_unet": ["data.batch=4", "data.shape=[64,64,1]"],
    "gpt2_124m": ["data.batch=8", "data.micro_batch=1"], "gpt2_1558m": ["data.batch=8", "data.micro_batch=1"],
    "fno-darcy": ["data.batch=4", "model.width=8", "model.modes=[12,12]"], "turbulence_unet": ["data.batch=4"],
    "gpt2_finetune": ["data.batch=8", "data.micro_batch=2"], "gpt_shakespeare": ["data.batch=8"], "gpt_shakespeare_cpu": [],
}
SMALL_GPT = ["model.layers=2", "model.width=64", "model.heads=4", "model.context=32"]


def prepare(command, repository):
    fashion.prepare(command)
    text = repository / "inputs/data/tinyshakespeare.txt"
    for name in ("shakespeare", "train_tokens", "mine"):
        command.must("prepare", "text", text, "--out", f"data/{name}.h5")
    source = numpy.random.default_rng(1)
    for name in ("train", "test"):
        with h5py.File(command.folder / f"data/fields_{name}.h5", "w") as file:
            fields = source.standard_normal((200, 64, 64, 1), dtype="f4").cumsum(1).cumsum(2) / 64
            file["inputs"], file["targets"] = fields.reshape(200, -1), numpy.roll(fields, 3, 1).reshape(200, -1)
    with h5py.File(command.folder / "data/surrogate.h5", "w") as file:
        inputs = source.standard_normal((3000, 5), dtype="f4")
        file["inputs"], file["targets"] = inputs, numpy.stack([numpy.sin(inputs.sum(1)), inputs[:, 0] * inputs[:, 1]], 1)


    for dataset, arrays, shape in (("burgers/{}", ("initial", "final"), (80, 64)), ("darcy/{}", ("a", "u"), (40, 32, 32)),
                                   ("ks/{}/1", ("u",), (80, 64)), ("turbulence/{}/1", ("u", "v"), (40, 32, 32))):
        for part in ("train", "test"):
            path = command.folder / "data" / f"{dataset.format(part)}.h5"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_data(path, **{name: source.standard_normal(shape, dtype="f4").cumsum(-1) / 8 for name in arrays})


def deck_text(path):
    """Without what bounds the run, which `STEPS` does, and what another file would be needed for."""
    lines, section = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        section = line if line.startswith("[") else section
        if section == "[rollout]" or not re.match(BOUNDS, line):
            lines.append(line)
    at = lines.index("[run]")
    return "\n".join([*lines[: at + 1], f"steps = {STEPS}", *lines[at + 1:]]) + "\n"


def without_clocks(value):
    if isinstance(value, dict):
        return {key: without_clocks(item) for key, item in value.items() if not CLOCKS.search(key)}
    return [without_clocks(item) for item in value] if isinstance(value, list) else value


def leaves(value, path):
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        return {} if SIZES.search(path) else {path: value}
    return {key: leaf for part, item in parts for key, leaf in leaves(item, f"{path}/{part}").items()}


def content(command, folder):
    """Of a run, by file: what must be the same in both."""
    found = {}
    for path in sorted((command.folder / folder).rglob("*")):
        name = str(path.relative_to(command.folder / folder))
        if path.is_dir() or name == "lock" or path.suffix == ".h5":
            found[name] = "" if path.is_file() else None
        elif path.suffix == ".csv":
            found[name] = [{key: text for key, text in row.items() if f"/history/{key}" not in TIMES} for row in rows_of(path)]
        elif path.suffix == ".json":
            found |= leaves(without_clocks(json.loads(path.read_text(encoding="utf-8"))), f"{name}:")
        elif path.suffix == ".jsonl":
            found[name] = [without_clocks(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        else:
            found[name] = path.read_text(encoding="utf-8")
    for name, value in datasets(last_checkpoint(command, folder)).items():
        value = numpy.asarray(value)
        found[name] = (value.shape, value.dtype.str, value.tobytes() if value.dtype != object else str(value.tolist()))
    found.pop("/plan", None)
    return found


def difference(one, other):
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def judge(old, new, name, deck, arguments, ranks):
    """What differs, of `deck` run by both, and of one run that changes from the old command to the new one."""
    folders = []
    for command, part in ((old, "old"), (new, "new")):
        folder = f"{name}-{part}"
        command.write(f"{folder}.toml", deck)
        code = command.run("train", f"{folder}.toml", *arguments, f"run.folder={folder}", ranks=ranks, timeout=1800)
        folders.append((folder, code.returncode, code.stderr))
    if folders[0][1] or folders[1][1]:
        said = [(code, text.replace(folder, name)) for folder, code, text in folders]
        return [] if said[0] == said[1] and said[0][0] == 2 else [f"ended with {said[0]}, {said[1]}"]  # decks that both refuse
    found = [content(command, folder) for command, (folder, _, _) in zip((old, new), folders)]
    for one, (folder, _, _) in zip(found, folders):
        one["resolved.toml"] = one["resolved.toml"].replace(folder, "run")
    wrong = difference(*found)
    both = f"{name}-both"
    (old.folder / f"{both}.toml").write_text(deck, encoding="utf-8")
    line = ["train", f"{both}.toml", *arguments, f"run.folder={both}"]
    old.must(*line, "--stop-after", str(STEPS // 2), ranks=ranks, code=85, timeout=1800)
    new.must(*line, "--restart", "latest", ranks=ranks, timeout=1800)
    resumed = content(new, both)
    wrong += [f"resumed: {key}" for key in difference(found[0], resumed) if key.startswith(("/model", "/optimizer", "/scaler", "/buffers"))]
    return wrong


def cases(repository, arguments):
    for path in sorted((repository / "inputs").glob("*.toml")):
        for number, kind in enumerate(("fp32", "bf16", "fp16")):
            for ranks in (1, 2, 3, 4):
                settings = [f"precision.compute={kind}", "run.log_every=10", "checkpoint.every=10", "memory.budget=3 GiB",
                            "run.threads=1", "memory.times=model", *SMALLER.get(path.stem, ["data.batch=64"])]
                deck = deck_text(path)
                if 'type = "gpt"' in deck:
                    settings += SMALL_GPT
                if kind != "fp16":
                    deck = re.sub(r"\[precision\.scaler\]\n(?:[^\[\n].*\n)*", "", deck)
                yield f"{path.stem}-{kind}-{ranks}", deck, settings, ranks
    sound = (number for number in itertools.count() if not random_chains.draw(arguments.seed, number, 0, False).mistake)
    for number in itertools.islice(sound, arguments.chains):
        yield f"chain-{number}", number, [], 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("old", "new", "repository"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = (Command(str(path.resolve()), folder) for path in (arguments.old, arguments.new))
        prepare(new, arguments.repository)
        wrong, ran = [], 0

        def one(case):
            name, deck, settings, ranks = case
            if isinstance(deck, int):
                drawn = random_chains.draw(arguments.seed, deck, 0, False)
                place = old.folder / name
                place.mkdir()
                drawn.sections["memory"].pop("budget", None)  # what just fits one process may not fit the other
                write_data(place / "data.h5", **drawn.arrays)
                if drawn.sections["data"].get("test") == "test.h5":
                    write_data(place / "test.h5", **{key: values if isinstance(values, int) else values[::-1][:7]
                                                     for key, values in drawn.arrays.items()})
                inside = [Command(command.program, place) for command in (old, new)]
                settings = [f"run.steps={STEPS}", "checkpoint.every=10"]
                return name, judge(*inside, name, drawn.text(), settings, drawn.ranks)
            return name, judge(old, new, name, deck, settings, ranks)

        chosen = [case for case in cases(arguments.repository, arguments) if arguments.only in case[0]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, differences in pool.map(one, chosen):
                ran += 1
                wrong += [name] if differences else []
                print(f"{ran}/{len(chosen)} {name}: {', '.join(differences) or 'the same'}", flush=True)
        print(f"{ran} decks, {len(wrong)} differ: {wrong or 'none'}")
        return 1 if wrong or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
