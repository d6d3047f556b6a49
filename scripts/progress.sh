# Sourced by the scripts: one line per step on the screen, everything else in a log file.
# shellcheck shell=bash

# open_log FILE: sets the file for the output of the following steps.
open_log() {
  log=$1
  mkdir -p "$(dirname "$log")"
  : >"$log"
}

say() { printf '%s\n' "$*"; }

# row LABEL TEXT: prints a step that needed no work, or a fact.
row() { printf '  %-34s %s\n' "$1" "$2"; }

# step LABEL COMMAND...: runs the command, shows its progress, and ends the script with the log's last lines if it fails.
step() {
  local label=$1 started=$SECONDS start_line process status=0 now last=0
  shift
  start_line=$(wc -l <"$log")
  printf '\n== %s: %s\n' "$label" "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null &
  process=$!
  while kill -0 "$process" 2>/dev/null; do
    sleep 0.2
    now=$((SECONDS - started))
    if [ -t 1 ]; then
      printf '\r  %-34s %4d s  %-10s' "$label" "$now" "$(build_progress)"
    elif [ $((now - last)) -ge 30 ]; then
      row "$label" "$now s ... $(build_progress)"
      last=$now
    fi
  done
  wait "$process" || status=$?
  [ -t 1 ] && printf '\r%70s\r' ''
  if [ "$status" -ne 0 ]; then
    row "$label" "FAILED after $((SECONDS - started)) s"
    say ""
    tail -n +"$((start_line + 3))" "$log" | tail -n "${failure_lines:-30}"
    say ""
    say "FAILED: $label. The whole output is in $log"
    exit 1
  fi
  row "$label" "$((SECONDS - started)) s"
}

# The [12/80] of ninja's last line.
build_progress() { tail -n 1 "$log" | grep -o '^\[[0-9]*/[0-9]*\]' || true; }

# The bytes of memory that may be taken: the machine's, or those that the control group has left.
available_memory() {
  local available limit used
  available=$(awk '/MemAvailable/ {printf "%.0f", $2 * 1024}' /proc/meminfo)
  for limit in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
    used=${limit/memory.max/memory.current}
    used=${used/limit_in_bytes/usage_in_bytes}
    if ! [ -r "$limit" ] || ! [ -r "$used" ] || [ "$(cat "$limit")" = max ]; then continue; fi
    awk -v a="$available" -v l="$(cat "$limit")" -v u="$(cat "$used")" 'BEGIN { printf "%.0f\n", l - u < a ? l - u : a }'
    return
  done
  echo "$available"
}

# The number of parallel compilers: one per core, with at least 1.5 GB of memory each.
build_jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(($(available_memory) / 1500000000))
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}
