"""The tutorial of a simulation that trains its network, as it is written, in a folder that has the programs of the sources and the
build under the names that they have in the sources' folder.

usage: test_tutorial_in_situ.py MYLOS BUILD SOURCE CXX CMAKE
"""
import importlib.util
import pathlib
import re
import sys
import tempfile

from programs import SKIPPED, run
from test_tutorials import script_of

DRAWS = "apps/reacting/plot.py reacting-run reacting.png\n"
SPECIES = ("y1", "y2", "y3")


def number_after(text, output):
    found = re.search(rf"^ *{re.escape(text)} +(?:[\d.]+ +)?([\d.]+)$", output, re.M)
    assert found, (text, output)
    return float(found.group(1))


def check_stated(page, output):
    """The figures of the page, of a processor that rounds in its own way: the same sizes."""
    loss = float(re.search(r"^loss ([\d.]+) over 384 samples$", output, re.M).group(1))
    assert loss < 2e-4, output
    assert "8577 parameters, 2 ranks, at most 384 samples each in a step" in output, output
    assert "mylos-checkpoint" in output, output
    both = output[:output.index("mass fractions")]
    for text, ratio in (("cells by network, %", 1.1), ("in the last step, %", 1.05), ("error of a step, last checks, %", 2),
                        *((f"relative L2 error of {species} at the end, %", 2.5) for species in SPECIES)):
        stated, found = number_after(text, page), number_after(text, both)
        assert 1 / ratio < found / stated < ratio, (text, stated, found)
    return loss


def check_restart(output):
    """The lines of the restarted run are those of the run without a stop."""
    lines = re.findall(r"^step \d+: .*$", output, re.M)
    steps = [int(line.split()[1][:-1]) for line in lines]
    assert steps == [*range(200, 2001, 200), 200, 400, *range(600, 2001, 200)], steps
    assert lines[10:] == lines[:10], output


def main(_mylos, build, source, _cxx, _cmake):
    if not pathlib.Path(build, "bin/reacting").exists():
        sys.exit(SKIPPED)
    page = (pathlib.Path(source) / "docs/tutorials/in-situ.md").read_text(encoding="utf-8")
    script = script_of(page, "nowhere")
    assert DRAWS in script and script.count("mpirun ") == 4, script
    if importlib.util.find_spec("matplotlib") is None:
        script = script.replace(DRAWS, "")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "apps").symlink_to(pathlib.Path(source) / "apps")
        (folder / "build").mkdir()
        (folder / "build/host").symlink_to(build)
        output = run(["bash", "-c", script], folder).stdout
        loss = check_stated(page, output)
        check_restart(output)
        for name in ["surrogate.h5"] + ["reacting.png"] * (DRAWS in script):
            assert (folder / name).stat().st_size > 1000, name
    print(f"in-situ.md: as written; loss {loss}, and the same lines after a restart")


main(*sys.argv[1:])
