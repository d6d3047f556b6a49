"""A bundle of this build runs where nothing is installed: in a root folder with a shell, a C library and nothing else.

usage: test_bundle.py REPOSITORY BUILD
Ends with 77 (skipped) where such a root may not be entered.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SKIPPED = 77
# What DIR/start uses, and what looks at its results.
TOOLS = ("sh", "readlink", "dirname", "grep", "sed", "sort", "tr", "cat", "ls", "mount")
GLIBC = re.compile(r"(libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|ld-linux-x86-64|libnss_\w+)\.so")


def run(*command, **more):
    return subprocess.run([*map(str, command)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, **more)


def require(condition, what, process):
    if not condition:
        sys.exit(f"FAILED: {what}\ncode {process.returncode}\n{process.stdout}")


class BareRoot:
    """A root folder. The tools' own libraries lie beside the C library, none of them is one that mylos needs."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("bin", "lib64", "lib/x86_64-linux-gnu", "proc", "sys", "dev", "tmp", "opt", "etc", "root"):
            (folder / name).mkdir(parents=True)
        (folder / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (folder / "etc/hosts").write_text("127.0.0.1 localhost\n")
        libraries = set(pathlib.Path("/lib/x86_64-linux-gnu").glob("lib*.so.[0-9]"))
        copied = [library for library in libraries if GLIBC.match(library.name)]
        for tool in TOOLS:
            path = pathlib.Path(shutil.which(tool))
            shutil.copy(path, folder / "bin" / tool)
            copied += [pathlib.Path(name) for name in re.findall(r"=> (/\S+)", run("ldd", path).stdout)]
        for library in copied:
            shutil.copy(library, folder / "lib/x86_64-linux-gnu" / library.name)
        shutil.copy("/lib64/ld-linux-x86-64.so.2", folder / "lib64")

    def run(self, *command):
        enter = ["unshare", "--mount", "--pid", "--fork", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        prepare = (f"mount --rbind /dev {self.folder}/dev && mount --rbind /sys {self.folder}/sys && "
                   f"mount -t proc proc {self.folder}/proc && "
                   f"exec chroot {self.folder} \"$@\"")
        variables = {"PATH": "/bin", "HOME": "/root", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_PROC_BIND": "false", "OMP_NUM_THREADS": "1"}
        settings = [f"{key}={value}" for key, value in variables.items()]
        return run(*enter, "sh", "-c", prepare, "sh", "/usr/bin/env", "-i", *settings, *command)


def check_what_is_built(repository, folder):
    """For every x86-64 node, unless told otherwise, with a setup and a cmake that only write down what they are asked."""
    (folder / "scripts").mkdir(parents=True)
    for name in ("bundle", "bundle-libraries.sh", "progress.sh"):
        shutil.copy(repository / "scripts" / name, folder / "scripts")
    for name in ("scripts/setup", "cmake"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >>"{folder}/asked"\n')
        (folder / name).chmod(0o755)
    for options, variables, preset, processor in (([], {}, "cuda-portable", "NONE"), (["--host"], {}, "portable", "PORTABLE"),
                                                  ([], {"MYLOS_HOST_ARCH": "HSW"}, "cuda-portable", "HSW")):
        here = {name: value for name, value in os.environ.items() if name != "MYLOS_HOST_ARCH"}
        packed = run(folder / "scripts/bundle", *options, folder / "bundle",
                     env=here | {"PATH": f"{folder}:{os.environ['PATH']}"} | variables)
        setup, configure, make = (folder / "asked").read_text().splitlines()
        (folder / "asked").unlink()
        require(packed.returncode == 2 and "is not there" in packed.stdout, "nothing was built", packed)
        require(setup.endswith(f"--arch={processor}") and ("--cuda" in setup) == (not options), setup, packed)
        require(f"--preset {preset} -DMylos_HOST_ARCH={processor} " in configure, configure, packed)
        require(f"--preset {preset} " in make and "mylos device_tests" in make, make, packed)


def main():
    repository, build = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="mylos-bundle-") as place:
        check_what_is_built(repository, pathlib.Path(place))
    with tempfile.TemporaryDirectory(prefix="mylos-bundle-") as place:
        place = pathlib.Path(place)
        root = BareRoot(place / "root")
        (root.folder / "usr/bin").mkdir(parents=True)
        shutil.copy("/usr/bin/env", root.folder / "usr/bin/env")
        if root.run("ls", "/").returncode != 0:
            print("no bare root can be entered here")
            sys.exit(SKIPPED)

        packed = run(repository / "scripts/bundle", "--host", "--build", build, place / "packed" / "mylos-bundle")
        require(packed.returncode == 0, "scripts/bundle packs this build", packed)
        for script in ("gpu-check", "profile-device"):
            usage = run(sys.executable, place / "packed/mylos-bundle/scripts" / script, "--help")
            require(usage.returncode == 0 and "--budget" in usage.stdout, f"{script} has all that it imports", usage)
        with tarfile.open(place / "packed/mylos-bundle.tar.gz") as archive:
            archive.extractall(root.folder / "opt")
        (root.folder / "opt/mylos-bundle").rename(root.folder / "opt/else where")
        shutil.rmtree(place / "packed")
        bundle = "/opt/else where"

        version = root.run(f"{bundle}/mylos", "--version")
        require(version.returncode == 0 and "OpenMP" in version.stdout, "the command starts", version)
        here = run(build / "bin/mylos", "--version", env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1"})
        require(version.stdout == here.stdout, f"it runs the code of the build:\n{here.stdout}", version)
        train = [f"{bundle}/mylos", "train", f"{bundle}/inputs/gpt_shakespeare_cpu.toml", "schedule.warmup=0",
                 f"data.train={bundle}/data/shakespeare.h5", "run.steps=4", "run.evaluate_every=0", "data.validation=0.0"]
        alone = root.run(*train, "run.folder=/tmp/alone")
        require(alone.returncode == 0 and "done" in alone.stdout, "one rank trains", alone)
        mpirun = [f"{bundle}/mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"]
        both = root.run(*mpirun, *train, "run.folder=/tmp/both")
        require(both.returncode == 0 and "2 ranks" in both.stdout, "two ranks train", both)
        require("help file" not in both.stdout, "Open MPI finds its texts", both)
        nonsense = root.run(f"{bundle}/mpirun", "-n", "2", "--no-such-option", f"{bundle}/mylos")
        require("no-such-option" in nonsense.stdout and "help file" not in nonsense.stdout, "Open MPI says what is wrong",
                nonsense)

        program = root.folder / "opt/else where/bin/mylos"
        contents = program.read_bytes()
        program.write_bytes(contents.replace(b"GLIBC_2.34\0", b"GLIBC_9.99\0"))  # of a machine of tomorrow
        old = root.run(f"{bundle}/mylos", "--version")
        require(old.returncode == 2 and "C library of this machine is older" in old.stdout, "an old C library is named", old)
        program.write_bytes(contents)
        (root.folder / "opt/else where/lib/libfmt.so.9").rename(place / "libfmt.so.9")
        broken = root.run(f"{bundle}/mylos", "--version")
        require(broken.returncode == 2 and "libfmt.so.9" in broken.stdout, "a library that is missing is named", broken)
    print("the bundle runs in a bare root")


if __name__ == "__main__":
    main()
