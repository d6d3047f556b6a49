"""An installed and moved prefix, as makefiles (pkg-config) and CMake (components C and Fortran) find it.

usage: test_install.py MYLOS BUILD SOURCE CXX CMAKE HAS_HDF5 PORTABLE
HAS_HDF5: 1 where libmylos.so contains HDF5. PORTABLE: 1 where it has copies for newer processors
"""
import pathlib
import re
import sys
import tempfile

from programs import HERE, has, run, run_silent, train_closure
from shown_symbols import check_needed, check_symbols

C_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(solver LANGUAGES C)
find_package(Mylos 0.1 REQUIRED COMPONENTS C)
add_executable(infer infer.c)
target_link_libraries(infer PRIVATE Mylos::c)
"""
FORTRAN_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(solver LANGUAGES Fortran)
find_package(Mylos 0.1 REQUIRED COMPONENTS Fortran)
add_executable(infer infer.f90)
target_link_libraries(infer PRIVATE Mylos::fortran)
"""
CXX_PROJECT = """cmake_minimum_required(VERSION 3.25)
project(solver LANGUAGES C CXX)
find_package(Mylos 0.1 REQUIRED)
message(STATUS "Kokkos: ${Kokkos_DIR}, Highway: ${hwy_DIR}")
"""
C_MAKEFILE = """infer: infer.c
\t$(CC) -std=c99 $$(pkg-config --cflags mylos) -o $@ $< $$(pkg-config --libs mylos)
"""
FORTRAN_MAKEFILE = """infer: infer.f90
\tgfortran -o $@ $$(pkg-config --variable=sources mylos-fortran) $< $$(pkg-config --libs mylos-fortran)
"""


def write(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def copy(source, folder):
    """The source, and what it includes."""
    for name in (source, "support.h" if source.endswith(".c") else "require.inc"):
        (folder / name).write_bytes((HERE / name).read_bytes())


def require_own_dependencies(prefix, build, folder, cmake, variables, names):
    """Another user's project finds Kokkos and Highway in the prefix where those of the build are of scripts/setup: its cache is
    private."""
    cache = (pathlib.Path(build) / "CMakeCache.txt").read_text(encoding="utf-8")
    found = write(folder / "cmake_cxx", "CMakeLists.txt", CXX_PROJECT)
    printed = run([cmake, "-S", found, "-B", found / "build"], folder, variables=variables).stdout
    for name, folder_name in names.items():
        used = pathlib.Path(re.search(rf"^{name}_DIR:PATH=(.*)/lib/cmake/{name}$", cache, re.MULTILINE)[1])
        if (used / "complete").exists():  # scripts/setup writes it
            assert f"mylos/{folder_name}/" in printed and str(used) not in printed and str(prefix) in printed, printed


def check_copies(program, folder):
    """What the loader takes for processors of three kinds, as far as this machine is one of them."""
    taken = []
    for missing in ("", "glibc.cpu.hwcaps=-AVX512F", "glibc.cpu.hwcaps=-AVX2"):
        paths = run(["ldd", program], folder, variables={"GLIBC_TUNABLES": missing}).stdout
        taken.append(re.search(r"libmylos\.so\.\d+ => (\S+)", paths)[1].split("/")[-2])
    assert taken[2] == "lib" and taken[0] in ("x86-64-v4", "x86-64-v3", "lib"), taken
    assert taken[1] == ("lib" if taken[0] == "lib" else "x86-64-v3"), taken


def main(mylos, build, _source, _cxx, cmake, has_hdf5, portable):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for component in ("library", "development"):
            run([cmake, "--install", build, "--component", component, "--prefix", folder / "first"], folder)
        prefix = (folder / "first").rename(folder / "prefix")
        [configuration] = prefix.rglob("mylos.pc")
        variables = {"PKG_CONFIG_PATH": str(configuration.parent), "CMAKE_PREFIX_PATH": str(prefix)}
        dependencies = {"Kokkos": "kokkos"} if portable == "1" else {"Kokkos": "kokkos", "hwy": "highway"}
        require_own_dependencies(prefix, build, folder, cmake, variables, dependencies)
        libraries = [library.resolve() for library in prefix.rglob("libmylos.so.*.*")]
        assert len(libraries) == (3 if portable == "1" else 1), libraries
        for library in libraries:
            check_symbols(library, prefix / "include/mylos/mylos.h")
            check_needed(library, has_hdf5 == "1")
        model, rows = train_closure(mylos, folder, "fp32")
        arguments = [model, folder / "inputs.bin", folder / "fp32.bin", rows]

        languages = [("c", C_PROJECT, C_MAKEFILE)]
        if has("gfortran"):
            languages.append(("f90", FORTRAN_PROJECT, FORTRAN_MAKEFILE))
        for suffix, project, makefile in languages:
            by_cmake = write(folder / f"cmake_{suffix}", "CMakeLists.txt", project)
            copy(f"infer.{suffix}", by_cmake)
            run([cmake, "-S", by_cmake, "-B", by_cmake / "build"], folder, variables=variables)
            run([cmake, "--build", by_cmake / "build"], folder)
            of_language = arguments + [folder / "fp32_average.bin", 0] if suffix == "c" else arguments
            run_silent([by_cmake / "build/infer", *of_language], folder)
            if portable == "1":
                check_copies(by_cmake / "build/infer", folder)
            if has("pkg-config"):
                by_make = write(folder / f"make_{suffix}", "makefile", makefile)
                copy(f"infer.{suffix}", by_make)
                run(["make"], by_make, variables=variables)
                run_silent([by_make / "infer", *of_language], folder)
    print("found by CMake and by pkg-config")


if __name__ == "__main__":
    main(*sys.argv[1:])
