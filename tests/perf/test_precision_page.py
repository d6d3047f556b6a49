"""The page into which perf/precision_study.py writes its tables: their places, the keys that it names, and the programs behind.

usage: test_precision_page.py REPOSITORY FOLDER-OF-PROGRAMS
"""
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(REPOSITORY / "perf"))
import precision_study  # noqa: E402: the path is set first
from known_study import refused  # noqa: E402
from precision_tables import configurations, page  # noqa: E402

PAGE = REPOSITORY / "docs/explanation/precision.md"
GUIDES = REPOSITORY / "docs/explanation/guides.md"
FILES = {"csv", "json", "jsonl", "h5", "md", "html", "toml"}  # what else is written as name.ending


def check_that_tables_take_their_places(path):
    path.write_text("# Page\n<!-- steps: begin -->\nold\n<!-- steps: end -->\nrest\n", encoding="utf-8")
    table = page.Table("steps", ["network", "ms"], [["MLP", 3.5]], ["A note."])
    for _ in range(2):  # again gives the same
        page.write(path, [table], "a machine")
        assert path.read_text(encoding="utf-8") == (
            "# Page\n<!-- steps: begin -->\n| network | ms |\n|---|---|\n| MLP | 3.5 |\n\n*a machine*\n\nA note.\n"
            "<!-- steps: end -->\nrest\n"), path.read_text(encoding="utf-8")
    with refused(KeyError, "no place for 'costs'"):
        page.write(path, [page.Table("costs", [], [])], "a machine")


def check_that_every_table_has_its_place(folder):
    """In a copy, as the study fills it."""
    copy = folder / "precision.md"
    copy.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    for name in precision_study.TABLES:
        page.write(copy, [page.Table(name, ["only"], [[f"cell of {name}"]])], "a machine")
    text = copy.read_text(encoding="utf-8")
    for name in precision_study.TABLES:
        assert text.count(f"| cell of {name} |") == 1, f"{PAGE} has no place for '{name}', or two"
        assert re.search(rf"^\S.*\n\n<!-- {name}: begin -->", text, re.M), f"{PAGE}: no words before '{name}'"
    places = set(re.findall(r"<!-- (\w+): begin -->", text))
    assert places == set(precision_study.TABLES), f"{PAGE}: the study has no table for {places - set(precision_study.TABLES)}"


def keys_of_the_manual():
    """section.key of every row of docs/reference/deck.md, which is `mylos manual` (a test of the deck's compares them)."""
    keys, section = set(), ""
    for line in (REPOSITORY / "docs/reference/deck.md").read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r"## \[(.+)\]", line):
            section = found.group(1)
        elif found := re.match(r"\| `(\w+)` \|", line):
            keys.add(f"{section}.{found.group(1)}")
    return keys


def keys_named(text):
    """What reads section.key in code, alone, before a value or behind a deck on a command line."""
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^    (.*)$", text, re.M)
    words = {word for words in code for word in re.findall(r"(?<![\w./-])[a-z]+(?:\.[a-z_]+)+(?![\w./-])", words)}
    return {word for word in words if word.rsplit(".", 1)[1] not in FILES}


def check_keys():
    known = keys_of_the_manual()
    assert keys_named("`a.b = 1`, `mylos x data.h5 c.d_e=2`, a.f\n\n    mylos train deck.toml g.h.i=3\n") == {"a.b", "c.d_e", "g.h.i"}
    for path in (PAGE, GUIDES):
        named = keys_named(path.read_text(encoding="utf-8"))
        assert len(named) > 15, named
        assert named <= known, f"{path} names keys that no deck has: {sorted(named - known)}"


def check_words():
    assert page.ratio([4, 9, 2], [2, 3, 2]) == "2.00 (1.00–3.00)"
    memory = {"recompute": ["40", "0.12", "8"]}  # bytes, overhead, milliseconds
    assert configurations.recomputing("recompute", memory, {"float": [10, 10], "recompute": [12, 13]}) == "1.12, 1.25 (1.20–1.30)"
    assert configurations.recomputing("mixed", memory, {}) == "–"
    assert page.verdict(0.5, 0.55) == "bar 0.55: met" and page.verdict(0.56, 0.55) == "bar 0.55: missed"
    assert re.search(r", 2 threads; \d{4}-\d\d-\d\d, ", page.machine(None, 2))


def check_errors_of_products(programs):
    """Theory: operands and result are rounded, each with an error of at most epsilon / 2, and sums are float."""
    said = subprocess.run([programs / "product_error", "64", "200"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    assert [(row[0], row[1]) for row in rows] == [(kind, size) for size in ("64", "200") for kind in ("fp32", "bf16", "fp16")]
    half_epsilon = {"bf16": 2**-8, "fp16": 2**-11, "fp32": 2**-24}
    for kind, size, _, _, mean, largest in rows:
        rounded = half_epsilon[kind]
        least = 0.2 * rounded if kind != "fp32" else 0.1 * rounded
        most = rounded if kind != "fp32" else 4 * int(size) ** 0.5 * rounded
        assert least < float(mean) < most, (kind, size, mean)
        assert float(mean) < float(largest) < 20 * float(mean), (kind, size, largest)


with tempfile.TemporaryDirectory() as folder:
    check_that_tables_take_their_places(pathlib.Path(folder) / "page.md")
    check_that_every_table_has_its_place(pathlib.Path(folder))
check_keys()
check_words()
if (pathlib.Path(sys.argv[2]) / "product_error").exists():
    check_errors_of_products(pathlib.Path(sys.argv[2]))
else:
    print("errors of products: not looked at, in a build without benchmarks")
