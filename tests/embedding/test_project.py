"""Mylos in another project: it uses the Kokkos and the MPI of that project, builds the library alone, and changes none of the
project's settings. What does not fit is refused when CMake configures. The CMakeLists.txt of docs/reference/library.md work.

usage: test_project.py MYLOS [--full] SOURCE LIBRARY CMAKE CXX KOKKOS_DIR [FOLDER...]     FOLDERs: of CMAKE_PREFIX_PATH
LIBRARY: libmylos.a of this build, which the project links in place of what it would compile for minutes.
--full: the project builds all; also configures one that contains Kokkos' source, where its archive is
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "apps"), str(HERE.parent / "docs")]
import blocks
from support.command import Command, environment


class Projects:
    """Projects in one folder, configured by the same compiler and packages."""

    def __init__(self, folder, source, cmake, compiler, kokkos, prefixes):
        self.folder, self.source, self.cmake = folder, pathlib.Path(source), cmake
        self.variables = {"CMAKE_BUILD_TYPE": "Release", "CMAKE_CXX_COMPILER": compiler, "CMAKE_PREFIX_PATH": ";".join(prefixes),
                          "CMAKE_EXPORT_COMPILE_COMMANDS": "ON", "MYLOS_SOURCE": source}
        self.kokkos = {"Kokkos_DIR": kokkos}

    def configure(self, project, build, **variables):
        given = [f"-D{name}={value}" for name, value in {**self.variables, **variables}.items() if value]
        return subprocess.run([self.cmake, "-G", "Ninja", "-S", project, "-B", self.folder / build, *given],
                              env=environment(), capture_output=True, text=True)

    def accepted(self, project, build, **variables):
        result = self.configure(project, build, **self.kokkos, **variables)
        assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
        return result.stdout

    def refused(self, build, parts, before="", after="", **variables):
        """By a message with these parts; before, after: code of CMake before and after Mylos is added."""
        for name, code in (("BEFORE", before), ("AFTER", after)):
            if code:
                (self.folder / f"{build}.{name}.cmake").write_text(code, encoding="utf-8")
                variables[name] = self.folder / f"{build}.{name}.cmake"
        result = self.configure(HERE / "project", build, **variables)
        message = " ".join(result.stderr.split())
        assert result.returncode != 0 and all(part in message for part in parts), f"{result.stdout}\n{result.stderr}"

    def call(self, *arguments):
        result = subprocess.run(list(map(str, arguments)), env=environment(), capture_output=True, text=True)
        assert result.returncode == 0, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result.stdout


def stated_kokkos(folder, version, *backends):
    """Code of CMake that makes the target Kokkos::kokkos of a header with these lines."""
    major, minor, patch = version.split(".")
    include = folder / f"kokkos-{version}-{'-'.join(backends)}"
    include.mkdir()
    lines = [f"#define KOKKOS_VERSION_MAJOR {major}", f"#define KOKKOS_VERSION_MINOR {minor}", f"#define KOKKOS_VERSION_PATCH {patch}",
             *(f"#define KOKKOS_ENABLE_{backend}" for backend in backends)]
    (include / "KokkosCore_config.h").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"""add_library(Kokkos::kokkos INTERFACE IMPORTED)
target_include_directories(Kokkos::kokkos INTERFACE "{include}")
"""


def check_own_kokkos(projects):
    """Nothing but the library is built, nothing is installed, and the project's settings are its own."""
    printed = projects.accepted(HERE / "project", "own")
    assert "of the project" in printed and "Changed settings: <>" in printed, printed
    build = projects.folder / "own"
    commands = (build / "compile_commands.json").read_text(encoding="utf-8")
    files = re.findall(r'"file": "(.*)"', commands)
    assert files and not any(re.search(r"/(tests|perf|apps/mylos)/|Kokkos_Core\.cpp$", file) for file in files), files
    linked = re.search(r"build programs/solver:.*", (build / "build.ninja").read_text(encoding="utf-8"))[0]
    assert linked.count("libkokkoscore") == 1, linked
    assert not (build / "mylos/CTestTestfile.cmake").exists(), "Mylos adds tests"
    projects.call(projects.cmake, "--install", build, "--prefix", projects.folder / "nothing")
    assert not (projects.folder / "nothing").exists(), "a project decides what it installs"


