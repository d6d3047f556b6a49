"""What libmylos.so shows and loads: the functions of mylos.h, all of them and nothing else; and beside a program's own Kokkos
and another fmt both do their work.

usage: test_symbols.py MYLOS BUILD SOURCE CXX KOKKOS     KOKKOS: the prefix of one
"""
import pathlib
import re
import sys
import tempfile

from programs import HERE, Compilers, run, run_silent, train_closure


def check_symbols(library, header):
    table = run(["nm", "-D", "--defined-only", library], library.parent).stdout
    shown = {line.split()[2] for line in table.splitlines()}
    # Those that the header defines are static.
    declared = set(re.findall(r"^(?:int32_t|const char\*) (mylos_\w+)\(", header.read_text(encoding="utf-8"), re.MULTILINE))
    assert shown == declared, f"shown alone: {shown - declared}; declared alone: {declared - shown}"
    assert len(shown) > 20, shown


def check_needed(library):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run(["readelf", "--dynamic", "--wide", library], library.parent).stdout)
    hidden = [name for name in needed if re.match("lib(kokkos|hwy|fmt|toml|mylos)", name)]
    assert hidden == [], f"the library loads {hidden}, which it must contain"


def check_clash(mylos, compilers, kokkos, folder):
    model, _ = train_closure(mylos, folder, "fp32")
    archives = [path / f"libkokkos{name}.a" for path in (kokkos / "lib", kokkos / "lib64") for name in ("containers", "core")]
    archives = [archive for archive in archives if archive.exists()]
    assert archives, f"{kokkos} has no archives"
    run([compilers.cxx, "-std=c++20", "-fopenmp", "-O1", "-rdynamic", f"-I{kokkos / 'include'}", f"-I{compilers.include}",
         HERE / "clash.cpp", "-o", "clash", *compilers.link, "-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive", "-ldl"], folder)
    run_silent([folder / "clash", model], folder, variables={"KOKKOS_DISABLE_WARNINGS": "1"})


def main(mylos, build, source, cxx, kokkos):
    compilers = Compilers(build, source, cxx)
    library = (compilers.library / "libmylos.so").resolve()
    check_symbols(library, compilers.include / "mylos/mylos.h")
    check_needed(library)
    with tempfile.TemporaryDirectory() as scratch:
        check_clash(mylos, compilers, pathlib.Path(kokkos), pathlib.Path(scratch))
    print("the C interface alone is visible, and nothing clashes")


if __name__ == "__main__":
    main(*sys.argv[1:])
