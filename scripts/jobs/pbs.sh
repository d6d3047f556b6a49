#!/usr/bin/env bash
# A PBS job that trains until its time is nearly over, and submits itself again until the run is at its end.
#   qsub -v DECK=deck.toml,FOLDER=runs/NAME pbs.sh
#   qsub -v DECK=deck.toml,FOLDER=runs/NAME,SCRIPT=jobs/pbs.sh jobs/pbs.sh    where this file is in another folder
# Project, queue and the like belong below: options of qsub's command line are not those of the next job.
# A job that crashed after a newer checkpoint is submitted again too; not after bad input, lack of room, divergence.
# To end it for good: qdel JOB. It ends with the newest checkpoint unless the site gives it the seconds for another.
#PBS -N mylos
#PBS -S /bin/bash
#PBS -l select=1:ncpus=32:mpiprocs=4:ompthreads=8
# On nodes with devices a rank for each: select=1:ncpus=32:mpiprocs=4:ompthreads=8:ngpus=4
#PBS -l walltime=04:00:00
#PBS -j oe
set -euo pipefail
cd "$PBS_O_WORKDIR"
usage="qsub -v DECK=deck.toml,FOLDER=runs/NAME pbs.sh"
deck=${DECK:?$usage} folder=${FOLDER:?$usage}
script=${SCRIPT:-pbs.sh}  # PBS runs a copy of it, under another name
if [ ! -r "$script" ]; then  # better now than when it is to be submitted again
  echo "no file $script in $PBS_O_WORKDIR: qsub -v DECK=...,FOLDER=...,SCRIPT=FILE FILE" >&2
  exit 2
fi

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
# PBS ends jobs by SIGTERM and soon after SIGKILL: the run is given the time that it has, five minutes less than the
# job's above, and stops by itself before. A SIGTERM is then qdel's.
# Open MPI's mpirun gives each rank cores of its own by --map-by ppr:4:node:PE=8 in place of --bind-to none.
mpirun --bind-to none mylos train "$deck" run.folder="$folder" --restart auto --walltime 03:55:00 &
step=$!
trap 'told=SIGTERM; touch "$folder/stop" 2>/dev/null || true' TERM
code=0
wait "$step" || code=$?
while kill -0 "$step" 2>/dev/null; do wait "$step" || true; done  # a signal ends `wait` before the run's end
code=0
wait "$step" || code=$?
if goes_on; then
  echo "ended with code $code at $(newest), before the run's end: submitted again"
  exec qsub -v DECK="$deck",FOLDER="$folder",SCRIPT="$script" "$script"
fi
echo "ended with code $code, not submitted again: $why"
exit "$code"
