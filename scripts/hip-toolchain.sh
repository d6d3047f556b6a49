# Sourced by scripts/check-hip: AMD's compiler and libraries from Debian's experimental archive, unpacked into a folder of the
# cache. Nothing is installed on the machine; scripts/in-hip-toolchain runs commands there.
# shellcheck shell=bash disable=SC2154

# What the folder is to have. Only the headers of hipBLASLt and RCCL: their libraries are 600 MB of code for devices.
hip_packages=(hipcc libamdhip64-dev lld-22 libomp-22-dev cmake ninja-build ccache libopenmpi-dev openmpi-bin libhdf5-dev libfmt-dev
  libtomlplusplus-dev libcli11-dev nlohmann-json3-dev librandom123-dev libxxhash-dev zlib1g-dev libgtest-dev libgmock-dev
  bash coreutils sed grep findutils git mawk tar gzip)
hip_headers=(libhipblaslt-dev libhipblas-common-dev librccl-dev)

# Puts the toolchain into the cache. Returns 77 where no archive of this machine has it.
provide_hip_toolchain() {
  local folder work=$MYLOS_CACHE/build-hip-toolchain
  folder=$(scripts/kokkos-prefix --hip-toolchain)
  if [ -e "$folder/complete" ]; then
    row "AMD's toolchain" "already there"
    return
  fi
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 77
  list_hip_archive "$work" >>"$log" 2>&1 </dev/null || return 77
  step "AMD's toolchain $hip_version, 350 MB" unpack_hip_toolchain "$work" "$folder"
}

# hip_apt WORK COMMAND...: apt with a state of its own, which knows no installed package.
hip_apt() {
  local work=$1
  shift
  APT_CONFIG=$work/apt.conf "$@"
}

# Reads the lists of Debian's unstable and experimental archives, and sets hip_version. Fails where they lack a package.
list_hip_archive() {  # WORK
  local work=$1 archive names
  rm -rf "$work"
  mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
  : >"$work/state/status"
  cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "$work/preferences";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$work/state";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
APT::Install-Recommends "false";
Debug::NoLocking "true";
END
  for archive in $(archive_roots); do
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s sid main\n' "$archive" >"$work/sources.list"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s experimental main\n' "$archive" >>"$work/sources.list"
    hip_apt "$work" apt-get update || continue
    hip_version=$(hip_apt "$work" apt-cache madison hipcc | awk '/ experimental/ {print $3}' | grep -o '^[0-9.]*' | head -n 1 || true)
    [ -n "$hip_version" ] || continue
    # All of ROCm from one version: the unstable archive mixes several.
    names=$(cat_lists "$work" | awk -v version="$hip_version" '/^Package:/ {name = $2} /^Version:/ && index($2, version) == 1 {print name}' |
      sort -u | tr '\n' ' ')
    printf 'Package: %s\nPin: version %s*\nPin-Priority: 900\n' "$names" "$hip_version" >"$work/preferences"
    hip_apt "$work" apt-get install --simulate "${hip_packages[@]}" && return
  done
  return 1
}

cat_lists() {  # WORK
  local list
  for list in "$1"/state/lists/*experimental*Packages*; do
    hip_apt "$1" /usr/lib/apt/apt-helper cat-file "$list"
  done
}

unpack_hip_toolchain() {  # WORK FOLDER
  local work=$1 folder=$2 package
  hip_apt "$work" apt-get install --download-only --yes "${hip_packages[@]}" &&
    (cd "$work/cache/archives" && hip_apt "$work" apt-get download "${hip_headers[@]}") || return 1
  rm -rf "$folder"
  mkdir -p "$folder"
  dpkg-deb -x "$work"/cache/archives/base-files_*.deb "$folder" || return 1  # its links /bin -> usr/bin come first
  for package in "$work"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$folder" || return 1
  done
  # What the packages' own scripts would link.
  [ -e "$folder/usr/bin/sh" ] || ln -s bash "$folder/usr/bin/sh"
  [ -e "$folder/usr/bin/awk" ] || ln -s mawk "$folder/usr/bin/awk"
  rm -rf "$work"
  touch "$folder/complete"
}
