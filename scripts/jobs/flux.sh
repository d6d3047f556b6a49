#!/usr/bin/env bash
# A Flux job that trains until its time is nearly over, and submits itself again until the run is at its end.
#   flux batch flux.sh deck.toml runs/NAME
# Bank, queue and the like belong below: options of the command line are not those of the next job.
# A job that crashed after a newer checkpoint is submitted again too; not after bad input, lack of room, divergence.
# To end it for good: flux cancel JOB. It has five seconds then for a checkpoint, or as many as the site gives.
#flux: --job-name=mylos
#flux: --nodes=1
#flux: --nslots=4
#flux: --cores-per-slot=8
# On nodes with devices a slot for each: --gpus-per-slot=1 here, and --gpus-per-task=1 of flux run below.
#flux: --time-limit=4h
#flux: --signal=SIGUSR1@5m
set -euo pipefail
deck=${1:?flux batch flux.sh DECK FOLDER} folder=${2:?flux batch flux.sh DECK FOLDER}

# From here to the next empty line as in scripts/resubmit and the other scripts/jobs/*.sh. Not a file that all of them
# read: batch systems run a copy of the script, which finds nothing beside it, and sites copy single files.
newest() { cat "$folder/checkpoints/latest" 2>/dev/null || true; }
goes_on() {  # whether to start again after $code; if not, $why. $before: the newest checkpoint before this start
  if [ -e "$folder/requeue" ]; then  # made by this start; launchers replace the code of a run that was told to end
    [ "$code" -ne 0 ] || code=85
  else
    case $code in
      0) why="the run is at its end" && return 1 ;;
      2 | 3 | 4) why="bad input (2), no room (3) and divergence (4) come again" && return 1 ;;
    esac
  fi
  if [ -n "$told" ]; then
    why="it was told to end by $told"
  elif [ "$(newest)" = "$before" ]; then
    why="this start made no newer checkpoint than ${before:-none}"
  else
    return 0
  fi
  return 1
}

told='' before=$(newest)
rm -f "$folder/requeue"  # of an earlier start
export OMP_NUM_THREADS=8
flux run --ntasks=4 --cores-per-task=8 -o cpu-affinity=per-task \
  mylos train "$deck" run.folder="$folder" --restart auto &
step=$!
# Five minutes before the end Flux sends SIGUSR1 to the ranks, which stop by it. Versions since 2025 send it to this
# shell as well, which has to outlive it; older ones do not. A job that is cancelled gets SIGHUP or SIGTERM here.
trap : USR1
trap 'told="SIGHUP or SIGTERM"; touch "$folder/stop" 2>/dev/null || true' HUP TERM
code=0
wait "$step" || code=$?
while kill -0 "$step" 2>/dev/null; do wait "$step" || true; done  # a signal ends `wait` before the run's end
code=0
wait "$step" || code=$?
# --parent: without it the next job would be one within this job, and end with it.
if goes_on; then
  echo "ended with code $code at $(newest), before the run's end: submitted again"
  exec flux --parent batch "$0" "$deck" "$folder"
fi
echo "ended with code $code, not submitted again: $why"
exit "$code"
