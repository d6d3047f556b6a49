# Sourced by scripts/bundle: packs the libraries of a bundle and checks that none is missing. It works on $target, packed
# from $build; $cuda_libraries is empty if CUDA's libraries are not packed, $cudnn
# if cuDNN is not.
# shellcheck shell=bash
# shellcheck disable=SC2154

# Libraries of the node, as extended regular expressions of sonames. glibc's own libraries must match the node's loader.
of_glibc='^(libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libanl|libnsl|libthread_db|ld-linux-x86-64|linux-vdso)\.so'
of_driver='^(libcuda|libnvidia-ml)\.so'
of_cuda='^(libcublasLt|libcublas|libcudart|libcupti|libnccl|libnvrtc|libnvJitLink|libcudnn(_[a-z_]*)?)\.so'

# The folder names that Open MPI and PMIx were configured with: open_mpi_folder pkglibdir
open_mpi_folder() { ompi_info --path "$1" --parsable | sed -n 's/^path:[^:]*://p'; }

# mpirun, the programs that it starts and the plugins that it loads, without SHMEM and networks other than TCP.
pack_open_mpi() {
  local plugins data pmix plugin
  plugins=$(open_mpi_folder pkglibdir)
  data=$(open_mpi_folder pkgdatadir)
  cp -L "$(command -v mpirun)" "$target/bin/mpirun"
  cp -L "$(command -v orted)" "$target/bin/orted"
  mkdir -p "$target/lib/openmpi" "$target/lib/pmix" "$target/share/openmpi" "$target/share/pmix" "$target/etc/openmpi"
  for plugin in "$plugins"/mca_*.so; do
    case "$plugin" in
      *_ofi.so | *_openib.so | *_psm.so | *_psm2.so | *_ucx.so | *_netlink.so) ;;
      */mca_atomic_* | */mca_memheap_* | */mca_scoll_* | */mca_spml_* | */mca_sshmem_* | *_monitoring.so) ;;
      *) cp -L "$plugin" "$target/lib/openmpi/" ;;
    esac
  done
  cp -L "$data"/*.txt "$target/share/openmpi/"
  cp -L "$(open_mpi_folder sysconfdir)"/openmpi-mca-params.conf "$target/etc/openmpi/"
  if [ -e "$plugins/mca_pmix_ext3x.so" ]; then  # PMIx is a separate library
    pmix=$(dirname "$(path_of libpmix.so.2 "$plugins/mca_pmix_ext3x.so")")
    pmix=$(dirname "$(readlink -f "$pmix/libpmix.so.2")")
    cp -L "$pmix"/pmix/*.so "$target/lib/pmix/"
    cp -L "$pmix"/../share/pmix/*.txt "$target/share/pmix/"
  fi
}

# A portable build's libmylos_cxx.so, and its copies in the folders from which the node's loader selects the best.
pack_copies() {
  local copy
  for copy in "$build"/lib/libmylos_cxx.so.*.*.* "$build"/lib/glibc-hwcaps/*/libmylos_cxx.so.*.*.*; do
    copy=${copy#"$build/"}
    mkdir -p "$target/$(dirname "$copy")"
    strip --strip-unneeded "$build/$copy" -o "$target/${copy%.*}" || return 1  # the name that programs load
  done
}

# path_of SONAME FILE: the path at which the loader finds SONAME for FILE; nothing if it does not.
path_of() { ldd "$2" | awk -v name="$1" '$1 == name && $3 ~ "^/" { print $3 }'; }

path_of_cublaslt() { ldd "$target/bin/mylos" | awk '$1 ~ "^libcublasLt" && $3 ~ "^/" { print $3; found = 1 } END { exit !found }'; }

files_to_run() { find "$target/bin" "$target/lib/openmpi" "$target/lib/pmix" -type f; }
stays_out() {
  grep -qE "$of_glibc" <<<"$1" || grep -qE "$of_driver" <<<"$1" ||
    { [ -z "$cuda_libraries" ] && grep -qE "$of_cuda" <<<"$1"; }
}

# The library that src/mylos/device/cuda/engines/cudnn_library.cpp loads, if the build has cuDNN and the folder too. No program is linked with it.
pack_cudnn() {  # FOLDER
  local name names=(libcudnn.so.9)
  grep -q 'libcudnn\.so\.9' "$target/bin/mylos" || return 0
  for name in graph heuristic engines_precompiled engines_runtime_compiled; do
    names+=("libcudnn_$name.so.9")
  done
  for name in "${names[@]}"; do
    [ -e "$1/$name" ] || { echo "no $name in $1: the bundle goes without cuDNN"; return 0; }
  done
  for name in "${names[@]}"; do
    cp -L "$1/$name" "$target/lib/"
  done
}

# All libraries of programs and plugins, and the libraries of those.
pack_libraries() {
  local name path version
  while read -r name path; do
    stays_out "$name" || [ -e "$target/lib/$name" ] || cp -L "$path" "$target/lib/$name"
  done < <(files_to_run | xargs ldd | awk '$3 ~ "^/" { print $1, $3 }' | sort -u)
  if [ -z "$cuda_libraries" ]; then
    touch "$target/lib/without-cuda-libraries"
  elif path=$(path_of_cublaslt); then
    # cuBLASLt loads the run-time compiler at first use.
    cp -L "$(dirname "$path")"/libnvrtc.so.[0-9]* "$(dirname "$path")"/libnvrtc-builtins.so.[0-9]* "$target/lib/"
    [ -z "$cudnn" ] || pack_cudnn "$(dirname "$path")"
  fi
  version=$(find "$target/bin" "$target/lib" -type f ! -name 'without-*' -print0 | xargs -0 readelf --version-info --wide 2>/dev/null |
    grep -oE 'GLIBC_[0-9.]+' | cut -d_ -f2 | sort -Vu | tail -n 1)
  echo "$version" >"$target/lib/glibc-version"
}

needed_by() { readelf --dynamic --wide "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# Checks that every library of a packed file is packed or belongs to the node.
check_libraries() {
  local file name missing=0
  while read -r file; do
    for name in $(needed_by "$file"); do
      [ -e "$target/lib/$name" ] || stays_out "$name" || {
        echo "missing: $name, which ${file#"$target/"} needs; install the package that has it on this machine"
        missing=1
      }
    done
  done < <(find "$target/bin" "$target/lib" -type f)
  return $missing
}

node_also_needs() {
  local names
  names=$(find "$target/bin" -type f -name mylos | while read -r file; do needed_by "$file"; done)
  grep -qE "$of_driver" <<<"$names" && printf ', the NVIDIA driver'
  [ -n "$cuda_libraries" ] || printf ', %s' "$(grep -E "$of_cuda" <<<"$names" | tr '\n' ' ')"
  return 0
}
