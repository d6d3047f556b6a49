"""scripts/setup on a machine without a network: run in a network namespace that has no route.

usage: test_air_gap.py REPOSITORY [--full]     --full builds Kokkos and Highway there, and configures Mylos with it
Ends with 77 (skipped) where such a namespace may not be made, or where the source files are not to be had.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
KOKKOS = "kokkos_5.0.2.orig.tar.gz"


# What runs first in the namespace: MPI wants a loopback interface, as every machine has one. SIOCSIFFLAGS, IFF_UP.
LOOPBACK_UP = """
import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, struct.pack("16sh14x", b"lo", 1))
os.execvp(sys.argv[1], sys.argv[1:])
"""


def without_network():
    """The command that starts another one in a namespace of its own; None where that is not permitted."""
    for options in (["--net"], ["--map-root-user", "--net"]):
        command = ["unshare", *options, sys.executable, "-c", LOOPBACK_UP]
        if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return None


class Machine:
    """A cache folder of its own, and no library but the system's."""

    def __init__(self, repository, namespace, folder):
        self.repository, self.namespace, self.folder = repository, namespace, folder
        self.cache = folder / "cache"
        hidden = ("MYLOS_", "CMAKE_PREFIX_PATH", "Kokkos_ROOT")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        self.environment["MYLOS_CACHE"] = str(self.cache)

    def run(self, *command, **variables):
        environment = self.environment | {key: str(value) for key, value in variables.items()}
        return subprocess.run([*self.namespace, *command], env=environment, cwd=self.repository, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def setup(self, **variables):
        return self.run(self.repository / "scripts/setup", **variables)

    def prefix(self, *arguments):
        return pathlib.Path(self.run(self.repository / "scripts/kokkos-prefix", *arguments).stdout.strip())

    def kokkos_prefix(self):
        return self.prefix(os.environ.get("CXX", "c++"), "openmp")


def require(condition, what, result):
    if not condition:
        sys.exit(f"FAILED: {what}; code {result.returncode}, output:\n{result.stdout}")


def takes_any_hdf5(repository, folder):
    """What scripts/setup takes for an HDF5: a serial or a parallel one, in PATH or HDF5_ROOT; here without Debian's packages."""
    tools, root = folder / "tools", folder / "hdf5"
    (root / "bin").mkdir(parents=True)
    tools.mkdir()

    def missing(variables):
        script = (f'root={repository}; . scripts/dependencies.sh; requirements=$(grep HDF5.*needed <<<"$requirements"); '
                  f"hash -r; PATH={tools}; find_missing_packages; echo ${{needed_missing[@]}}")
        return subprocess.run(["bash", "-c", script], cwd=repository, env={"PATH": os.environ["PATH"]} | variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    without = missing({})
    require(without.stdout.split() == ["libhdf5-dev"], "the serial package is named where there is none", without)
    for place, name, variables in ((tools, "h5cc", {}), (tools, "h5pcc", {}), (root / "bin", "h5cc", {"HDF5_ROOT": str(root)})):
        tool = place / name
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
        found = missing(variables)
        require(found.stdout.split() == [], f"{tool} is one", found)
        tool.unlink()


def says_what_is_missing(machine):
    nothing = machine.folder / "nothing"
    nothing.mkdir()
    result = machine.setup(MYLOS_SOURCES=nothing)
    require(result.returncode == 1, "set-up without sources must fail", result)
    for words in (f"{nothing}/{KOKKOS} (no such file)", "(no answer)", "scripts/collect-sources", "sha256 1888"):
        require(words in result.stdout, f"'{words}' is expected", result)


def refuses_other_bytes(machine):
    damaged = machine.folder / "damaged"
    damaged.mkdir()
    (damaged / KOKKOS).write_bytes(b"not these bytes")
    result = machine.setup(MYLOS_SOURCES=damaged)
    require(result.returncode == 1, "set-up with a damaged file must fail", result)
    require(f"{damaged}/{KOKKOS} (another sha256)" in result.stdout, "the damaged file must be named", result)
    require(not (machine.cache / "sources" / KOKKOS).exists(), "the damaged file must not be kept", result)


def collects(machine, sources):
    """The files as scripts/collect-sources leaves them; None where there is no place that has them."""
    collected = machine.folder / "collected"
    command = [machine.repository / "scripts/collect-sources", collected]
    environment = machine.environment | ({"MYLOS_SOURCES": str(sources)} if sources else {})
    result = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        return None
    require("HDF5" in (collected / "packages.txt").read_text(), "packages.txt must list HDF5", result)
    return collected


# In cmake's place: it looks for the unpacked source and makes the prefix, without a compiler.
NO_BUILD = """#!/bin/sh
case $1 in
  -G) [ -f "$4/hwy/highway.h" ] && for word; do
        case $word in -DCMAKE_INSTALL_PREFIX=*) mkdir -p "${word#*=}" ;; esac
      done ;;
  --build | --install) ;;
  *) exec CMAKE "$@" ;;
esac
"""


def installs_from_the_folder_alone(machine, collected):
    """The builds themselves are left out: Kokkos passes for built, and Highway's source is unpacked."""
    prefix = machine.kokkos_prefix()
    prefix.mkdir(parents=True)
    (prefix / "complete").touch()
    tools = machine.folder / "no-build"
    tools.mkdir()
    (tools / "cmake").write_text(NO_BUILD.replace("CMAKE ", f"{shutil.which('cmake')} "), encoding="utf-8")
    (tools / "cmake").chmod(0o755)
    result = machine.setup(MYLOS_SOURCES=collected, PATH=f"{tools}:{machine.environment['PATH']}")
    require(result.returncode == 0, "set-up from the folder must succeed", result)
    header = machine.cache / "kokkos-kernels-5.0.2/include/KokkosBlas3_gemm.hpp"
    require(header.exists(), "the headers of Kokkos Kernels must be there", result)
    highway = machine.prefix("--highway", os.environ.get("CXX", "c++"))
    require((highway / "complete").exists(), "Highway's source must be there", result)
    shutil.rmtree(machine.cache)


def builds_from_the_folder_alone(machine, collected):
    result = machine.setup(MYLOS_SOURCES=collected)
    require(result.returncode == 0, "set-up from the folder must succeed", result)
    require((machine.kokkos_prefix() / "complete").exists(), "Kokkos must be built", result)
    highway = machine.prefix("--highway", os.environ.get("CXX", "c++"))
    require((highway / "lib/libhwy.a").exists(), "Highway must be built", result)
    result = machine.run("cmake", "-G", "Ninja", "-S", machine.repository, "-B", machine.folder / "build",
                         "-DMylos_ENABLE_CUDA=OFF")
    require(result.returncode == 0, "the configuration must succeed", result)
    require(str(machine.cache) in result.stdout, "this Kokkos must be taken", result)


def main():
    repository, full = pathlib.Path(sys.argv[1]).resolve(), "--full" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        takes_any_hdf5(repository, pathlib.Path(folder))
    namespace = without_network()
    if namespace is None:
        print("Skipped: this user may not make a network namespace.")
        return SKIPPED
    if any(list(pathlib.Path(prefix).glob("lib*/**/cmake/Kokkos")) for prefix in ("/usr", "/usr/local")):
        print("Skipped: set-up builds no Kokkos where the machine has one.")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(repository, namespace, pathlib.Path(folder))
        if not full:
            says_what_is_missing(machine)
            refuses_other_bytes(machine)
        # What this machine was itself set up from; the long test may download.
        own = os.environ.get("MYLOS_CACHE", pathlib.Path.home() / ".cache/mylos")
        sources = os.environ.get("MYLOS_SOURCES", pathlib.Path(own) / "sources")
        if not full and not (pathlib.Path(sources) / KOKKOS).exists():
            print("The source files are not on this machine: only the messages were checked.")
            return 0
        collected = collects(machine, sources)
        if collected is None:
            print("Skipped: the source files can be had nowhere.")
            return SKIPPED
        (builds_from_the_folder_alone if full else installs_from_the_folder_alone)(machine, collected)
    return 0


sys.exit(main())
