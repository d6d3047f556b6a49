#!/usr/bin/env python3
"""Which tests of a build have not passed with what they read now: for scripts/test --changed.

usage: changed_tests.py select BUILD          their names, one a line
       changed_tests.py record BUILD REPORT   remembers what passed or was skipped according to a report of ctest (JUnit);
                                              after a whole run also what it left to scripts/test --full

A test reads its own source or script, all that these include or import, and of the code under test what is nearest to it.
Sources lie beside their headers, so that the test which includes layernorm.hpp is nearest to layernorm.cpp, and the tests
of networks, which reach it through others, are not. A source that no test includes is read by those that reach it through
the fewest others. Whatever lies further away is left to scripts/test, which runs everything.
"""
import ast
import collections
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE_FOLDERS = ("include", "src", "apps", "apps/mylos", "tests")
CODE = (".cpp", ".hpp", ".c", ".h", ".f90")
# What is read by tests whose sources do not name it: of the entries whose names begin so.
ALSO_READ = {
    "bindings.": ("include/mylos", "src/mylos/api", "cmake"), "bindings.tutorial.": ("docs/tutorials", "inputs"),
    "docs.": ("docs", "README.md", "include/mylos"), "embedding.": ("tests/embedding",),
    "scripts.": ("scripts", "packaging", "perf/harness"),
    "layering": ("include", "src", "apps", "tests", "perf", "scripts"), "words": ("include", "src", "apps", "tests", "docs", "scripts"),
    "format": ("include", "src", "apps", "tests", "perf"), "links": ("docs", "README.md"),
    "perf.": ("perf", "tests/apps/support"), "reacting.": ("apps/reacting",),
    "app.flame": ("apps/flame",), "app.columns": ("apps/columns",),
}
EVERYTHING_READS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "src/CMakeLists.txt", "tests/CMakeLists.txt", "tests/support")


@functools.cache
def text(path):
    return path.read_bytes().decode("utf-8", "replace")


@functools.cache
def includes(path):
    """The files of this repository that a file includes itself."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text(path), re.M):
        for folder in (path.parent, *(ROOT / folder for folder in INCLUDE_FOLDERS)):
            if (folder / name).is_file():
                found.append((folder / name).resolve())
                break
    return found


@functools.cache
def all_includes(path):
    seen, todo = {path}, [path]
    while todo:
        for other in includes(todo.pop()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return frozenset(seen)


@functools.cache
def sources_of_headers():
    """Header -> the sources that define what it declares: the one of its name; of a source without such a header, those of
    its folder that it includes, else those of its room."""
    found = collections.defaultdict(set)
    for folder in ("src", "apps"):
        for source in (ROOT / folder).rglob("*.cpp"):
            headers = includes(source)
            own = [header for header in headers if header.stem == source.stem] or \
                [header for header in headers if header.parent == source.parent]
            if not own and folder == "src":
                own = [header for header in headers if header.parent.parent == source.parent.parent] or headers[:1]
            for header in own:
                found[header].add(source)
    return found


@functools.cache
def next_to(path):
    """The sources one step away from a source or a test: those of the headers that it, or its own header, includes."""
    own = [header for header in includes(path) if header.stem == path.stem or "tests" in header.parts]
    headers = {header for file in (path, *own) for header in includes(file)}
    return frozenset(source for header in headers for source in sources_of_headers()[header] if source != path)


def distances(starts, steps):
    """Source -> steps, of which the starts have taken some."""
    found, level = {start: steps for start in starts}, list(starts)
    while level:
        steps += 1
        level = [source for path in level for source in next_to(path) if source not in found and not found.__setitem__(source, steps)]
    return found


def module_names(node):
    """Of an import statement: the modules that it may name."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" if node.module else alias.name for alias in node.names)]
    return []


@functools.cache
def imports(script):
    """A Python script and the modules of this repository that it imports."""
    found, todo = {script}, [script]
    while todo:
        path = todo.pop()
        for node in ast.walk(ast.parse(text(path))):
            for name in module_names(node):
                for folder in (path.parent, script.parent, ROOT / "tests/apps"):
                    module = folder / f"{name.replace('.', '/')}.py"
                    if module.is_file() and module.resolve() not in found:
                        found.add(module.resolve())
                        todo.append(module.resolve())
    return frozenset(found)


@functools.cache
def named_files(script):
    """The files and folders of this repository whose names a script has as text."""
    words = set(re.findall(r"[\w-]+(?:/[\w.-]+)+|[\w-]+\.[a-z0-9]+|(?<=\")[\w-]+(?=\")|[a-z]+_files\b", text(script)))
    return frozenset(path.resolve() for word in words for path in (script.parent / word, ROOT / word, ROOT / "inputs" / word, ROOT / "scripts" / word)
                     if path.is_file() or "_files" in word and path.is_dir())


