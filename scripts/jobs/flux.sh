#!/usr/bin/env bash
# A Flux job that trains until its time is nearly over, and submits itself again until the run is at its end.
#   flux batch flux.sh deck.toml runs/NAME
#flux: --job-name=mylos
#flux: --nodes=1
#flux: --nslots=4
#flux: --cores-per-slot=8
#flux: --time-limit=4h
#flux: --signal=SIGUSR1@5m
set -euo pipefail
deck=$1 folder=$2

export OMP_NUM_THREADS=8
flux run --ntasks=4 --cores-per-task=8 mylos train "$deck" run.folder="$folder" --restart auto &
step=$!
# Five minutes before the end Flux sends SIGUSR1 to this shell; the stop file reaches the ranks wherever they are.
trap 'touch "$folder/stop"' USR1 TERM
code=0
while kill -0 "$step" 2>/dev/null; do wait "$step" && code=0 || code=$?; done  # a trap ends `wait` before the job's end

if [ -e "$folder/requeue" ]; then
  echo "stopped with code $code before its end: submitted again"
  exec flux batch "$0" "$deck" "$folder"
fi
exit "$code"
