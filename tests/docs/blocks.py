"""Blocks of code of the pages: lines that four spaces or a fence set off. An indented block ends at the next text."""
import re


def blocks_of(page):
    """(number of its first line, lines) of each block, without their indentation."""
    block, first, fenced = [], 0, False
    for number, line in enumerate([*page.read_text(encoding="utf-8").splitlines(), "end"], start=1):
        fence = line.lstrip().startswith("```")
        inside = not fence and (fenced or line.startswith("    ") or (block and not line.strip()))
        if inside and (block or line.strip()):
            first = first if block else number
            block.append(line if fenced else line[4:])
        elif block:
            yield first, block[:len(block) - len(trailing_blanks(block))]
            block = []
        fenced ^= fence


def trailing_blanks(lines):
    blanks = []
    for line in reversed(lines):
        if line.strip():
            break
        blanks.append(line)
    return blanks


LANGUAGES = {
    "cpp": r"mylos::|Kokkos::|^model\.\w+\(exec",
    "c": r"\bmylos_\w+\(|#include <mylos/mylos\.h>",
    "fortran": r"^\s*(?:use mylos|call \w+%|type\(mylos_\w+\))",
    "python": r"^(?:import|from) \w+",
    "toml": r"^\[+[a-z][\w.]*\]+\s*(?:#.*)?$",
}
# What a block in another language may contain too, above all command lines and messages.
OTHER = r"^(?:\s*(?:mylos|mpirun|cmake|scripts/|mylos:|export|project\(|cc|gfortran) |FC =|CC =|cmake_minimum)|^[a-z_]+\(\w+ .*\)$"


def language_of(lines):
    """None for command lines, output and formulas."""
    text = "\n".join(lines)
    if re.search(OTHER, text, re.M):
        return None
    found = [language for language, sign in LANGUAGES.items() if re.search(sign, text, re.M)]
    return found[0] if found else None
