"""What libmylos.so shows and loads: the functions of mylos.h, all of them and nothing else; and beside a program's own Kokkos,
another fmt and, where the library contains one, another HDF5, all do their work.

usage: test_symbols.py MYLOS BUILD SOURCE CXX KOKKOS HAS_HDF5 HDF5_LIBRARY HDF5_INCLUDE ...
KOKKOS: the prefix of one. HAS_HDF5: 1 where the library contains HDF5. HDF5_...: a shared one, and its headers' folders
"""
import pathlib
import sys
import tempfile

from programs import HERE, Compilers, run, run_silent, train_closure
from shown_symbols import check_needed, check_symbols


def link_kokkos(kokkos):
    """All of its archives, with all symbols visible; in a portable build it is a shared library."""
    for folder in (kokkos / "lib", kokkos / "lib64"):
        archives = [folder / f"libkokkos{name}.a" for name in ("containers", "core")]
        if all(archive.exists() for archive in archives):
            return ["-Wl,--whole-archive", *archives, "-Wl,--no-whole-archive"]
        if (folder / "libkokkoscore.so").exists():
            return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lkokkoscontainers", "-lkokkoscore"]
    raise AssertionError(f"{kokkos} has no libraries")


def check_clash(model, compilers, kokkos, folder):
    run([compilers.cxx, "-std=c++20", "-fopenmp", "-O1", "-rdynamic", f"-I{kokkos / 'include'}", f"-I{compilers.include}",
         HERE / "clash.cpp", "-o", "clash", *compilers.link, *link_kokkos(kokkos), "-ldl"], folder)
    for order in ("inside", "around"):
        run_silent([folder / "clash", model, order], folder, variables={"KOKKOS_DISABLE_WARNINGS": "1"})


def check_clash_of_hdf5(model, compilers, hdf5, includes, folder):
    program = compilers.c("hdf5_clash.c", folder, libraries=[hdf5, f"-Wl,-rpath,{pathlib.Path(hdf5).parent}", "-ldl"],
                          flags=[f"-I{include}" for include in includes])
    run_silent([program, model], folder)
    shared = compilers.library / "libmylos_cxx.so"
    if shared.exists():  # with its own Kokkos, and the program's HDF5
        run_silent([program, model, shared], folder)


def main(mylos, build, source, cxx, kokkos, has_hdf5, hdf5, *hdf5_includes):
    compilers = Compilers(build, source, cxx)
    for library in [compilers.library / "libmylos.so", *compilers.library.glob("glibc-hwcaps/*/libmylos.so")]:
        check_symbols(library.resolve(), compilers.include / "mylos/mylos.h")
        check_needed(library.resolve(), has_hdf5 == "1")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        model, _ = train_closure(mylos, folder, "fp32")
        check_clash(model, compilers, pathlib.Path(kokkos), folder)
        if has_hdf5 == "1":
            check_clash_of_hdf5(model, compilers, hdf5, hdf5_includes, folder)
    print("the C interface alone is visible, and nothing clashes")


if __name__ == "__main__":
    main(*sys.argv[1:])
