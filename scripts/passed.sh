# Sourced by checks that need not run again where nothing that they read has changed since they passed. What passed is kept
# as a digest of contents, beside the build.
# shellcheck shell=bash

# digest_of PATH...: one digest of these files and folders, and of what compiles and runs them.
digest_of() {
  local tool
  {
    for tool in "${CXX:-c++}" cmake nvcc mpirun python3; do
      command -v "$tool" >/dev/null && "$tool" --version 2>&1 || true
    done
    scripts/kokkos-prefix "${CXX:-c++}" openmp 2>&1 || true
    grep -m 1 -E '^(flags|Features)' /proc/cpuinfo || true
    env | LC_ALL=C grep -E '^(CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|CUDA_HOME|NVCC_[A-Z_]*|MYLOS_[A-Z_]*)=' | LC_ALL=C sort || true
    find "$@" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum | cut -d ' ' -f 1
}

# passed_before STAMP PATH...: whether the check of this stamp has passed with these contents; says when.
passed_before() {
  local stamp=$1
  shift
  [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" = "$(digest_of "$@")" ] || return 1
  say "Skipped: nothing that it reads has changed since it passed on $(sed -n 2p "$stamp") ($stamp)."
}

# remember_passed STAMP DIGEST: DIGEST is of before the check, in whose course files may have changed.
remember_passed() { printf '%s\n%s\n' "$2" "$(date '+%Y-%m-%d %H:%M')" >"$1"; }

# require_listed BUILD PATH...: fails where the build has read a file of the repository that lies below none of these paths.
require_listed() {
  local build=$1 file path here
  here=$(realpath .)
  shift
  while read -r file; do
    for path in "$@"; do
      [[ $file == "$path" || $file == "$path"/* ]] && continue 2
    done
    say "FAILED: $build reads $file, which is not among the files of its digest."
    return 1
  done < <(ninja -C "$build" -t deps | sed -n 's/^    //p' | LC_ALL=C sort -u | (cd "$build" && xargs -d '\n' realpath -m --) |
    sed -n "s|^$here/||p" | grep -v '^build/')
}
