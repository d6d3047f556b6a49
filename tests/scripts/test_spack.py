"""packaging/spack: what the recipes ask for is to be had, from Spack's own packages or from recipes beside them.

usage: test_spack.py REPOSITORY
Without a `spack` in PATH the recipes are read, and compared with the versions that Spack's packages had on the day below;
with one, Spack also concretises the lines of docs/how-to/install.md.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

# The newest versions in the repository spack-packages, read on 2026-11-26 in a copy of 2026-07-01 (commit 1e8cf05).
PACKAGES_OF_SPACK = {
    "cli11": "2.6.1", "cmake": "4.3.3", "cuda": "13.3.0", "fmt": "12.1.0", "googletest": "1.17.0", "hdf5": "2.1.0",
    "highway": "1.2.0", "hip": "7.2.3", "hipblaslt": "7.2.3", "kokkos": "5.1.1", "kokkos-kernels": "5.1.1", "libdeflate": "1.25", "libjpeg-turbo": "3.1.3",
    "libpng": "1.6.58", "nccl": "2.29.7", "ninja": "1.13.2", "nlohmann-json": "3.12.0", "onednn": "3.0",
    "random123": "1.14.0", "rccl": "7.2.3", "tomlplusplus": "3.4.0", "xxhash": "0.8.3",
}
WITHOUT_VERSION = {"c", "cxx", "mpi", "zlib-api"}  # virtual: many packages provide them

SPECS = ["mylos@0.1.0 target=x86_64", "mylos@0.1.0 ~portable target=x86_64_v3", "mylos@0.1.0 +cuda cuda_arch=90 target=x86_64_v3",
         "mylos@0.1.0 +rocm amdgpu_target=gfx90a target=x86_64_v3"]


class Recipe:
    """A package.py, run with directives that only write down what they are given."""

    def __init__(self, folder):
        self.versions, self.needs, self.variants, self.resources, self.file = {}, [], {}, [], folder / "package.py"
        package = types.ModuleType("spack.package")
        package.version = lambda name, **options: self.versions.update({name: options})
        package.depends_on = lambda spec, **options: self.needs.append((spec, options.get("when", "")))
        package.variant = lambda name, **options: self.variants.update({name: options})
        package.resource = lambda **options: self.resources.append(options)
        package.run_before = lambda phase: lambda function: function
        for name in ("license", "generator", "conflicts", "requires"):
            setattr(package, name, lambda *words, **options: None)
        bases = {"cmake": "CMakePackage", "cuda": "CudaPackage", "rocm": "ROCmPackage"}
        architectures = {"cuda_arch_values": ("80", "90"), "amdgpu_targets": ("gfx90a", "gfx942")}
        modules = {"spack": types.ModuleType("spack"), "spack.package": package}
        for name, base in bases.items():
            modules[f"spack_repo.builtin.build_systems.{name}"] = types.SimpleNamespace(
                **{base: type(base, (), architectures)})
        modules["spack_repo.builtin.packages.highway.package"] = types.SimpleNamespace(Highway=type("Highway", (), {}))
        for name in list(modules):
            while name := name.rpartition(".")[0]:
                modules.setdefault(name, types.ModuleType(name))
        sys.modules.update(modules)
        scope = {"__file__": str(self.file), "__name__": "recipe"}
        exec(compile(self.file.read_text(), self.file, "exec"), scope)
        name = "".join(word.capitalize() for word in folder.name.split("_"))
        self.package = scope[name]


class Built:
    """What cmake_args() asks of a package that is built, with every variant that `having` has."""

    run_tests = True
    hipcc = "hipcc"

    def __init__(self, having):
        self.having, self.spec = having, self

    def __getitem__(self, dependency):
        return self

    def satisfies(self, variant):
        return variant.removeprefix("+") in self.having

    def define(self, name, value):
        return name, value

    def define_from_variant(self, name, variant):
        return name, variant in self.having


def numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)]


def check_versions(recipe, own):
    for spec, _ in recipe.needs:
        name, least = re.match(r"([a-z0-9-]+)(?:@([\d.]+):)?", spec).groups()
        if name in WITHOUT_VERSION:
            continue
        assert name in PACKAGES_OF_SPACK, f"{name} is not known to be in Spack"
        newest = max([PACKAGES_OF_SPACK[name], *own.get(name, {})], key=numbers)
        assert numbers(newest) >= numbers(least or "0"), f"{spec}: Spack has {newest} at most"


def check_highway(recipe, repository):
    pinned = dict(re.findall(r"^highway_(version|sha256)=(\S+)$", (repository / "scripts/sources.sh").read_text(), re.M))
    version = recipe.versions[pinned["version"]]
    assert version["sha256"] == pinned["sha256"] and pinned["version"] in version["url"], version


def check_mylos(recipe, repository):
    assert recipe.package.git == repository.as_uri(), recipe.package.git
    project = re.search(r"project\(Mylos VERSION (\S+)", (repository / "CMakeLists.txt").read_text()).group(1)
    assert list(recipe.versions) == [project], recipe.versions
    for name in ("kokkos", "nccl"):  # else their recipes refuse, or Spack leaves them out
        assert any(spec.startswith(f"{name} ") and "cuda_arch=90" in spec and "cuda_arch=90" in when
                   for spec, when in recipe.needs), name
    for name in ("kokkos", "hipblaslt", "rccl"):
        assert any(spec.startswith(f"{name} ") and "amdgpu_target=gfx90a" in spec and "amdgpu_target=gfx90a" in when
                   for spec, when in recipe.needs), name
    pinned = dict(re.findall(r"^kokkos_(version|sha256)=(\S+)$", (repository / "scripts/sources.sh").read_text(), re.M))
    [kokkos] = recipe.resources
    assert kokkos["sha256"] == pinned["sha256"] and pinned["version"] in kokkos["url"], kokkos
    assert (f"kokkos@{pinned['version']}", "+portable") in recipe.needs, "libmylos.so contains the Kokkos of the headers"
    options = (repository / "cmake/MylosOptions.cmake").read_text()
    for having in ({"portable", "onednn"}, {"cuda", "nccl", "kokkos_kernels"}, {"rocm", "rccl"}):
        given = dict(recipe.package.cmake_args(Built(having)))
        assert given.pop("CMAKE_CXX_COMPILER", "") == ("hipcc" if "rocm" in having else ""), given
        assert given.pop("CMAKE_UNITY_BUILD") is True, given
        assert [given["Mylos_ENABLE_HIP"], given["Mylos_ENABLE_RCCL"]] == ["rocm" in having] * 2, given
        for name in given:
            assert re.search(rf"^(set|option)\({name} ", options, re.M), f"{name} is no option of the build"


def concretise(repository):
    with tempfile.TemporaryDirectory() as scope:
        (pathlib.Path(scope) / "repos.yaml").write_text(f"repos:\n  mylos: {repository}/packaging/spack\n")
        for spec in SPECS:
            result = subprocess.run(["spack", "-C", scope, "spec", *spec.split()], text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT)
            assert result.returncode == 0, f"{spec}\n{result.stdout}"
            wanted = ["highway@1.3.0", "kokkos@", "onednn@"]
            if "+cuda" in spec:
                wanted = ["nccl@", "kokkos@"]
            elif "+rocm" in spec:
                wanted = ["rccl@", "hipblaslt@", "kokkos@"]
            missing = [package for package in wanted if f"^{package}" not in result.stdout]
            assert not missing, f"{spec}: {missing} missing\n{result.stdout}"


def main():
    repository = pathlib.Path(sys.argv[1]).resolve()
    packages = repository / "packaging/spack/packages"
    recipes = {folder.name: Recipe(folder) for folder in packages.iterdir() if (folder / "package.py").exists()}
    own = {name: recipe.versions for name, recipe in recipes.items()}
    check_mylos(recipes["mylos"], repository)
    check_versions(recipes["mylos"], own)
    check_highway(recipes["highway"], repository)
    if shutil.which("spack"):
        concretise(repository)
        print("Spack concretises the recipe")
    else:
        print("no spack here: the recipe was read, and compared with the packages that Spack had on 2026-07-01")


if __name__ == "__main__":
    main()
