"""Counts how many units read a header, and fails over the budgets of header_budgets.toml beside it. Prints the headers of
base with the most units, and what brings Kokkos_Core.hpp to the most units. Usage: header_budgets.py REPOSITORY"""

import collections
import pathlib
import re
import sys
import tomllib

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
# What a build for hosts does not read.
FOR_DEVICES = re.compile(r"^#if [^\n]*KOKKOS_ENABLE_(?:CUDA|HIP|SYCL)\b.*?^#endif", re.M | re.S)
FOLDERS = ["include", "src", "tests", "apps/mylos", "apps"]  # where includes are looked for
SHOWN = 5


class Graph:
    """The includes of a repository."""

    def __init__(self, root):
        self.root = root
        self.included = {}

    def includes(self, file):
        """What `file` includes itself: files of the repository, and the names of other headers."""
        if file not in self.included:
            text = FOR_DEVICES.sub("", (self.root / file).read_text(encoding="utf-8", errors="replace"))
            self.included[file] = [self.resolve(file, name) for name in INCLUDE.findall(text)]
        return self.included[file]

    def resolve(self, file, name):
        for folder in [pathlib.PurePosixPath(file).parent, *FOLDERS]:
            path = f"{folder}/{name}"
            if (self.root / path).is_file():
                return path
        return name

    def read_by(self, unit):
        """Everything that `unit` reads."""
        seen, waiting = {unit}, [unit]
        while waiting:
            file = waiting.pop()
            if not (self.root / file).is_file():
                continue
            for header in self.includes(file):
                if header not in seen:
                    seen.add(header)
                    waiting.append(header)
        return seen


def units_of(root):
    found = []
    for folder in ("src", "apps", "tests", "perf"):
        for path in sorted((root / folder).rglob("*.cpp")):
            unit = path.relative_to(root).as_posix()
            if not unit.startswith(("src/mylos/device/", "apps/flame/")):
                found.append(unit)
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    budgets = tomllib.loads((pathlib.Path(__file__).parent / "header_budgets.toml").read_text(encoding="utf-8"))
    graph = Graph(root)
    units = units_of(root)
    readers = collections.Counter()  # of each header, the units
    sources = {name: collections.Counter() for name in budgets["units"]}  # by which header units get it
    for unit in units:
        read = graph.read_by(unit)
        readers.update(read - {unit})
        for name, by in sources.items():
            by.update(file for file in read if (root / file).is_file() and name in graph.includes(file))

    problems = []
    for name, most in budgets["units"].items():
        print(f"{readers[name]} of {len(units)} units read {name}; the budget is {most}. Most get it from")
        for file, count in [pair for pair in sources[name].most_common() if pair[0].endswith(".hpp")][:SHOWN]:
            print(f"  {file}: {count}")
        if readers[name] > most:
            problems.append(f"{readers[name]} units read {name}, more than {most}")

    limits = budgets["percent"]
    shares = {}  # header -> (percent of the units, its budget)
    for folder in ("include/mylos/base", "src/mylos/base"):
        for path in (root / folder).rglob("*.hpp"):
            header = path.relative_to(root).as_posix()
            is_id = header.startswith("include/mylos/base/errors/") or header.endswith("/error_ids.hpp")
            limit = budgets["percent_of"].get(header, limits["error_ids"] if is_id else limits["base"])
            shares[header] = (100 * readers[header] / len(units), limit)
    print("The share of the units that an edit compiles again, and its budget; closest to it")
    for header, (share, limit) in sorted(shares.items(), key=lambda item: -item[1][0] / item[1][1])[:SHOWN]:
        print(f"  {header}: {share:.1f} % of {limit} %")
    for header, (share, limit) in sorted(shares.items()):
        if share > limit:
            problems.append(f"{header}: an edit compiles {share:.1f} % of the units again, more than {limit} %")
    for header in budgets["percent_of"]:
        if header not in shares:
            problems.append(f"header_budgets.toml: there is no header {header}")

    for problem in problems:
        print(f"header_budgets: {problem}", file=sys.stderr)
    if problems:
        print("header_budgets: header_budgets.toml says how to include less.", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
