# Sourced by scripts/setup: Mylos' dependencies, how to detect them, and how to install missing ones.
# shellcheck shell=bash disable=SC2154
# shellcheck source=scripts/sources.sh
. "$root/scripts/sources.sh"

# The folder of built dependencies; the same rule as in scripts/kokkos-prefix.
open_cache() {
  export MYLOS_CACHE=${MYLOS_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/mylos}
  mkdir -p "$MYLOS_CACHE" 2>/dev/null && [ -w "$MYLOS_CACHE" ] && return
  say "FAILED: the cache folder $MYLOS_CACHE cannot be written. Name another:  export MYLOS_CACHE=FOLDER"
  exit 1
}

# ---- Packages ----------------------------------------------------------------------------------------------------

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
  say "Then run scripts/setup again. docs/install.md has the whole list."
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

find_nvcc() { command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null; }

# ---- Kokkos ------------------------------------------------------------------------------------------------------

# Finds an installed Kokkos with this backend, in the same places as CMake's find_package.
installed_kokkos() {  # BACKEND
  local prefix folder IFS=':;'
  for prefix in ${Kokkos_ROOT:-} ${CMAKE_PREFIX_PATH:-} /usr/local /usr; do
    for folder in "$prefix"/lib*/cmake/Kokkos "$prefix"/lib/*/cmake/Kokkos; do
      if grep -qi "set(Kokkos_DEVICES.*$1" "$folder/KokkosConfigCommon.cmake" 2>/dev/null &&
        grep -q 'PACKAGE_VERSION "[5-9]' "$folder/KokkosConfigVersion.cmake"; then
        echo "$prefix"
        return 0
      fi
    done
  done
  return 1
}

# host_arch: Kokkos' name of the target processor: NATIVE this machine's, NONE any, PORTABLE any and as shared libraries.
provide_kokkos() {  # openmp | serial | threads (Kokkos' own, under the thread sanitizer) | cuda ARCH
  local label prefix
  label="Kokkos $kokkos_version, ${1/openmp/host}"
  [ "$host_arch" = NATIVE ] || label="$label $host_arch"
  if [[ $1 != serial && $1 != threads ]] && prefix=$(installed_kokkos "$1"); then
    row "Kokkos, ${1/openmp/host}" "installed at $prefix"
    return
  fi
  prefix=$("$root/scripts/kokkos-prefix" "--arch=$host_arch" "${CXX:-c++}" "$@")
  if [ -e "$prefix/complete" ]; then
    row "$label" "already built"
    return
  fi
  step "Kokkos $kokkos_version, source" fetch_kokkos "$MYLOS_CACHE/sources"
  step "$label, build" build_kokkos "$prefix" "$@"
}

build_kokkos() {  # PREFIX BACKEND [ARCH]
  local prefix=$1 work=$MYLOS_CACHE/build-kokkos options=()
  case "$2" in
    serial) options=(-DKokkos_ENABLE_SERIAL=ON) ;;
    threads) options=(-DKokkos_ENABLE_THREADS=ON "-DCMAKE_CXX_FLAGS=-fsanitize=thread -O1 -g1") ;;
    *) options=(-DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=ON -DCMAKE_POSITION_INDEPENDENT_CODE=ON) ;;
  esac
  case "$host_arch" in
    NONE) ;;
    PORTABLE) options+=(-DBUILD_SHARED_LIBS=ON) ;;  # one Kokkos for all copies of libmylos_cxx.so
    *) options+=("-DKokkos_ARCH_$host_arch=ON") ;;
  esac
  if [ "$2" = cuda ]; then
    PATH=$(dirname "$(find_nvcc)"):$PATH
    options+=(-DKokkos_ENABLE_CUDA=ON "-DKokkos_ARCH_$3=ON")
  fi
  # In few files, because most of the time goes into reading its headers for each file, above all with nvcc.
  options+=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
  rm -rf "$work" "$prefix"
  mkdir -p "$work/source"
  tar -xzf "$MYLOS_CACHE/sources/$kokkos_file" -C "$work/source" --strip-components=1 &&
    knows_architecture "$work/source" &&
    cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 \
      -DCMAKE_CXX_COMPILER="$(command -v "${CXX:-c++}")" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
      "${options[@]}" &&
    cmake --build "$work/build" --parallel "$(build_jobs)" &&
    cmake --install "$work/build" &&
    rm -rf "$work" &&
    touch "$prefix/complete"
}

# Kokkos ignores unknown names.
knows_architecture() {  # SOURCE
  local names
  names=$(sed -n 's/^declare_and_check_host_arch(\([A-Z0-9_]*\) .*/\1/p' "$1/cmake/kokkos_arch.cmake")
  case "$host_arch" in NONE | PORTABLE) return ;; esac
  grep -qx "$host_arch" <<<"$names" && return
  echo "Kokkos has no architecture $host_arch. It has: NONE" $names "and, for copies of the library, PORTABLE"
  return 1
}

# ---- Highway -----------------------------------------------------------------------------------------------------

