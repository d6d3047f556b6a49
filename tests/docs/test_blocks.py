"""The blocks of code of README.md and docs/ are right: decks have keys that the command knows, Python is parsed, and C and Fortran
are compiled against the headers and modules. Blocks of C++ are compiled in the build (documented_code). The tutorials' programs
are also run, by tests/bindings.

usage: test_blocks.py MYLOS SOURCE
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import blocks

HERE = pathlib.Path(__file__).resolve().parent
# What is said of keys that stand alone: others are missing, or give them their effect.
INCOMPLETE = {"missing-key", "no-such-file", "key-without-effect"}


def checked(line, folder):
    result = subprocess.run(list(map(str, line)), cwd=folder, capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else result.stderr or result.stdout


class Deck:
    """Read by the command up to its data files; what a fragment lacks is no mistake."""

    def __init__(self, mylos, folder):
        self.mylos, self.folder = mylos, folder

    def mistake(self, lines):
        layers = lines[0].startswith("[[model.layers]]")
        text = "\n".join([*(["[model]", 'type = "chain"'] if layers else []), *lines]) + "\n"
        (self.folder / "deck.toml").write_text(text, encoding="utf-8")
        result = checked([self.mylos, "train", "deck.toml", "--check"], self.folder)
        named = re.findall(r"\[([a-z-]+)\]$", result.strip(), re.M) if result else []
        return None if result is None or (named and named[-1] in INCOMPLETE) else result


class Python:
    def mistake(self, lines):
        try:
            compile("\n".join(lines) + "\n", "block", "exec")
        except SyntaxError as error:
            return str(error)
        return None


class C:
    """A program as it stands; other lines in a function, after the declarations of names.h."""

    def __init__(self, source, folder):
        self.line = ["mpicc" if shutil.which("mpicc") else "gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-but-set-variable",
                     "-Wno-unused-variable", "-fsyntax-only", f"-I{source / 'include'}", f"-I{HERE}"]
        self.folder = folder

    def mistake(self, lines):
        if not any(line.startswith("int main(") for line in lines):
            includes = [line for line in lines if line.startswith("#include")]
            lines = [*includes, '#include "names.h"', "void block(void) {", *(line for line in lines if line not in includes), "}"]
            lines.insert(len(includes) + 1, "void block(void);")
        (self.folder / "block.c").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return checked([*self.line, "block.c"], self.folder)


class Fortran:
    """A program as it stands; other lines in a subroutine, after the declarations of names.f90."""

    MODULES = ("mylos_c", "mylos_errors", "mylos_arrays", "mylos_models", "mylos_ensembles", "mylos_trainers", "mylos")

    def __init__(self, source, folder):
        self.folder = folder
        self.line = ["mpifort" if shutil.which("mpifort") else "gfortran", "-std=f2018", "-fsyntax-only"]
        modules = [source / f"include/mylos/fortran/{name}.f90" for name in self.MODULES]
        for file in [*modules, HERE / "names.f90"]:
            mistake = checked([self.line[0], "-std=f2018", "-c", "-O0", f"-J{folder}", "-o", "/dev/null", file], folder)
            assert not mistake, mistake

    def mistake(self, lines):
        if not any(line.startswith("program ") for line in lines):
            uses = [line for line in lines if line.startswith("use ")]
            lines = ["subroutine block", *uses, "use mylos", "use names", "implicit none", *(line for line in lines if line not in uses),
                     "end subroutine block"]
        (self.folder / "block.f90").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return checked([*self.line, "block.f90"], self.folder)


def main(mylos, source):
    source, found = pathlib.Path(source), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        compilers = {"toml": Deck(mylos, folder), "python": Python(), "c": C(source, folder)}
        if shutil.which("gfortran"):
            compilers["fortran"] = Fortran(source, folder)
        for page in [source / "README.md", *sorted((source / "docs").rglob("*.md"))]:
            for number, lines in blocks.blocks_of(page):
                language = blocks.language_of(lines)
                if compiler := compilers.get(language):
                    found[language] += 1
                    mistake = compiler.mistake(lines)
                    assert mistake is None, f"{page.relative_to(source)}:{number}: {language}\n{mistake}"
        for language, lines in (("toml", ["[health]", "evry = 1"]), ("python", ["import h5py", "print("]), ("c", ["mylos_model_lode();"]),
                                ("fortran", ["call closure%lode('a')"])):
            assert language not in compilers or compilers[language].mistake(lines), f"{lines} passes"
    print(", ".join(f"{count} blocks of {language}" for language, count in sorted(found.items())))
    assert found["toml"] > 20 and found["python"] > 8 and found["c"] > 4, found


if __name__ == "__main__":
    main(*sys.argv[1:])
