"""Writes the blocks of C++ of pages as functions of one file, after names.hpp, which declares what they use.

usage: write_cpp.py OUT PAGE...
"""
import pathlib
import re
import sys

import blocks


def function_of(page, number, lines):
    """An ellipsis stands for statements of the program."""
    body = [re.sub(r"(?:^|(?<=\s))\.\.\.(?=\s|$)", ";", line) for line in lines if not line.startswith("#include")]
    return [f"#line {number} \"{page.name}\"", f"void {re.sub(r'[^a-z]', '_', page.stem)}_{number}() {{", *body, "}"]


def main(out, *pages):
    functions = [function_of(page, number, lines) for page in map(pathlib.Path, pages) for number, lines in blocks.blocks_of(page)
                 if blocks.language_of(lines) == "cpp"]
    assert len(functions) >= 10, f"only {len(functions)} blocks of C++"
    lines = ['#include "names.hpp"', "namespace {", *(line for function in functions for line in function), "}  // namespace"]
    pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
