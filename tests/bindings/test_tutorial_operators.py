"""The tutorial on neural operators as it is written, in a folder with an installed prefix and the generators of the sources.

usage: test_tutorial_operators.py MYLOS BUILD SOURCE CXX CMAKE
"""
import re
import sys

from test_tutorials import check_page


def inspect(output, _work):
    errors = {int(points): float(error) for points, error in re.findall(r"(\d+) points: relative error ([\d.]+)", output)}
    assert errors.keys() == {128, 512}, output
    assert max(errors.values()) < 0.1 and abs(errors[512] - errors[128]) < 0.2 * errors[128], errors
    return f"relative errors {errors}"


_, build, source, _, cmake = sys.argv[1:]
check_page(build, source, cmake, "operators", inspect)
