"""The tutorial on fields as it is written, in a folder of its own with an installed prefix and the generators of the sources.

usage: test_tutorial_fields.py MYLOS BUILD SOURCE CXX CMAKE
"""
import re
import sys

from test_tutorials import check_page


def inspect(output, work):
    errors = [float(number) for number in re.findall(r"relative error after 20 steps ([\d.]+)", output)]
    assert len(errors) == 2 and 0.2 < errors[1] < errors[0] < 0.45, output  # 0.298 and 0.331 on the page
    for name in ("sample.svg", "flow.html", "runs/rollout/report.html"):
        assert (work / name).stat().st_size > 1000, name
    return f"relative errors after 20 steps {errors}"


_, build, source, _, cmake = sys.argv[1:]
check_page(build, source, cmake, "fields", inspect)
