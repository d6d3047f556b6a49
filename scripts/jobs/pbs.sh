#!/usr/bin/env bash
# A PBS job that trains until shortly before its time limit, and submits itself again until the run is complete.
#   qsub -v DECK=deck.toml,FOLDER=runs/NAME pbs.sh
#   qsub -v DECK=deck.toml,FOLDER=runs/NAME,SCRIPT=jobs/pbs.sh jobs/pbs.sh    where this file is in another folder
# Set project, queue and the like below: the next job does not get options of qsub's command line.
# A job that crashed after it wrote a newer checkpoint is also submitted again. After bad input, lack of memory or
# divergence it is not.
# To end the chain: qdel JOB. The newest checkpoint remains, unless the site gives the job time for another.
#PBS -N mylos
#PBS -S /bin/bash
#PBS -l select=1:ncpus=32:mpiprocs=4:ompthreads=8
# On nodes with devices use one rank per device: select=1:ncpus=32:mpiprocs=4:ompthreads=8:ngpus=4
#PBS -l walltime=04:00:00
#PBS -j oe
set -euo pipefail
cd "$PBS_O_WORKDIR"
usage="qsub -v DECK=deck.toml,FOLDER=runs/NAME pbs.sh"
deck=${DECK:?$usage} folder=${FOLDER:?$usage}
script=${SCRIPT:-pbs.sh}  # PBS runs a copy of it under another name
if [ ! -r "$script" ]; then  # fail now, not when the job is submitted again
  echo "no file $script in $PBS_O_WORKDIR: qsub -v DECK=...,FOLDER=...,SCRIPT=FILE FILE" >&2
  exit 2
fi

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
# PBS ends jobs by SIGTERM and soon after by SIGKILL. The run therefore gets a walltime five minutes shorter than the job's
# above, and stops by itself. A SIGTERM then comes from qdel.
# With --map-by ppr:4:node:PE=8 instead of --bind-to none, Open MPI's mpirun binds each rank to separate cores.
mpirun --bind-to none mylos train "$deck" run.folder="$folder" --restart auto --walltime 03:55:00 &
step=$!
trap 'stopped_by=SIGTERM; touch "$folder/stop" 2>/dev/null || true' TERM
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
