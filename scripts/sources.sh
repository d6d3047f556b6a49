# Sourced by scripts/setup and scripts/collect-sources: the pinned source files, and their locations.
# shellcheck shell=bash disable=SC2154,SC2034

kokkos_version=5.0.2
kokkos_file=kokkos_$kokkos_version.orig.tar.gz
kokkos_sha256=188817bb452ca805ee8701f1c5adbbb4fb83dc8d1c50624566a18a719ba0fa5e
# Kokkos Kernels: Debian's package or the release, whichever is available.
kokkos_kernels_deb=libtrilinos-kokkos-kernels-dev_17.0.0+dfsg-5_amd64.deb
kokkos_kernels_deb_sha256=11a645e2b3468aafc62e021dd5e06559841f2a6ef6725265dbfa6bb1fd7fbb9b
kokkos_kernels_file=kokkos-kernels-$kokkos_version.tar.gz
kokkos_kernels_sha256=7c7af2c3659ecc620cc7b7016876330d9f288e8c6fd7b70b70907687df823b43
releases=https://github.com/kokkos
highway_version=1.3.0
highway_file=highway_$highway_version.orig.tar.gz
highway_sha256=07b3c1ba2c1096878a85a31a5b9b3757427af963b1141ca904db2f9f4afe0bc2
# HDF5: Debian's copy of the release, which lacks some of its examples and tests, or the release.
hdf5_version=1.14.5
hdf5_file=hdf5_$hdf5_version+repack.orig.tar.gz
hdf5_sha256=71cdb04c151ef4e8a7f88907adfc4f3b75afd44e96fbd55775e1c9d7c4e7c112
hdf5_release_file=hdf5-$hdf5_version.tar.gz
hdf5_release_sha256=ec2e13c52e60f9a01491bb3158cb3778c985697131fc6a342262d32a26e58e44
hdf5_release_address=https://support.hdfgroup.org/releases/hdf5/v1_14/v1_14_5/downloads
# cuDNN's C++ frontend: headers, the same in every wheel of a version.
cudnn_frontend_version=1.32.0
cudnn_frontend_file=nvidia_cudnn_frontend-$cudnn_frontend_version-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl
cudnn_frontend_sha256=c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0
cudnn_frontend_address=https://files.pythonhosted.org/packages/11/02/660e2dd9f9d9f940e1641443771730612c3aadaafbc5ef7a93cc313d519d

has_sha256() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$2" ]; }

download() {  # ADDRESS FILE
  if command -v curl >/dev/null; then
    curl --fail --location --silent --show-error --connect-timeout 20 --max-time 600 --output "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --timeout=20 --tries=2 --output-document="$2" "$1"
  elif [ -x /usr/lib/apt/apt-helper ]; then
    /usr/lib/apt/apt-helper download-file "$1" "$2"
  else
    echo "neither curl, wget nor apt is here to download with"
    return 1
  fi
}

# The roots of the Debian archives in this machine's apt configuration, one per line.
archive_roots() {
  command -v apt-get >/dev/null || return 0
  apt-get update --print-uris 2>/dev/null | grep -o "^'[^']*/dists/" | sed "s#^'##; s#/dists/\$##" | sort -u
}

# The addresses of PATH in the pools of those archives, one per line.
archive_addresses() {  # PATH
  local archive
  for archive in $(archive_roots); do
    echo "$archive/pool/main/$1"
  done
}

