"""Every command line of README.md and docs/ is one that the command, the scripts and the presets of this build take: its
subcommand, its options, the keys that it overrides, and the decks and scripts that it names exist. With --run the README's lines
about a deck run, one after the other, on a small table."""
import functools
import json
import math
import random
import re

import documented_commands as documented
from support.cases import run_cases

NESTED = {"prepare", "bench"}
SHOWN = {"FILE", "FOLDER", "DECK", "OUT.h5", "..."}


class Known:
    """What this build takes."""

    def __init__(self, command, repository):
        self.command, self.repository = command, repository
        manual = command.must("manual").stdout
        self.keys, section = set(), ""
        for line in manual.splitlines():
            if found := re.match(r"#+ `?\[+([\w.]+)\]+`?", line):
                section = found.group(1)
            elif found := re.match(r"\| `([\w*\"]+)`", line):
                self.keys.add(f"{section}.{found.group(1)}")
        assert {"run.name", "optimizer.lr", "precision.scaler.preset"} <= self.keys, sorted(self.keys)
        self.presets = {preset["name"] for preset in json.loads((repository / "CMakePresets.json").read_text())["configurePresets"]}

    @functools.cache
    def options(self, *subcommand):
        """None where there is no such subcommand."""
        if subcommand and subcommand[-1] not in self.subcommands(*subcommand[:-1]):
            return None
        shown = self.command.must(*subcommand, "--help").stdout
        return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", shown))

    @functools.cache
    def subcommands(self, *parent):
        _, _, listed = self.command.must(*parent, "--help").stdout.partition("Subcommands:\n")
        return set(re.findall(r"^  ([a-z][a-z-]*) ", listed, re.M))


def option_of(word):
    return re.match(r"--[a-z][\w-]*", word.lstrip("[")).group(0) if re.match(r"\[?--[a-z]", word) else None


def mistakes_of_mylos(words, known):
    subcommand = []
    for word in words[:2]:
        if re.fullmatch(r"[a-z][a-z-]*", word) and (not subcommand or subcommand[0] in NESTED):
            subcommand.append(word)
    options = known.options(*subcommand)
    if options is None:
        return [f"there is no `mylos {' '.join(subcommand)}`"]
    mistakes = []
    for word in words[len(subcommand):]:
        option = option_of(word)
        if option and option not in options:
            mistakes.append(f"`mylos {' '.join(subcommand)}` has no {option}")
        override = re.match(r"([a-z]+(?:\.[a-z_]+)+)=", word)
        if override and override.group(1) not in known.keys:
            mistakes.append(f"there is no key {override.group(1)}")
        if re.match(r"inputs/[\w-]+\.toml$", word) and not (known.repository / word).exists():
            mistakes.append(f"there is no {word}")
    return mistakes


def mistakes_of_script(script, words, known):
    path = known.repository / script
    if not path.exists():
        return [f"there is no {script}"]
    # A script's options may be read by modules beside it.
    modules = [path, *(known.repository / script.replace("-", "_")).glob("*.py"), *path.with_suffix("").glob("*.py"),
               *path.parent.glob(f"{path.stem.replace('-', '_')}_study/*.py"), *path.parent.glob(f"{path.stem}*/*.py")]
    text = "".join(module.read_text(encoding="utf-8") for module in modules if module.is_file())
    return [f"{script} does not know {option}" for option in map(option_of, words) if option and option not in text and option != "--help"]


def mistakes_of(line, known):
    for command in documented.commands_of(line):
        words = documented.of_mylos(command)
        if words is not None:
            yield from mistakes_of_mylos(words, known)
        script, rest = documented.scripts_of(command)
        if script and words is None:
            yield from mistakes_of_script(script, rest, known)
        for place, word in enumerate(command):
            if word == "--preset" and command[0] in ("cmake", "ctest") and command[place + 1] not in known.presets:
                yield f"there is no preset {command[place + 1]}"


