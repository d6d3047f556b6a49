# Sourced by scripts/setup: Mylos' dependencies, packages (packages.sh) and those that are built from source here.
# shellcheck shell=bash disable=SC2154
# shellcheck source=scripts/sources.sh
. "$root/scripts/sources.sh"
# shellcheck source=scripts/packages.sh
. "$root/scripts/packages.sh"

# The folder of built dependencies; the same rule as in scripts/kokkos-prefix.
open_cache() {
  export MYLOS_CACHE=${MYLOS_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/mylos}
  mkdir -p "$MYLOS_CACHE" 2>/dev/null && [ -w "$MYLOS_CACHE" ] && return
  say "FAILED: the cache folder $MYLOS_CACHE cannot be written. Name another:  export MYLOS_CACHE=FOLDER"
  exit 1
}

find_hipcc() { command -v hipcc || ls "${ROCM_PATH:-/opt/rocm}/bin/hipcc" 2>/dev/null; }

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
provide_kokkos() {  # openmp | serial | threads (Kokkos' own, under the thread sanitizer) | cuda ARCH | hip ARCH
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

# The Kokkos that libmylos.so of a portable build contains: archives for any processor. A site's Kokkos is a shared library there.
provide_kokkos_archive() {
  host_arch=NONE CMAKE_PREFIX_PATH='' Kokkos_ROOT='' provide_kokkos openmp
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
  if [ "$2" = hip ]; then
    options+=(-DKokkos_ENABLE_HIP=ON "-DKokkos_ARCH_$3=ON" -DKokkos_ENABLE_ROCTHRUST=OFF)
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

# ---- HDF5: an archive that libmylos.so contains, optional -------------------------------------------------------

provide_hdf5() {
  local prefix label="HDF5 $hdf5_version, for libmylos.so"
  prefix=$("$root/scripts/kokkos-prefix" --hdf5)
  if [ -e "$prefix/complete" ]; then
    row "$label" "already built"
  elif fetch_hdf5 "$MYLOS_CACHE/sources" >>"$log" 2>&1 </dev/null; then
    step "$label" build_hdf5 "$prefix"
  else
    row "$label" "not to be had; it will load a shared one ($log)"
  fi
}

# Only the C library, serial, with zlib: what Mylos calls. Its functions are in separate sections, so that libmylos.so takes
# those that it calls.
build_hdf5() {  # PREFIX
  local prefix=$1 work=$MYLOS_CACHE/build-hdf5 file=$MYLOS_CACHE/sources/$hdf5_file
  has_sha256 "$file" "$hdf5_sha256" || file=$MYLOS_CACHE/sources/$hdf5_release_file
  rm -rf "$work" "$prefix"
  mkdir -p "$work/source"
  tar -xzf "$file" -C "$work/source" --strip-components=1 &&
    cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_C_COMPILER="$(command -v "${CC:-cc}")" -DCMAKE_INSTALL_PREFIX="$prefix" -DHDF5_INSTALL_LIB_DIR=lib \
      -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG -ffunction-sections -fdata-sections" \
      -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_TESTING=OFF -DHDF5_NO_PACKAGES=ON \
      -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF \
      -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_ENABLE_PARALLEL=OFF -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON \
      -DHDF5_ENABLE_NONSTANDARD_FEATURE_FLOAT16=OFF &&
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
