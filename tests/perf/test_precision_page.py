"""The page into which perf/precision_study.py writes its tables.

usage: test_precision_page.py REPOSITORY FOLDER-OF-PROGRAMS
"""
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(REPOSITORY / "perf"))
from precision_tables import page  # noqa: E402: the path is set first


def check_that_tables_take_their_places(path):
    path.write_text("# Page\n<!-- steps: begin -->\nold\n<!-- steps: end -->\nrest\n", encoding="utf-8")
    table = page.Table("steps", ["network", "ms"], [["MLP", 3.5]], ["A note."])
    for _ in range(2):  # again gives the same
        page.write(path, [table], "a machine")
        assert path.read_text(encoding="utf-8") == (
            "# Page\n<!-- steps: begin -->\n| network | ms |\n|---|---|\n| MLP | 3.5 |\n\n*a machine*\n\nA note.\n"
            "<!-- steps: end -->\nrest\n"), path.read_text(encoding="utf-8")
    try:
        page.write(path, [page.Table("costs", [], [])], "a machine")
    except KeyError as trouble:
        assert "no place for 'costs'" in str(trouble)
    else:
        raise AssertionError("a table without a place was written")


def check_words():
    assert page.ratio([4, 9, 2], [2, 3, 2]) == "2.00 (1.00–3.00)"
    assert page.verdict(0.5, 0.55) == "bar 0.55: met" and page.verdict(0.56, 0.55) == "bar 0.55: missed"
    assert re.search(r", 2 threads; \d{4}-\d\d-\d\d, ", page.machine(None, 2, REPOSITORY))


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
check_words()
if (pathlib.Path(sys.argv[2]) / "product_error").exists():
    check_errors_of_products(pathlib.Path(sys.argv[2]))
else:
    print("errors of products: not looked at, in a build without benchmarks")