# fetch FOLDER FILE SHA256 ADDRESS...: puts the file into the folder, from MYLOS_SOURCES or the first address that has it.
fetch() {
  local folder=$1 file=$2 sha256=$3 address tried=()
  shift 3
  mkdir -p "$folder"
  has_sha256 "$folder/$file" "$sha256" && return 0
  if [ -n "${MYLOS_SOURCES:-}" ]; then
    if has_sha256 "$MYLOS_SOURCES/$file" "$sha256"; then
      cp "$MYLOS_SOURCES/$file" "$folder/$file"
      return 0
    fi
    tried+=("$MYLOS_SOURCES/$file ($([ -e "$MYLOS_SOURCES/$file" ] && echo "another sha256" || echo "no such file"))")
  fi
  for address in "$@"; do
    echo "trying $address"
    if download "$address" "$folder/$file.part"; then
      if has_sha256 "$folder/$file.part" "$sha256"; then
        mv "$folder/$file.part" "$folder/$file"
        return 0
      fi
      tried+=("$address (another sha256)")
    else
      tried+=("$address (no answer)")
    fi
    rm -f "$folder/$file.part"
  done
  echo "Could not get $file (sha256 $sha256). Tried:"
  printf '  %s\n' "${tried[@]}"
  echo "On a machine with a network:  scripts/collect-sources FOLDER   (or put the file there by hand)"
  echo "then here:                    MYLOS_SOURCES=FOLDER scripts/setup"
  return 1
}

fetch_kokkos() {  # FOLDER
  local addresses
  mapfile -t addresses < <(archive_addresses "k/kokkos/$kokkos_file")
  addresses+=("$releases/kokkos/releases/download/$kokkos_version/kokkos-$kokkos_version.tar.gz")
  fetch "$1" "$kokkos_file" "$kokkos_sha256" "${addresses[@]}"
}

# Either of the two files.
fetch_kokkos_kernels() {  # FOLDER
  local addresses
  has_sha256 "$1/$kokkos_kernels_file" "$kokkos_kernels_sha256" && return 0
  if [ -z "${MYLOS_SOURCES:-}" ] || [ ! -e "$MYLOS_SOURCES/$kokkos_kernels_file" ]; then
    mapfile -t addresses < <(archive_addresses "t/trilinos/$kokkos_kernels_deb")
    fetch "$1" "$kokkos_kernels_deb" "$kokkos_kernels_deb_sha256" "${addresses[@]}" && return 0
  fi
  fetch "$1" "$kokkos_kernels_file" "$kokkos_kernels_sha256" \
    "$releases/kokkos-kernels/releases/download/$kokkos_version/$kokkos_kernels_file"
}

fetch_highway() {  # FOLDER
  local addresses
  mapfile -t addresses < <(archive_addresses "h/highway/$highway_file")
  addresses+=("https://github.com/google/highway/releases/download/$highway_version/highway-$highway_version.tar.gz")
  fetch "$1" "$highway_file" "$highway_sha256" "${addresses[@]}"
}

# Either of the two files.
fetch_hdf5() {  # FOLDER
  local addresses
  has_sha256 "$1/$hdf5_release_file" "$hdf5_release_sha256" && return 0
  if [ -z "${MYLOS_SOURCES:-}" ] || [ ! -e "$MYLOS_SOURCES/$hdf5_release_file" ]; then
    mapfile -t addresses < <(archive_addresses "h/hdf5/${hdf5_file/+/%2b}")
    fetch "$1" "$hdf5_file" "$hdf5_sha256" "${addresses[@]}" && return 0
  fi
  fetch "$1" "$hdf5_release_file" "$hdf5_release_sha256" "$hdf5_release_address/$hdf5_release_file"
}

# First from pip, which uses the package index of this machine's configuration.
fetch_cudnn_frontend() {  # FOLDER
  has_sha256 "$1/$cudnn_frontend_file" "$cudnn_frontend_sha256" && return 0
  if [ -z "${MYLOS_SOURCES:-}" ] || [ ! -e "$MYLOS_SOURCES/$cudnn_frontend_file" ]; then
    python3 -m pip download --no-deps --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 \
      --platform manylinux_2_27_x86_64 --retries 1 --timeout 20 --dest "$1" \
      "nvidia-cudnn-frontend==$cudnn_frontend_version" &&
      has_sha256 "$1/$cudnn_frontend_file" "$cudnn_frontend_sha256" && return 0
    rm -f "$1/$cudnn_frontend_file"
  fi
  fetch "$1" "$cudnn_frontend_file" "$cudnn_frontend_sha256" "$cudnn_frontend_address/$cudnn_frontend_file"
}
