"""scripts/check-reference: the comments of headers become their documentation, and a symbol without one is found.

usage: test_reference.py REPOSITORY     ends with 77 if Doxygen is not installed
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HEADER = """// A header with one type.
#pragma once

namespace mylos {

/// What a test needs.
struct Sample {
  int first = 1;                  // behind the member
  const char* text = "//"{comment}
  bool operator==(const Sample&) const = default;
};

}  // namespace mylos
"""
C_HEADER = """/* A header for C.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

/* What a test calls. */
int first(int value);
{second}
#endif
"""


def check(repository, headers, folder):
    environment = os.environ | {"MYLOS_HEADERS": str(headers)}
    return subprocess.run([repository / "scripts/check-reference", folder], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def main():
    repository = pathlib.Path(sys.argv[1]).resolve()
    if not shutil.which("doxygen"):
        print("Skipped: doxygen is not installed.")
        return 77
    with tempfile.TemporaryDirectory() as name:
        headers, out = pathlib.Path(name) / "headers", pathlib.Path(name) / "out"
        headers.mkdir()
        cases = {("  // of a test", "/* The same. */\nint second(int value);\n"): [],
                 ("", "/* The same. */\nint second(int value);\n"): ["sample.hpp:9", "text"],
                 ("  // of a test", "int second(int value);\n"): ["sample.h:8", "second"]}
        for (comment, second), expected in cases.items():
            (headers / "sample.hpp").write_text(HEADER.replace("{comment}", ";" + comment))
            (headers / "sample.h").write_text(C_HEADER.replace("{second}", second))
            result = check(repository, headers, out)
            assert result.returncode == (1 if expected else 0), result.stdout
            assert all(part in result.stdout for part in expected), result.stdout
        assert "behind the member" in "".join(page.read_text() for page in (out / "html").glob("*.html"))
    return 0


sys.exit(main())
