"""The tutorials of the command alone (tables, language, clusters, an ocean) as they are written, in a folder with an installed prefix.

usage: test_tutorial_commands.py MYLOS BUILD SOURCE CXX CMAKE PAGE
"""
import pathlib
import re
import sys
import tempfile

from programs import run, skip_without
from test_tutorials import script_of

FEWER_STEPS = [("steps = 2000", "steps = 200"), ("run.steps=3000", "run.steps=300"), ("evaluate_every = 500", "evaluate_every = 100")]


def numbers_after(text, output):
    return [float(number) for number in re.findall(rf"{text} *([\d.]+\d)", output)]


def check_tables(output, folder):
    r2 = numbers_after("R2", output)
    assert r2 and min(r2[-2:]) > 0.9, output
    coverages = numbers_after("coverage of calibrated intervals:", output)
    assert len(coverages) == 2 and all(0.87 < coverage < 0.93 for coverage in coverages), output
    for name in ("answers.csv", "sure.csv"):
        header, *rows = (folder / name).read_text(encoding="utf-8").splitlines()
        assert "lift_lower" in header and "lift_upper" in header and len(rows) == 2, (header, rows)
    return f"coverages {coverages}"


def check_language(output, folder):
    losses = numbers_after(": loss", output)
    assert len(losses) == 3 and max(losses) < 3, losses  # 4.17 for characters drawn at random
    assert losses[2] < losses[0], "more steps, and no smaller loss"
    assert output.count("ROMEO:") == 2 and (folder / "types.html").stat().st_size > 1000, output
    return f"losses {losses}"


def check_cluster(output, _folder):
    assert "the same bits" in output, output
    return f"{output.count('; again')} stops, and the same bits"


def check_ocean(output, _folder):
    errors = re.findall(r"step (\d+): RMSE ([\d.]+) K, persistence ([\d.]+) K", output)
    assert [step for step, _, _ in errors] == ["1", "10", "50"], output
    assert all(float(network) < float(persistence) for _, network, persistence in errors), errors
    bounds = re.findall(r"step (\d+): \+- ([\d.]+) K, coverage (\d+) %", output)
    assert [step for step, _, _ in bounds] == ["1", "10", "50"] and all(75 <= int(coverage) <= 99 for _, _, coverage in bounds), bounds
    return f"errors {errors}, bounds {bounds}"


CHECKS = {"ocean.md": check_ocean, "tables.md": check_tables, "language.md": check_language, "cluster.md": check_cluster}


def main(_mylos, build, source, _cxx, cmake, page):
    if page == "cluster.md":
        skip_without("h5diff", "mpirun")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run([cmake, "--install", build, "--prefix", folder / "prefix"], folder)
        work = folder / "work"
        work.mkdir()
        text = (pathlib.Path(source) / "docs/tutorials" / page).read_text(encoding="utf-8")
        script = script_of(text, folder / "prefix").replace("/where/its/sources/are", source)
        assert str(folder) in script and "cat > " in script, script
        for long, short in FEWER_STEPS if page == "language.md" else []:
            assert long in script, long
            script = script.replace(long, short)
        output = run(["bash", "-c", script], work).stdout
        print(f"{page}: as written; {CHECKS[page](output, work)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
