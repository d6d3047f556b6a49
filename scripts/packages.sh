# Sourced by scripts/dependencies.sh: the distribution's packages, how to detect them, and how to install missing ones.
# shellcheck shell=bash disable=SC2154

# Debian package | description | how to detect it from other sources (any of command:, header: or python:) | needed?
requirements='
g++|C++20 compiler (GCC >= 12)|command:c++|needed
cmake|CMake >= 3.25|cmake:3.25|needed
ninja-build|Ninja|command:ninja|needed
ccache|ccache|command:ccache|optional
libopenmpi-dev|MPI, headers|command:mpicc|needed
openmpi-bin|MPI, mpirun|command:mpirun|needed
libhdf5-dev|HDF5 >= 1.10.8, serial or parallel|command:h5cc h5pcc|needed
hdf5-tools|HDF5 tools (h5dump)|command:h5dump|optional
libfmt-dev|fmt|header:fmt/format.h|needed
libtomlplusplus-dev|toml++|header:toml++/toml.h|needed
libcli11-dev|CLI11|header:CLI/CLI.hpp|needed
nlohmann-json3-dev|JSON for Modern C++|header:nlohmann/json.hpp|needed
librandom123-dev|Random123|header:Random123/philox.h|needed
libxxhash-dev|xxHash >= 0.8|header:xxhash.h|needed
zlib1g-dev|zlib|header:zlib.h|needed
libdeflate-dev|libdeflate (faster CRC-32)|header:libdeflate.h|optional
libpng-dev|libpng (mylos prepare images)|header:png.h|optional
libturbojpeg0-dev|libjpeg-turbo (mylos prepare images)|header:turbojpeg.h|optional
libonnx-dev|ONNX definitions (mylos export)|header:onnx/onnx-ml.pb.h|optional
libprotobuf-dev|protobuf (mylos export)|header:google/protobuf/message.h|optional
libgtest-dev|GoogleTest|header:gtest/gtest.h|needed
libgmock-dev|GoogleMock|header:gmock/gmock.h|needed
libbenchmark-dev|Google Benchmark|header:benchmark/benchmark.h|needed
libdnnl-dev|oneDNN|header:dnnl.hpp|optional
ocl-icd-opencl-dev|OpenCL loader (oneDNN asks for it)|header:CL/cl.h|optional
gfortran|Fortran compiler, for tests of the Fortran module|command:gfortran|optional
pkgconf|pkg-config, for tests of makefiles|command:pkg-config|optional
dataset-fashion-mnist|Fashion-MNIST, for the demo|file:/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz|optional
python3-numpy|NumPy|python:numpy|optional
python3-h5py|h5py|python:h5py|optional
python3-xxhash|xxhash for Python|python:xxhash|optional
python3-matplotlib|Matplotlib|python:matplotlib|optional
python3-pil|Pillow, for tests of images|python:PIL|optional
python3-venv|virtual environments of Python, for tests of ONNX files|python:ensurepip|optional
xz-utils|xz|command:xz|needed
'

# Clang's OpenMP is a separate package.
case "$(basename "${CXX:-c++}")" in
  *clang*) requirements+='clang|C++20 compiler (Clang >= 14)|command:clang++|needed
libomp-dev|OpenMP of Clang|openmp:|needed
' ;;
esac

has_header() {
  local folder IFS=:
  for folder in ${CPATH:-} ${CPLUS_INCLUDE_PATH:-} ${C_INCLUDE_PATH:-} /usr/include /usr/local/include; do
    [ -e "$folder/$1" ] && return 0
  done
  IFS=':;'
  for folder in ${CMAKE_PREFIX_PATH:-}; do
    [ -e "$folder/include/$1" ] && return 0
  done
  return 1
}

has_command() {  # NAME...: any of them, in PATH or below HDF5_ROOT
  local name
  for name in "$@"; do
    PATH=$PATH${HDF5_ROOT:+:$HDF5_ROOT/bin} command -v "$name" >/dev/null && return 0
  done
  return 1
}

is_present() {  # PACKAGE PROBE
  if command -v dpkg-query >/dev/null &&
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; then
    return 0
  fi
  # shellcheck disable=SC2086
  case "$2" in
    command:*) has_command ${2#command:} ;;
    header:*) has_header "${2#header:}" ;;
    openmp:) echo '#include <omp.h>' | "$CXX" -fopenmp -x c++ -fsyntax-only - 2>/dev/null ;;
    file:*) [ -e "${2#file:}" ] ;;
    python:*) /usr/bin/env python3 -c "import ${2#python:}" 2>/dev/null ;;
    cmake:*) command -v cmake >/dev/null && version_at_least "$(cmake --version | grep -o -m 1 '[0-9.]*[0-9]')" "${2#cmake:}" ;;
  esac
}

version_at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# Sets missing (packages), needed_missing and missing_lines (for people).
find_missing_packages() {
  local package what probe need
  missing=() needed_missing=() missing_lines=()
  while IFS='|' read -r package what probe need; do
    [ -n "$package" ] || continue
    is_present "$package" "$probe" && continue
    missing+=("$package")
    [ "$need" = needed ] && needed_missing+=("$package")
    missing_lines+=("$(package_line "$package" "$what" "$need")")
  done <<<"$requirements"
}

package_line() { printf '    %-36s %-9s Debian: %s' "$2" "$3" "$1"; }  # PACKAGE WHAT NEED

# Installs missing packages if possible (root and apt); otherwise lists them and how a site can provide them.
install_packages() {
  local missing needed_missing missing_lines output=
  find_missing_packages
  if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    step "${#missing[@]} packages" try_apt "${missing[@]}"
    output=" (what apt said is in $log)"
    find_missing_packages
  fi
  if [ ${#missing[@]} -eq 0 ]; then
    row "packages" "all there"
    return
  fi
  say ""
  say "Not on this machine$output:"
  printf '%s\n' "${missing_lines[@]}"
  if [ ${#needed_missing[@]} -eq 0 ]; then
    say "None of them is needed to build; going on without."
    return
  fi
  say ""
  say "Packages are installed here only by root, from an archive that apt can reach. Elsewhere, one of:"
  say "  * ask the administrator:  apt-get install ${missing[*]}"
  say "  * load the site's modules (compiler, CMake, MPI, HDF5), or use Spack or conda; then name the"
  say "    folders of libraries that are in no standard place:  export CMAKE_PREFIX_PATH=FOLDER:FOLDER"
  say "  * Kokkos, Kokkos Kernels and Highway: built by this script, or a site's own through CMAKE_PREFIX_PATH;"
  say "    without a network, from the folder that scripts/collect-sources filled:  export MYLOS_SOURCES=FOLDER"
  say "Then run scripts/setup again. docs/how-to/install.md has the whole list."
  say "FAILED: ${#needed_missing[@]} needed package(s) missing."
  exit 1
}

# Packages that could not be installed are reported later; optional ones must not end a set-up without network.
try_apt() {
  export DEBIAN_FRONTEND=noninteractive
  apt_knows "$@" || apt-get update || true
  apt-get install --yes --no-install-recommends "$@" || true
}

apt_knows() { apt-get install --simulate --no-install-recommends "$@" >/dev/null 2>&1; }
