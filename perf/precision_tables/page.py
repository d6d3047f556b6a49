"""Rewrites tables of a Markdown page, each between two comments with its name."""

import dataclasses
import datetime
import statistics

import harness
from harness import tables
from harness.machine import commit, instruction_sets, processor


@dataclasses.dataclass
class Table:
    name: str  # of its place in the page
    header: list
    rows: list
    notes: list = dataclasses.field(default_factory=list)

    def markdown(self, machine):
        lines = [tables.head(self.header), *map(tables.row, self.rows), "", f"*{machine}*"]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines)


def machine(instructions, threads):
    """The description of the machine below every table."""
    held = f", held to {instructions}" if instructions else ""
    return (f"{processor()} ({', '.join(instruction_sets())}){held}, {threads} thread{'s' if threads > 1 else ''}; "
            f"{datetime.date.today().isoformat()}, {commit('describe', '--always', '--dirty') or 'no commit'}")


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
    values = harness.ratios(above, below)
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def verdict(value, bar):
    return f"bar {bar:g}: {'met' if value <= bar else 'missed'}"
