"""A tutorial as it is written: its files and its commands, in a folder of their own with an installed prefix alone.

Files are fenced blocks after a line "File `NAME`:", commands are blocks of sh; they run in their order, in one shell.
usage: test_tutorials.py MYLOS BUILD SOURCE CXX CMAKE PAGE [FOLDER...]     FOLDERs: of CMAKE_PREFIX_PATH
"""
import pathlib
import re
import sys
import tempfile

from programs import run, skip_without

BLOCK = re.compile(r"(?:File `([^`]+)`:\n\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def script_of(page, prefix):
    """Makes the files and runs the commands; the prefix is the only line that is replaced."""
    lines = ["set -eu"]
    for name, language, text in BLOCK.findall(page):
        if name:
            lines += [f"cat > {name} <<'END-OF-FILE'", text + "END-OF-FILE"]
        elif language == "sh":
            lines.append(text.replace("/where/mylos/is", str(prefix)))
    return "\n".join(lines)


def check_page(build, source, cmake, name, inspect):
    """Runs the commands of docs/tutorials/NAME.md, which need the sources too, with an installed prefix; inspect(output, folder)
    checks what they print and write, and returns what to report."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run([cmake, "--install", build, "--prefix", folder / "prefix"], folder)
        (folder / "work").mkdir()
        page = (pathlib.Path(source) / f"docs/tutorials/{name}.md").read_text(encoding="utf-8")
        script = script_of(page, folder / "prefix").replace("/where/its/sources/are", source)
        assert str(folder) in script and source in script and "cat > " in script, script
        print(f"{name}.md: as written; {inspect(run(['bash', '-c', script], folder / 'work').stdout, folder / 'work')}")


def main(_mylos, build, source, cxx, cmake, page, *others):
    if "fortran" in page:
        skip_without("gfortran")
    skip_without("pkg-config", "awk", "make")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        run([cmake, "--install", build, "--prefix", folder / "first"], folder)
        prefix = (folder / "first").rename(folder / "prefix")
        (folder / "work").mkdir()
        script = script_of((pathlib.Path(source) / "docs/tutorials" / page).read_text(encoding="utf-8"), prefix)
        assert str(prefix) in script and "cat > " in script, script
        variables = {"CXX": cxx, "CMAKE_PREFIX_PATH": ":".join(others)}
        output = run(["bash", "-c", script], folder / "work", variables=variables).stdout
        differences = [float(number) for number in re.findall(r"root mean square difference +([\d.]+)", output)]
        assert len(differences) >= 2 and max(differences) < 0.5, output
    print(f"{page}: as written; the largest difference is {max(differences)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
