"""The tutorial on neural operators as it is written, in a folder with an installed prefix and the generators of the sources.

usage: test_tutorial_operators.py MYLOS BUILD SOURCE CXX CMAKE
"""
import pathlib
import re
import sys
import tempfile

from programs import run
from test_tutorials import script_of


def main(_mylos, build, source, _cxx, cmake):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run([cmake, "--install", build, "--prefix", folder / "prefix"], folder)
        (folder / "work").mkdir()
        page = (pathlib.Path(source) / "docs/tutorials/operators.md").read_text(encoding="utf-8")
        script = script_of(page, folder / "prefix").replace("/where/its/sources/are", source)
        assert str(folder) in script and source in script and "cat > " in script, script
        output = run(["bash", "-c", script], folder / "work").stdout
        errors = {int(points): float(error) for points, error in re.findall(r"(\d+) points: relative error ([\d.]+)", output)}
        assert errors.keys() == {128, 512}, output
        assert max(errors.values()) < 0.1 and abs(errors[512] - errors[128]) < 0.2 * errors[128], errors
    print(f"operators.md: as written; relative errors {errors}")


main(*sys.argv[1:])