@functools.cache
def commands(script):
    """The sources of the commands of mylos that a script starts."""
    words = set(re.findall(r"\"([a-z-]+)[\" ]", text(script)))
    names = {"evaluate" if word == "eval" else word.replace("-", "_") for word in words}
    return frozenset(source for name in names for source in (ROOT / "apps/mylos/commands").glob(f"{name}_command*.cpp"))


class Entry:
    """An entry of ctest: where it begins to read."""

    def __init__(self, test):
        self.name, self.command = test["name"], test.get("command", [])
        properties = {item["name"]: item["value"] for item in test.get("properties", [])}
        self.definition = json.dumps([self.command, properties.get("ENVIRONMENT")])
        self.scripts, self.starts = set(), set()
        room = ROOT / "tests" / re.split("[.@]", self.name)[0]
        for argument in self.command:
            path = pathlib.Path(argument)
            if argument.startswith("--file="):
                self.starts |= set(room.glob(argument[7:]))
            elif path.suffix == ".py" and path.is_file():
                self.scripts |= imports(path.resolve())
                self.starts |= commands(path.resolve())
            elif path.is_absolute() and (ROOT / "build") in path.parents:
                self.starts |= {source for source in (ROOT / "tests").rglob(f"{path.stem}.c*")} | \
                    {source for source in (ROOT / "apps").rglob(f"{path.stem}.cpp")}
        if not self.starts and not self.scripts:  # a program of a room's tests that is started by a filter, or whole
            self.starts = set(room.rglob("test_*.cpp"))
        self.files = self.starts | self.scripts
        for script in self.scripts:
            self.files |= {file for path in named_files(script) for file in below(path)}
        for prefix, paths in ALSO_READ.items():
            if self.name.startswith(prefix):
                self.files |= {file for path in paths for file in below(ROOT / path)}
        self.distances = distances(sorted(self.starts), 1 if self.scripts else 0)  # a unit test is nearer than a command


def below(path):
    files = [path] if path.is_file() else path.rglob("*")
    return [file for file in files if file.is_file() and file.suffix != ".pyc"]


@functools.cache
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def companions(source):
    """What is no code and lies beside a source, or in a folder without code there, such as a page's scripts: part of it."""
    folders = [source.parent, *(path for path in source.parent.iterdir() if path.is_dir() and not any(path.glob("*.cpp")))]
    return frozenset(file for folder in folders for file in folder.iterdir() if file.is_file() and file.suffix not in CODE)


def entries(build):
    listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True)
    return [Entry(test) for test in json.loads(listed.stdout)["tests"] if not test["name"].startswith("full.")]


def stamps(build):
    """Name -> digest of all that an entry reads."""
    tests = entries(build)
    nearest = collections.defaultdict(lambda: sys.maxsize)
    for test in tests:
        for source, steps in test.distances.items():
            nearest[source] = min(nearest[source], steps)
    unreached = collections.defaultdict(set)  # folder -> sources that are read with the others there
    for source in set().union(*sources_of_headers().values()) - nearest.keys():
        unreached[source.parent].add(source)
    everywhere = [file for path in EVERYTHING_READS for file in below(ROOT / path) if not file.name.startswith("test_")]
    found = {}
    for test in tests:
        files = test.files.union(everywhere, *(all_includes(start) for start in test.starts))
        for source, steps in test.distances.items():
            if steps == nearest[source]:
                files |= all_includes(source) | companions(source) | unreached[source.parent]
        read = [test.definition, *(f"{os.path.relpath(file, ROOT)} {digest(file)}" for file in sorted(files))]
        found[test.name] = hashlib.sha256("\n".join(read).encode()).hexdigest()
    return found


def main():
    action, build = sys.argv[1], pathlib.Path(sys.argv[2])
    file = build / "passed.json"
    passed = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    now = stamps(build)
    if action == "select":
        for name, stamp in now.items():
            if passed.get(name) != stamp:
                print(name)
    elif action == "record":
        results = {case.get("name"): case.get("status") for case in xml.etree.ElementTree.parse(sys.argv[3]).iter("testcase")}
        is_whole = len(results) > len(now) // 2
        for name, stamp in now.items():
            if results.get(name, "run" if is_whole else "fail") != "fail":
                passed[name] = stamp
        file.write_text(json.dumps(passed), encoding="utf-8")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
