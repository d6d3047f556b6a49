"""A site's Kokkos without OpenMP is refused when CMake configures, not when programs are linked.

usage: test_site_kokkos.py REPOSITORY
"""
import pathlib
import subprocess
import sys
import tempfile

CONFIGURATION = """set(Kokkos_DEVICES "SERIAL")
set(Kokkos_ENABLE_SERIAL ON)
set(Kokkos_ARCH "")
add_library(Kokkos::kokkoscore STATIC IMPORTED)
add_library(Kokkos::kokkos INTERFACE IMPORTED)
"""
VERSION = """set(PACKAGE_VERSION 5.0.2)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
"""


def main(repository):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        package = folder / "kokkos/lib/cmake/Kokkos"
        package.mkdir(parents=True)
        (package / "KokkosConfig.cmake").write_text(CONFIGURATION, encoding="utf-8")
        (package / "KokkosConfigVersion.cmake").write_text(VERSION, encoding="utf-8")
        result = subprocess.run(["cmake", "-S", repository, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={folder}/kokkos", "-DMylos_ENABLE_TESTS=OFF",
                                 "-DMylos_ENABLE_PERF=OFF"], capture_output=True, text=True)
    message = " ".join(result.stderr.split())
    assert result.returncode != 0 and "needs a Kokkos with OpenMP" in message and "built for SERIAL" in message, result
    print("refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