def check_lines(command, repository):
    known, lines, problems = Known(command, repository), 0, []
    for page in documented.pages(repository):
        for number, line in documented.lines_of(page):
            lines += 1
            problems += [f"{page.relative_to(repository)}:{number}: {mistake}: {line}" for mistake in mistakes_of(line, known)]
    assert lines > 200, f"only {lines} command lines were found"
    assert not problems, "\n" + "\n".join(problems)
    print(f"{lines} command lines")
    for line in ("mylos train deck.toml --sideways", "mylos fly", "mpirun -n 2 mylos train deck.toml model.witdh=3", "scripts/nothing",
                 "scripts/setup --cudaa", "cmake --preset nothing", "mylos plan inputs/nothing.toml"):
        assert list(mistakes_of(line, known)), f"{line} passes"


def check_page_of_commands(command, repository):
    """docs/reference/commands.md has all of them, and no others."""
    known = Known(command, repository)
    named = set(re.findall(r"^\| `mylos ([a-z-]+)", (repository / "docs/reference/commands.md").read_text(encoding="utf-8"), re.M))
    assert named == known.subcommands(), named ^ known.subcommands()
    print(f"commands.md: {len(named)} commands")


def write_tables(folder):
    numbers = random.Random(3)
    for name, rows, targets in (("flow.csv", 600, True), ("new.csv", 20, False)):
        with open(folder / name, "w", encoding="utf-8") as table:
            table.write("mach,alpha,chord" + (",lift,drag" if targets else "") + "\n")
            for _ in range(rows):
                mach, alpha, chord = (numbers.uniform(-1, 1) for _ in range(3))
                table.write(f"{mach:.5f},{alpha:.5f},{chord:.5f}" + (f",{mach * alpha:.6f},{math.sin(chord):.6f}" if targets else "") + "\n")


def run_readme(command, repository):
    """The deck and the lines below "A deck", as they stand there."""
    page = (repository / "README.md").read_text(encoding="utf-8")
    part = page[page.index("## A deck"):page.index("## A language model")]
    deck = re.search(r"(?:^    .*\n|^\n)+", part, re.M).group(0)
    command.write("deck.toml", re.sub(r"^    ", "", deck, flags=re.M))
    write_tables(command.folder)
    lines = ["mylos prepare csv flow.csv --targets lift,drag --out flow.h5"]
    lines += [line for _, line in documented.lines_of(repository / "README.md") if line in " ".join(part.split("\n    "))]
    ran = 0
    for line in lines:
        words = next(documented.commands_of(line))
        own = documented.of_mylos(words)
        if own is None or own[0] in ("rollout",) or "resubmit" in line or own[-1].endswith(".onnx"):
            continue  # a solver's files, a chain of jobs, a library that not every build has
        ranks = 2 if words[0] == "mpirun" else 1
        extra = ["run.epochs=3", "run.peak_flops=1e12"] if own[0] in ("train", "advise", "sweep") and "--restart" not in own else []
        extra += ["--trials", "2"] if own[0] == "sweep" else []
        extra += ["run.epochs=4", "run.peak_flops=1e12"] if "--restart" in own else []
        own = [word for word in own if word not in ("--trials", "16")] if own[0] == "sweep" else own
        for seed, member in enumerate(own[2:4] if "--ensemble" in own else []):
            command.must("train", "deck.toml", f"run.folder={member}", f"run.seed={seed}", "run.epochs=1", "run.peak_flops=1e12")
        command.must(*own, *extra, ranks=ranks)
        ran += 1
    for made in ("runs/surrogate/report.html", "predictions.h5", "surrogate.h5", "sample.svg", "deck.advised.toml"):
        assert (command.folder / made).exists(), made
    assert ran >= 10, ran
    print(f"{ran} command lines of README.md ran")


def check_commands(command, repository, run):
    if run:
        run_readme(command, repository)
    else:
        check_lines(command, repository)
        check_page_of_commands(command, repository)


run_cases(check_commands, arguments=["repository"], option="run")
