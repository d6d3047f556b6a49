"""Rewrites tables of a Markdown page, each between two comments with its name."""

import dataclasses
import datetime
import pathlib
import re
import statistics
import subprocess


@dataclasses.dataclass
class Table:
    name: str  # of its place in the page
    header: list
    rows: list
    notes: list = dataclasses.field(default_factory=list)

    def markdown(self, machine):
        lines = ["| " + " | ".join(self.header) + " |", "|" + "---|" * len(self.header)]
        lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in self.rows]
        lines += ["", f"*{machine}*"]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines)


def first_of(pattern, path):
    """The group of the first line of a file that matches, or "?"."""
    found = re.search(pattern, pathlib.Path(path).read_text(), re.M)
    return found.group(1).strip() if found else "?"


def instruction_sets():
    """Those of this processor on which the speed of vector code depends."""
    flags = first_of(r"^flags\s*:(.*)$", "/proc/cpuinfo").split()
    return [name for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("avx512_bf16", "BF16"), ("amx_bf16", "AMX"))
            if flag in flags]


def machine(instructions, threads, root):
    """The description of the machine below every table."""
    commit = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"], capture_output=True, text=True,
                            check=False).stdout.strip()
    held = f", held to {instructions}" if instructions else ""
    return (f"{first_of(r'^model name.*:(.*)$', '/proc/cpuinfo')} ({', '.join(instruction_sets())}){held}, {threads} thread{'s' if threads > 1 else ''}; "
            f"{datetime.date.today().isoformat()}, {commit or 'no commit'}")


def write(path, tables, machine_text):
    """Writes the tables. Throws KeyError for a table without a place in the page."""
    text = path.read_text(encoding="utf-8")
    for table in tables:
        begin, end = f"<!-- {table.name}: begin -->", f"<!-- {table.name}: end -->"
        if begin not in text or end not in text:
            raise KeyError(f"{path} has no place for '{table.name}': {begin} ... {end}")
        before, rest = text.split(begin, 1)
        text = before + begin + "\n" + table.markdown(machine_text) + "\n" + end + rest.split(end, 1)[1]
    path.write_text(text, encoding="utf-8")


def ratio(above, below):
    """The median of the ratios of rounds, with their spread."""
    values = [a / b for a, b in zip(above, below)]
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def verdict(value, bar):
    return f"bar {bar:g}: {'met' if value <= bar else 'missed'}"
