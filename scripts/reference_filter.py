#!/usr/bin/env python3
"""Doxygen's view of a public header: the comments that readers of the header see become its documentation.

usage: reference_filter.py HEADER     (docs/reference/Doxyfile names it as INPUT_FILTER; lines keep their numbers)

* the comment at the head of a file describes the file;
* a comment behind a member, an enumerator or a macro describes it; in the C header also a comment above a declaration;
* comparisons that the compiler writes are left out.
"""
import pathlib
import re
import sys

COMPARISON = re.compile(r"^\s*(\[\[nodiscard\]\] )?bool operator==\(.*= default;\s*(//.*)?$")
# A member or an enumerator, and the comment behind it; not a line of a function's body.
MEMBER = re.compile(r"^((?:\s+|inline constexpr )(?!return\b|if\b|for\b|else\b|case\b|\}|//)[^/\"]*?(?:\"[^\"]*\"[^/\"]*?)*[,;\w}]\s+)//(?!/)(.*)$")
C_TRAILING = re.compile(r"^(\s+(?!/|\*)[^/]*[,;\w]\s+)/\*(?!\*)(.*)$")


def of_cpp(lines):
    in_head, goes_on = True, False
    for line in lines:
        behind, goes_on = goes_on, False
        if in_head and line.startswith("//"):
            yield f"///{line[2:]}"
        elif behind and re.match(r"\s+//(?!/)", line):  # a comment behind a member that goes on in the next line
            goes_on = True
            yield line.replace("//", "///<", 1)
        elif line == "#pragma once":
            yield "/// @file"
            in_head = False
        elif COMPARISON.match(line):
            yield ""
        elif found := MEMBER.match(line):
            goes_on = True
            yield f"{found.group(1)}///<{found.group(2)}"
        else:
            yield line


def of_c(lines):
    in_head = True
    for line in lines:
        if line.startswith("/* ----"):
            yield line
        elif line.startswith("/*") and not line.startswith("/**"):
            yield f"/**{line[2:]}"
        elif in_head and line == " */":
            yield " * @file */"
            in_head = False
        elif found := C_TRAILING.match(line):
            yield f"{found.group(1)}/**<{found.group(2)}"
        else:
            yield line


def main():
    path = pathlib.Path(sys.argv[1])
    lines = path.read_text(encoding="utf-8").splitlines()
    print("\n".join((of_c if path.suffix == ".h" else of_cpp)(lines)))


main()
