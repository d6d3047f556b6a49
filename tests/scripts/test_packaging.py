"""packaging/apptainer and packaging/easybuild: what they name exists, in the version of this source.

usage: test_packaging.py REPOSITORY [BUILD_FOLDER]
With `eb` in PATH (EasyBuild 5, and a modules tool), EasyBuild also checks the recipes and resolves all dependencies; with
shellcheck, the definition's scripts are read by it. Where dpkg is, the libraries of BUILD_FOLDER's command must be in packages
that the image installs.
"""

import pathlib
import re
import shutil
import subprocess
import sys


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def project_version(repository):
    return re.search(r"project\(Mylos VERSION (\S+)", (repository / "CMakeLists.txt").read_text()).group(1)


def options_of_the_build(repository):
    return set(re.findall(r"^(?:set|option)\((Mylos_\w+)", (repository / "cmake/MylosOptions.cmake").read_text(), re.M))


class Stage:
    """A stage of a definition: its header and its sections."""

    def __init__(self, text):
        parts = re.split(r"^%([a-z]+)(.*)\n", text, flags=re.M)
        self.header = dict(re.findall(r"^(\w+): (\S+)$", parts[0], re.M))
        self.sections = {name: (words.split(), body) for name, words, body in zip(parts[1::3], parts[2::3], parts[3::3])}

    def script(self, name):
        return self.sections[name][1]


def check_definition(repository, build):
    version = project_version(repository)
    text = (repository / "packaging/apptainer/mylos.def").read_text()
    first, final = [Stage(part) for part in re.split(r"^(?=Bootstrap: )", text, flags=re.M)[1:]]
    assert (first.header["Stage"], final.header["Stage"]) == ("build", "final"), (first.header, final.header)
    assert final.sections["files"][0] == ["from", first.header["Stage"]], final.sections["files"]
    assert first.header["From"] == final.header["From"], "the libraries of the build must be those of the image"
    assert set(re.findall(r"mylos-(\d[\d.]*\d)", text)) == {version} and f"Version {version}" in final.script("labels"), version
    for stage in (first, final):
        for name in ("post", "environment", "runscript", "test"):
            if name in stage.sections:
                check_script(name, stage.script(name))
    steps = first.script("post")
    for script in re.findall(r"^\s*(scripts/\S+)", steps, re.M):
        assert (repository / script).exists(), f"no {script}"
    assert set(re.findall(r"-D(Mylos_\w+)", steps)) <= options_of_the_build(repository), steps
    prefix = re.search(r"--prefix (\S+)", steps).group(1)
    assert prefix in final.script("files").split() and f"{prefix}/bin" in final.script("environment"), prefix
    if build:
        check_libraries(final.script("post"), build / "bin/mylos")


def check_script(name, script):
    shell = run("sh", "-n", "-c", script)
    assert shell.returncode == 0, f"%{name}\n{shell.stdout}"
    if shutil.which("shellcheck"):
        found = run("shellcheck", "--shell=dash", "-", input=script)
        assert found.returncode == 0, f"%{name}\n{found.stdout}"


def check_libraries(steps, command):
    """Of the build at hand, which has the same libraries but for HDF5, which a portable build loads."""
    if not (shutil.which("dpkg") and command.exists() and 'VERSION_ID="12"' in pathlib.Path("/etc/os-release").read_text()):
        return
    installed = set(re.search(r"--no-install-recommends ((?:.|\n)*?)\n\s*rm ", steps).group(1).replace("\\", "").split())
    needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", command).stdout)
    paths = dict(re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", command).stdout, re.M))
    for library in needed:
        place = pathlib.Path(paths.get(library, "/nowhere")).resolve()
        owner = run("dpkg", "-S", place)
        package = owner.stdout.split(":")[0] if owner.returncode == 0 else None
        if package not in (None, "libc6", "libgcc-s1", "libsz2"):  # libsz2: a dependency of libhdf5-103-1
            assert package in installed, f"the image lacks {package}, for {library}"


def read_recipe(path):
    """An easyconfig is Python that assigns; EasyBuild's constants are words here."""
    scope = {name: name for name in ("SYSTEM", "SOURCELOWER_TAR_GZ", "V_VERSION_TAR_GZ")}
    exec(compile(path.read_text(), path, "exec"), scope)
    return scope


def check_recipes(repository):
    folder = repository / "packaging/easybuild"
    recipes = {path.name: read_recipe(path) for path in folder.glob("*.eb")}
    for name, recipe in recipes.items():
        toolchain = recipe["toolchain"]
        assert name == f"{recipe['name']}-{recipe['version']}-{toolchain['name']}-{toolchain['version']}.eb", name
    mylos = next(recipe for name, recipe in recipes.items() if name.startswith("Mylos-"))
    assert mylos["version"] == project_version(repository), mylos["version"]
    assert set(re.findall(r"-D(Mylos_\w+)", mylos["configopts"])) <= options_of_the_build(repository), mylos["configopts"]
    wanted = {name: version for name, version, *_ in mylos["builddependencies"] + mylos["dependencies"]}
    for recipe in recipes.values():
        if recipe is not mylos:
            assert wanted[recipe["name"]] == recipe["version"], recipe["name"]
    command = re.search(r"^#\s+(git archive .*)$", (folder / f"Mylos-{mylos['version']}-gompi-{mylos['toolchain']['version']}.eb")
                        .read_text(), re.M).group(1)
    assert f"mylos-{mylos['version']}.tar.gz" in command, command


def check_by_easybuild(repository):
    if not shutil.which("eb"):
        print("No eb in PATH: the recipes were read, not checked by EasyBuild.")
        return
    folder = repository / "packaging/easybuild"
    options = ["--allow-use-as-root-and-accept-consequences", f"--robot={folder}:"]
    for words in (["--check-contrib"], ["--dry-run"]):
        result = run("eb", *options, *words, *sorted(folder.glob("*.eb")))
        assert result.returncode == 0, result.stdout
        lost = [line for line in result.stdout.splitlines() if "missing" in line.lower() or "FAIL" in line]
        assert not lost, result.stdout
    assert "module: Mylos/" in result.stdout and "module: Kokkos/" in result.stdout, result.stdout


def main():
    repository = pathlib.Path(sys.argv[1]).resolve()
    check_definition(repository, pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    check_recipes(repository)
    check_by_easybuild(repository)
    return 0


sys.exit(main())
