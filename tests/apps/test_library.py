"""The library as another program meets it: installed, moved, found by CMake, and trained with beside other work.

usage: test_library.py MYLOS BUILD SOURCE CMAKE CXX [FOLDER...]     FOLDERs: of CMAKE_PREFIX_PATH
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "docs"))
import blocks
from support.command import Command, environment
from support.run_folders import weights_of


def call(*arguments, **options):
    line = list(map(str, arguments))
    result = subprocess.run(line, env=environment(), capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{line}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def install(build, source, cmake, folder):
    """The prefix, in another place than where it was installed; none of its text names the build."""
    call(cmake, "--install", build, "--prefix", folder / "first")
    prefix = folder / "prefix"
    (folder / "first").rename(prefix)
    for path in prefix.rglob("*"):
        if path.suffix in (".cmake", ".hpp"):
            text = path.read_text(encoding="utf-8")
            assert str(source) not in text and str(build) not in text, f"{path} names the source or build tree"
    return prefix


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def check_components(prefix, build, cmake, folder):
    """Each installs without the others, and the three are the whole."""
    found = {}
    for component in ("command", "library", "development"):
        call(cmake, "--install", build, "--component", component, "--prefix", folder / component)
        found[component] = files_below(folder / component)
    assert found["command"] == {"bin/mylos"}, found["command"]
    assert "include/mylos/mylos.hpp" in found["development"], found["development"]
    assert all("lib" in pathlib.Path(name).name for name in found["library"]) and found["library"], found["library"]
    assert set().union(*found.values()) == files_below(prefix)
    assert sum(map(len, found.values())) == len(files_below(prefix)), "no file belongs to two components"


def check_what_is_not_built_is_said(build, cmake, folder):
    """As where `mylos` alone was built: the script of `cmake --install`, with a library that is not there."""
    script = (build / "src/cmake_install.cmake").read_text(encoding="utf-8")
    (folder / "install.cmake").write_text(re.sub(r"/libmylos(_cxx)?\.(a|so[.\d]*)", r"/libmylos-of-tomorrow.\2", script), encoding="utf-8")
    result = subprocess.run([cmake, f"-DCMAKE_INSTALL_PREFIX={folder}/nothing", "-P", folder / "install.cmake"],
                            capture_output=True, text=True)
    text = " ".join(result.stderr.split())
    assert result.returncode != 0 and f"cmake --install {build} --component command" in text, text
    assert not (folder / "nothing").exists(), "nothing is installed then"


def check_another_hdf5_is_refused(prefix, source, cmake, compiler, others, folder):
    """A program that finds another version of HDF5 than Mylos has."""
    package = folder / "other_hdf5"
    shutil.copytree(prefix, package)
    [config] = package.rglob("MylosConfig.cmake")
    text = config.read_text(encoding="utf-8")
    if re.search(r"if\(NOT (1|ON|TRUE)\)  # a shared", text):
        return  # a shared library names its own
    changed = re.sub(r'HDF5_VERSION VERSION_EQUAL "[\d.]+"', 'HDF5_VERSION VERSION_EQUAL "9.8.7"', text)
    config.write_text(changed.replace("Mylos was built with HDF5 ", "Mylos was built with HDF5 9.8.7, not "), encoding="utf-8")
    result = subprocess.run([cmake, "-S", source / "apps/embedded", "-B", folder / "refused", f"-DCMAKE_CXX_COMPILER={compiler}",
                             f"-DCMAKE_PREFIX_PATH={';'.join([str(package), *others])}"], capture_output=True, text=True)
    message = " ".join(result.stderr.split())
    assert result.returncode != 0 and "Mylos was built with HDF5 9.8.7" in message and "HDF5_ROOT" in message, message


def kokkos_of(build):
    """The folder of the package that Mylos was built with."""
    return re.search(r"^Kokkos_DIR:PATH=(.*)$", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]


def check_kokkos(prefix, build, source, cmake, compiler, others, folder):
    """A program may bring the Kokkos that Mylos was built with, as the page shows, and no other version or kind of it."""
    [text] = ["\n".join(lines) for _, lines in blocks.blocks_of(source / "docs/reference/library.md")
              if lines[0].startswith("cmake_minimum_required") and "find_package(Mylos 0.1 REQUIRED)" in lines]
    project = folder / "documented"
    project.mkdir()
    shutil.copy(source / "apps/embedded/embedded.cpp", project / "solver.cpp")
    line = [cmake, "-S", project, "-B", folder / "documented_build", f"-DCMAKE_CXX_COMPILER={compiler}",
            f"-DCMAKE_PREFIX_PATH={';'.join([str(prefix), *others])}", f"-DKokkos_DIR={kokkos_of(build)}"]
    (project / "CMakeLists.txt").write_text(text + "\n", encoding="utf-8")
    call(*line)

    [header] = [path for path in pathlib.Path(kokkos_of(build)).parents[2].rglob("KokkosCore_config.h")]
    known = header.read_text(encoding="utf-8")
    other = folder / "other_kokkos"
    other.mkdir()
    target = f'add_library(Kokkos::kokkos INTERFACE IMPORTED)\ntarget_include_directories(Kokkos::kokkos INTERFACE "{other}")'
    (project / "CMakeLists.txt").write_text(text.replace("find_package(Kokkos 5.0 REQUIRED)", f"{target} #") + "\n", encoding="utf-8")
    for changed, part in ((re.sub(r"(KOKKOS_VERSION_MINOR) \d+", r"\1 9", known), "is version 5.9."),
                          (known + "#define KOKKOS_ENABLE_DEBUG_BOUNDS_CHECK\n", "has KOKKOS_ENABLE_DEBUG_BOUNDS_CHECK"),
                          (known.replace("#define KOKKOS_ENABLE_COMPLEX_ALIGN", ""), "lacks KOKKOS_ENABLE_COMPLEX_ALIGN")):
        (other / "KokkosCore_config.h").write_text(changed, encoding="utf-8")
        result = subprocess.run(line, capture_output=True, text=True)
        message = " ".join(result.stderr.split())
        assert result.returncode != 0 and "Mylos was built with Kokkos 5." in message and part in message, message
        assert "set Kokkos_ROOT to it" in message and "add_subdirectory" in message, message


def build_outside(prefix, source, cmake, compiler, others, folder):
    """apps/embedded, by its own CMakeLists.txt, against the installed prefix."""
    shutil.copytree(source / "apps" / "embedded", folder / "embedded")
    search = ";".join([str(prefix), *others])
    call(cmake, "-S", folder / "embedded", "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release",
         "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={search}")
    assert str(source) not in (folder / "build" / "compile_commands.json").read_text(encoding="utf-8")
    call(cmake, "--build", folder / "build")
    return folder / "build" / "embedded"


def largest_difference(a, b):
    assert a.keys() == b.keys() and a
    return max(numpy.abs(a[name] - b[name]).max() for name in a)


def law(x, y):
    return numpy.sin(3 * x) * numpy.cos(2 * y)


def check_same_samples_same_weights(program):
    """The same samples of each step, by 1, 2 and 3 ranks."""
    deck = program.text("embedded/surrogate.toml")
    deck = deck.replace("steps = 1000", "steps = 60").replace('"fp16"', '"fp32"')
    program.write("short.toml", deck)
    trained = {}
    for ranks in (1, 2, 3):
        program.must("short.toml", ranks=ranks)
        trained[ranks] = weights_of(program.folder / "surrogate.h5")
    for ranks in (2, 3):
        assert largest_difference(trained[1], trained[ranks]) < 1e-5, largest_difference(trained[1], trained[ranks])


def check_learns(program):
    output = program.must("embedded/surrogate.toml", ranks=3).stdout
    assert "3 ranks, at most 384 samples" in output, output
    loss, samples = re.search(r"loss ([\d.]+) over (\d+) samples", output).groups()
    assert float(loss) < 1e-4 and samples == "384", output


def check_command_reads_it(command):
    """info, eval and predict take the checkpoint as one of their own."""
    assert "hidden1/weight" in command.must("info", "surrogate.h5").stdout
    x, y = (values.ravel() for values in numpy.meshgrid(numpy.linspace(-0.99, 0.99, 100), numpy.linspace(-0.99, 0.99, 100)))
    table = numpy.stack([x, y, law(x, y)], axis=1)
    numpy.savetxt(command.folder / "cells.csv", table, delimiter=",", header="x,y,truth", comments="")
    command.must("prepare", "csv", "cells.csv", "--targets", "truth", "--out", "cells.h5")
    loss = float(re.search(r"loss ([\d.e-]+)", command.must("eval", "surrogate.h5", "--data", "cells.h5").stdout).group(1))
    assert loss < 1e-4, loss
    command.must("predict", "surrogate.h5", "cells.h5", "outputs.h5")
    with h5py.File(command.folder / "outputs.h5") as file:
        error = ((file["outputs"][:, 0] - table[:, 2])**2).mean()
    assert abs(loss - error) < 0.1 * error, (loss, error)


def main(mylos, build, source, cmake, compiler, *others):
    build, source = pathlib.Path(build), pathlib.Path(source)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        prefix = install(build, source, cmake, folder)
        check_components(prefix, build, cmake, folder)
        check_what_is_not_built_is_said(build, cmake, folder)
        check_another_hdf5_is_refused(prefix, source, cmake, compiler, others, folder)
        check_kokkos(prefix, build, source, cmake, compiler, others, folder)
        program = Command(build_outside(prefix, source, cmake, compiler, others, folder), folder)
        check_same_samples_same_weights(program)
        check_learns(program)
        check_command_reads_it(Command(prefix / "bin" / pathlib.Path(mylos).name, folder))
    print("installed, found, trained with and read again")


if __name__ == "__main__":
    main(*sys.argv[1:])
