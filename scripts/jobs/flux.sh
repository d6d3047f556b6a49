#!/usr/bin/env bash
# A Flux job that trains until shortly before its time limit, and submits itself again until the run is complete.
#   flux batch flux.sh deck.toml runs/NAME
# Set bank, queue and the like below: the next job does not get options of the command line.
# A job that crashed after it wrote a newer checkpoint is also submitted again. After bad input, lack of memory or
# divergence it is not.
# To end the chain: flux cancel JOB. The job then has five seconds for a checkpoint, unless the site sets another time.
#flux: --job-name=mylos
#flux: --nodes=1
#flux: --nslots=4
#flux: --cores-per-slot=8
# On nodes with devices use one slot per device: --gpus-per-slot=1 here, and --gpus-per-task=1 of flux run below.
#flux: --time-limit=4h
#flux: --signal=SIGUSR1@5m
set -euo pipefail
deck=${1:?flux batch flux.sh DECK FOLDER} folder=${2:?flux batch flux.sh DECK FOLDER}

# The lines up to the next empty one are the same in scripts/resubmit and the other scripts/jobs/*.sh. They are not in a
# shared file, because batch systems run a copy of the script in another folder, and sites copy single files.
newest() { cat "$folder/checkpoints/latest" 2>/dev/null || true; }
goes_on() {  # true: start again after $code; false: sets $why. $before: the newest checkpoint before this start
  if [ -e "$folder/requeue" ]; then  # made by this start; launchers replace the code of a stopped run
    [ "$code" -ne 0 ] || code=85
  else
    case $code in
      0) why="the run is complete" && return 1 ;;
      2 | 3 | 4) why="bad input (2), does not fit (3) and divergence (4) would repeat" && return 1 ;;
    esac
  fi
  if [ -n "$stopped_by" ]; then
    why="it was asked to stop by $stopped_by"
  elif [ "$(newest)" = "$before" ]; then
    why="this start wrote no checkpoint newer than ${before:-none}"
  else
    return 0
  fi
  return 1
}

stopped_by='' before=$(newest)
rm -f "$folder/requeue"  # of an earlier start
export OMP_NUM_THREADS=8
flux run --ntasks=4 --cores-per-task=8 -o cpu-affinity=per-task \
  mylos train "$deck" run.folder="$folder" --restart auto &
step=$!
# Five minutes before the end Flux sends SIGUSR1 to the ranks, which then stop. Versions since 2025 also send it to this
# shell, which must ignore it. A cancelled job gets SIGHUP or SIGTERM here.
trap : USR1
trap 'stopped_by="SIGHUP or SIGTERM"; touch "$folder/stop" 2>/dev/null || true' HUP TERM
code=0
wait "$step" || code=$?
while kill -0 "$step" 2>/dev/null; do wait "$step" || true; done  # a signal ends `wait` before the run's end
code=0
wait "$step" || code=$?
# --parent: without it the next job would run inside this job and end with it.
if goes_on; then
  echo "ended with code $code at $(newest), before the run's end: submitted again"
  exec flux --parent batch "$0" "$deck" "$folder"
fi
echo "ended with code $code, not submitted again: $why"
exit "$code"