def check_refusals(projects):
    folder = projects.folder
    projects.refused("old", ["needs Kokkos 5.0 or later", "4.7.1", "the project's"],
                     before=stated_kokkos(folder, "4.7.1", "OPENMP", "SERIAL"))
    projects.refused("serial", ["needs a Kokkos with OpenMP", "built for SERIAL", "Kokkos_ENABLE_OPENMP=ON"],
                     before=stated_kokkos(folder, "5.0.2", "SERIAL"))
    projects.refused("mpi", ["MPI::MPI_C", "mpicc"], before="find_package(Kokkos REQUIRED)\n",
                     CMAKE_DISABLE_FIND_PACKAGE_MPI="ON", **projects.kokkos)
    projects.refused("second", ["two Kokkos", "before Mylos"], before="set(of_the_project 1)\n",
                     after=stated_kokkos(folder, "5.1.0", "OPENMP"), **projects.kokkos)


def check_documented_projects(projects):
    """The complete CMakeLists.txt of the page that contain Mylos; test_library.py has the third, of an installed one."""
    page = projects.source / "docs/reference/library.md"
    found = {}
    for _, lines in blocks.blocks_of(page):
        for way in ("add_subdirectory(mylos)", "FetchContent_MakeAvailable(Mylos)"):
            if lines[0].startswith("cmake_minimum_required") and way in lines:
                found[way] = "\n".join(lines) + "\n"
    assert len(found) == 2, f"{page} shows a complete CMakeLists.txt for each way"
    for number, text in enumerate(found.values()):
        project = projects.folder / f"page{number}"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(text, encoding="utf-8")
        (project / "mylos").symlink_to(projects.source)
        shutil.copy(projects.source / "apps/embedded/embedded.cpp", project / "solver.cpp")
        printed = projects.accepted(project, f"page{number}_build", FETCHCONTENT_SOURCE_DIR_MYLOS=projects.source)
        assert "of the project" in printed, printed


def link_with(projects, library):
    """The project's program by its own command lines, and this library."""
    build = projects.folder / "own"
    [compiled] = set(re.findall(r"^build (CMakeFiles/solver\.dir/\S+\.o):", (build / "build.ninja").read_text(encoding="utf-8"), re.M))
    projects.call("ninja", "-C", build, compiled)
    shutil.copy(library, build / "mylos/src/libmylos.a")
    linked = projects.call("ninja", "-C", build, "-t", "commands", "programs/solver").splitlines()[-1]
    subprocess.run(linked, shell=True, cwd=build, check=True)


def check_trains(projects):
    """By the project's Kokkos and MPI, on one rank and on two."""
    deck = (projects.source / "apps/embedded/surrogate.toml").read_text(encoding="utf-8")
    (projects.folder / "short.toml").write_text(deck.replace("steps = 1000", "steps = 60"), encoding="utf-8")
    solver = Command(projects.folder / "own/programs/solver", projects.folder)
    for ranks in (1, 2):
        loss = float(re.search(r"loss ([\d.]+) over 384 samples", solver.must("short.toml", ranks=ranks).stdout)[1])
        assert loss < 0.1, loss


def check_kokkos_inside(projects):
    """A project that contains Kokkos' source: Mylos uses its targets."""
    folders = [os.environ.get("MYLOS_SOURCES", ""), pathlib.Path.home() / ".cache/mylos/sources"]
    archives = [path for folder in folders if folder for path in pathlib.Path(folder).glob("kokkos_*.orig.tar.gz")]
    if not archives:
        print("no archive of Kokkos: a project that contains its source is not tried")
        return
    with tarfile.open(archives[0]) as archive:
        archive.extractall(projects.folder / "kokkos")
    [source] = (projects.folder / "kokkos").iterdir()
    before = projects.folder / "inside.cmake"
    before.write_text(f'set(Kokkos_ENABLE_OPENMP ON)\nadd_subdirectory("{source}" kokkos)\n', encoding="utf-8")
    printed = projects.accepted(HERE / "project", "inside", BEFORE=before)
    assert "OPENMP] of the project" in printed, printed
    linked = re.search(r"build programs/solver:.*", (projects.folder / "inside/build.ninja").read_text(encoding="utf-8"))[0]
    assert linked.count(" kokkos/core/src/libkokkoscore.a") >= 1 and "/lib/libkokkoscore" not in linked, linked


def main(_mylos, *arguments):
    full = arguments[0] == "--full"
    source, library, cmake, compiler, kokkos, *prefixes = arguments[full:]
    with tempfile.TemporaryDirectory() as scratch:
        projects = Projects(pathlib.Path(scratch), source, cmake, compiler, kokkos, prefixes)
        check_own_kokkos(projects)
        check_refusals(projects)
        check_documented_projects(projects)
        if full:
            projects.call(cmake, "--build", projects.folder / "own")
            check_kokkos_inside(projects)
        elif library.endswith(".a"):
            link_with(projects, library)
        if full or library.endswith(".a"):
            check_trains(projects)
    print("other projects contain Mylos with their own Kokkos")


if __name__ == "__main__":
    main(*sys.argv[1:])
