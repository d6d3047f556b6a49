"""Spack recipe. From a source tree: spack repo add packaging/spack && spack install mylos@0.1.0 (docs/how-to/install.md)."""

import pathlib

from spack.package import *

# Spack 1.0 moved the build systems out of spack.package.
try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.rocm import ROCmPackage
except ImportError:
    pass


class Mylos(CMakePackage, CudaPackage, ROCmPackage):
    """Mixed-precision neural-network training on Kokkos and MPI, with HDF5 in and HDF5 out."""

    # The clone that this recipe lies in, at its last commit. A recipe that was copied elsewhere names its clone here.
    git = pathlib.Path(__file__).resolve().parents[4].as_uri()

    license("Apache-2.0")

    version("0.1.0")

    variant("portable", default=True, description="One build for every x86-64 node", when="~cuda ~rocm target=x86_64:")
    variant("onednn", default=True, description="Fast products on hosts", when="~cuda ~rocm")
    variant("nccl", default=True, description="NCCL between NVIDIA devices", when="+cuda")
    variant("rccl", default=True, description="RCCL between AMD devices", when="+rocm")
    variant("kokkos_kernels", default=False, description="Products by Kokkos Kernels, on any backend")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    generator("ninja")

    depends_on("mpi@3:")
    depends_on("hdf5@1.10.8:")  # serial or parallel
    # Loops that Kokkos launches are compiled for what Kokkos was, which it takes from Spack's target. A portable build has
    # copies of them for newer processors, and one Kokkos, for any processor, beside them.
    depends_on("kokkos@5.0: +openmp +serial cxxstd=20")
    depends_on("kokkos +shared", when="+portable")
    # libmylos.so, for C and Fortran, contains Kokkos as an archive. In a portable build that is a second build of the same Kokkos:
    # scripts/setup makes it of this file. HDF5's package has an archive.
    depends_on("kokkos ~shared +pic", when="~portable")
    depends_on("kokkos@5.0.2", when="+portable")
    resource(
        name="kokkos",
        url="https://github.com/kokkos/kokkos/releases/download/5.0.2/kokkos-5.0.2.tar.gz",
        sha256="188817bb452ca805ee8701f1c5adbbb4fb83dc8d1c50624566a18a719ba0fa5e",
        expand=False,
        placement="sources",
        when="+portable",
    )
    requires("target=x86_64", when="+portable", msg="mylos +portable is for any processor: target=x86_64")
    depends_on("kokkos ~cuda", when="~cuda")
    depends_on("kokkos ~rocm", when="~rocm")
    depends_on("kokkos-kernels@5.0:", when="+kokkos_kernels")
    depends_on("onednn@2.6: cpu_runtime=omp", when="+onednn")
    depends_on("highway@1.3:", when="~cuda ~rocm")
    depends_on("fmt@9:")
    depends_on("tomlplusplus@3.3:")
    depends_on("cli11@2.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("random123@1.14:")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("libdeflate")
    depends_on("libpng@1.6:")
    depends_on("libjpeg-turbo@2.1:")
    depends_on("googletest@1.12: +gmock", type="test")

    depends_on("cuda@13:", when="+cuda")
    depends_on("nccl@2.18:", when="+nccl")
    conflicts("cuda_arch=none", when="+cuda", msg="mylos +cuda needs one cuda_arch, as Kokkos does")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos +cuda +wrapper cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
        depends_on(f"nccl cuda_arch={arch}", when=f"+nccl cuda_arch={arch}")

    depends_on("hip@6.2:", when="+rocm")
    depends_on("hipblaslt@6.2:", when="+rocm")
    depends_on("rccl@6.2:", when="+rccl")
    conflicts("+rocm", when="+cuda", msg="mylos is for devices of one vendor, as Kokkos is")
    for arch in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos +rocm amdgpu_target={arch}", when=f"+rocm amdgpu_target={arch}")
        depends_on(f"hipblaslt amdgpu_target={arch}", when=f"+rocm amdgpu_target={arch}")
        depends_on(f"rccl amdgpu_target={arch}", when=f"+rccl amdgpu_target={arch}")

    conflicts("%gcc@:11", msg="C++20 of GCC 12 or later")
    conflicts("%clang@:13", msg="C++20 of Clang 14 or later")

    @run_before("cmake")
    def build_archives(self):
        source = pathlib.Path(self.stage.source_path)
        archive = source / "sources/kokkos-5.0.2.tar.gz"
        if not archive.exists():  # ~portable, or spack dev-build
            return
        archive.rename(archive.with_name("kokkos_5.0.2.orig.tar.gz"))  # its name in Debian's archive
        Executable(str(source / "scripts/setup"))("--only-kokkos-archive", extra_env={"MYLOS_SOURCES": str(archive.parent)})

    def setup_build_environment(self, env):
        env.set("MYLOS_CACHE", join_path(self.stage.path, "cache"))  # of this build alone

    def cmake_args(self):
        processor = "PORTABLE" if self.spec.satisfies("+portable") else "NATIVE"
        args = [
            self.define("Mylos_HOST_ARCH", processor),
            self.define_from_variant("Mylos_ENABLE_CUDA", "cuda"),
            self.define_from_variant("Mylos_ENABLE_HIP", "rocm"),
            self.define("Mylos_ENABLE_CUBLASLT", self.spec.satisfies("+cuda")),
            self.define("Mylos_ENABLE_HIPBLASLT", self.spec.satisfies("+rocm")),
            self.define("Mylos_ENABLE_IMAGES", True),
            self.define("Mylos_ENABLE_LIBDEFLATE", True),
            self.define("Mylos_ENABLE_ONNX", False),  # its protobuf would be one more for a site to agree on
            self.define("Mylos_ENABLE_NCCL", self.spec.satisfies("+nccl")),
            self.define("Mylos_ENABLE_RCCL", self.spec.satisfies("+rccl")),
            self.define("Mylos_ENABLE_ONEDNN", self.spec.satisfies("+onednn")),
            self.define_from_variant("Mylos_ENABLE_KOKKOSKERNELS", "kokkos_kernels"),
            self.define("Mylos_ENABLE_TESTS", self.run_tests),
            self.define("Mylos_ENABLE_PERF", False),
            self.define("CMAKE_UNITY_BUILD", True),  # several source files as one: a fraction of the time
        ]
        if self.spec.satisfies("+rocm"):
            args.append(self.define("CMAKE_CXX_COMPILER", self.spec["hip"].hipcc))
        return args
