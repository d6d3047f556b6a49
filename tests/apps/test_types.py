"""mylos types: the table of the docs, NumPy's limits, and an engine for every type."""
import pathlib
import re

import numpy

from support.cases import run_cases


def table_of_docs(source):
    text = (pathlib.Path(source) / "docs/explanation/numerics.md").read_text(encoding="utf-8")
    section = text.split("\n## Types\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    return [row for row in rows if not row[0].startswith("---")]


def table_of_command(command):
    said = command.must("types").stdout
    return [re.split(r"\s{2,}", line) for line in said.split("\n\n")[0].splitlines()], said


def check_types(command, repository):
    rows, said = table_of_command(command)
    *same_everywhere, machine = rows
    assert same_everywhere == table_of_docs(repository), said

    found = {row[0]: row[1:] for row in rows}
    for column, type_ in ((0, numpy.float32), (2, numpy.float16)):
        limits = numpy.finfo(type_)
        for name, value in (("bits", limits.bits), ("bits of the exponent", limits.nexp), ("decimal digits", limits.precision),
                            ("largest", limits.max), ("smallest normal", limits.tiny), ("epsilon", limits.eps),
                            ("smallest subnormal", limits.tiny * limits.eps)):
            assert numpy.isclose(float(found[name][column]), float(value), rtol=1e-7, atol=0), (name, type_, said)
    assert machine[0] == "GEMMs on this machine" and len(machine) == 4, said
    assert all(re.fullmatch(r"(natively|as fp32), by [a-z, ]+|by [a-z, ]+|no device here", cell) for cell in machine[1:]), said
    assert re.search(r"^computed by \S", said, re.M), said
    assert command.must("types", ranks=2).stdout == said


run_cases(check_types, arguments=["repository"])
