"""The command lines of README.md and docs/: in blocks of code, that is in lines that four spaces or a fence set off."""
import re
import shlex

# A command line begins so; a launcher or a variable may precede `mylos`.
BEGINS = re.compile(r"^(?:[A-Z_]+=\S+ |export |for \w+ in [^;]*; do )*"
                    r"(mylos |mpirun |srun |flux run |DIR/|(?:\$SOURCES/)?scripts/|(?:\$SOURCES/)?perf/|\.ci/|cmake |ctest |cc |gfortran |spack |eb |apptainer |build/)")


def pages(repository):
    return [repository / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((repository / "docs").rglob("*.md"))


def lines_of(page):
    """(number, line) of each command line, continued lines joined."""
    fenced, joined, first = False, "", 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            fenced = not fenced
            continue
        if not joined and not (fenced or line.startswith("    ")):
            continue
        text = joined + line.strip()
        first = first if joined else number
        joined = text[:-1] if text.endswith("\\") else ""
        if not joined and BEGINS.match(text):
            yield first, text


def words_of(line):
    """The words of a line, without comments; pipes and chains are words of their own."""
    shell = shlex.shlex(line.replace("$(", "$").replace("`", ""), posix=True, punctuation_chars="|&;>")
    shell.whitespace_split, shell.commenters = True, "#"
    try:
        return list(shell)
    except ValueError:  # a quotation mark in a text that is no command
        return []


def commands_of(line):
    """The words of each command of a line."""
    command = []
    for word in [*words_of(line), ";"]:
        if re.fullmatch(r"[|&;]+", word):
            if command:
                yield command
            command = []
        else:
            command.append(word)


def of_mylos(command):
    """What follows `mylos`; None for another command."""
    for place, word in enumerate(command):
        if word in ("mylos", "mylos.sif") or word.endswith("/mylos"):
            return command[place + 1:] if place == 0 or command[0] != "git" else None
    return None


def scripts_of(command):
    """The script of the repository that a command starts, and its words up to a command that the script starts."""
    for place, word in enumerate(word.removeprefix("$SOURCES/") for word in command):
        if re.match(r"(?:scripts|perf|\.ci)/[\w.-]+$", word):
            rest = command[place + 1:]
            return word, rest[:rest.index("--")] if "--" in rest else rest
    return None, []