installed_highway() {
  local prefix folder IFS=':;'
  for prefix in ${hwy_ROOT:-} ${CMAKE_PREFIX_PATH:-} /usr/local /usr; do
    for folder in "$prefix"/lib*/cmake/hwy "$prefix"/lib/*/cmake/hwy; do
      if grep -qE 'PACKAGE_VERSION "1\.([3-9]|[1-9][0-9])' "$folder/hwy-config-version.cmake" 2>/dev/null; then
        echo "$prefix"
        return 0
      fi
    done
  done
  return 1
}

provide_highway() {
  local label="Highway $highway_version" prefix
  if prefix=$(installed_highway); then
    row "Highway" "installed at $prefix"
    return
  fi
  prefix=$("$root/scripts/kokkos-prefix" --highway "${CXX:-c++}")
  if [ -e "$prefix/complete" ]; then
    row "$label" "already built"
    return
  fi
  step "$label, source" fetch_highway "$MYLOS_CACHE/sources"
  step "$label, build" build_highway "$prefix"
}

# For any processor: Highway detects the processor at run time.
build_highway() {  # PREFIX
  local prefix=$1 work=$MYLOS_CACHE/build-highway
  rm -rf "$work" "$prefix"
  mkdir -p "$work/source"
  tar -xzf "$MYLOS_CACHE/sources/$highway_file" -C "$work/source" --strip-components=1 &&
    cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_CXX_COMPILER="$(command -v "${CXX:-c++}")" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
      -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
      -DHWY_ENABLE_CONTRIB=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_TESTS=OFF &&
    cmake --build "$work/build" --parallel "$(build_jobs)" &&
    cmake --install "$work/build" &&
    rm -rf "$work" &&
    touch "$prefix/complete"
}

# ---- Kokkos Kernels: only headers --------------------------------------------------------------------------------

provide_kokkos_kernels() {
  local prefix label="Kokkos Kernels $kokkos_version, headers"
  prefix=$("$root/scripts/kokkos-prefix" --kernels)
  if cmp -s "$root/cmake/KokkosKernels_config.h" "$prefix/include/KokkosKernels_config.h"; then
    row "$label" "already there"
    return
  fi
  step "$label" install_kokkos_kernels "$prefix"
}

install_kokkos_kernels() {  # PREFIX
  local prefix=$1 work=$MYLOS_CACHE/build-kokkos-kernels sources=$MYLOS_CACHE/sources
  fetch_kokkos_kernels "$sources" || return 1
  rm -rf "$work" "$prefix"
  mkdir -p "$work/include"
  if has_sha256 "$sources/$kokkos_kernels_deb" "$kokkos_kernels_deb_sha256"; then
    unpack_deb "$sources/$kokkos_kernels_deb" "$work" || return 1
    cp -r "$work"/usr/include/trilinos/. "$work/include"
  else
    tar -xzf "$sources/$kokkos_kernels_file" -C "$work" || return 1
    gather_headers "$work"/kokkos-kernels*/ "$work/include" || return 1
  fi
  empty_generated_headers "$work/include"
  cp "$root/cmake/KokkosKernels_config.h" "$work/include/"
  mkdir -p "$prefix"
  mv "$work/include" "$prefix/include" && rm -rf "$work"
}

unpack_deb() {  # DEB FOLDER
  if command -v dpkg-deb >/dev/null; then
    dpkg-deb -x "$1" "$2"
  else
    (cd "$2" && ar x "$1" && tar -xf data.tar.*)
  fi
}

# Kokkos Kernels' source tree has its headers in COMPONENT/src, impl and tpls; installed, they are in one folder.
gather_headers() {  # SOURCE INCLUDE
  local folder
  find "$1" -type d \( -name src -o -name impl -o -name tpls -o -name eti \) -not -path '*/unit_test*' -not -path '*/perf_test*' |
    sort | while read -r folder; do cp -r "$folder"/. "$2"; done
}

# Creates empty files in place of those that declare the pre-built kernels of a compiled Kokkos Kernels.
empty_generated_headers() {  # INCLUDE
  local name
  rm -rf "$1/generated_specializations_hpp"
  mkdir "$1/generated_specializations_hpp"
  grep -rhoE '#include *<generated_specializations_hpp/[^>]*>' "$1" | sed 's/.*hpp\/\(.*\)>/\1/' | sort -u |
    while read -r name; do : >"$1/generated_specializations_hpp/$name"; done
}

# ---- cuDNN's C++ frontend: only headers, optional ----------------------------------------------------------------

provide_cudnn_frontend() {
  local prefix label="cuDNN frontend $cudnn_frontend_version, headers"
  prefix=$("$root/scripts/kokkos-prefix" --cudnn-frontend)
  if [ -e "$prefix/include/cudnn_frontend.h" ]; then
    row "$label" "already there"
  elif install_cudnn_frontend "$prefix" >>"$log" 2>&1 </dev/null; then
    row "$label" "there"
  else
    row "$label" "not to be had; going on without ($log)"
  fi
}

install_cudnn_frontend() {  # PREFIX
  local prefix=$1 work=$MYLOS_CACHE/build-cudnn-frontend sources=$MYLOS_CACHE/sources
  fetch_cudnn_frontend "$sources" || return 1
  rm -rf "$work" "$prefix"
  mkdir -p "$work" "$prefix"
  # A wheel is a zip file.
  python3 -m zipfile -e "$sources/$cudnn_frontend_file" "$work" &&
    mv "$work/include" "$prefix/include" &&
    rm -rf "$work"
}
