#!/usr/bin/env bash
# A PBS job that trains until its time is nearly over, and submits itself again until the run is at its end.
#   qsub -v DECK=deck.toml,FOLDER=runs/NAME pbs.sh
#PBS -N mylos
#PBS -l select=1:ncpus=32:mpiprocs=4:ompthreads=8
#PBS -l walltime=04:00:00
#PBS -j oe
set -euo pipefail
cd "$PBS_O_WORKDIR"

# PBS ends jobs by SIGTERM and soon after SIGKILL: the run knows the time that it has, and stops by itself before.
code=0
mpirun --bind-to none mylos train "$DECK" run.folder="$FOLDER" --restart auto --walltime 03:55:00 || code=$?

if [ -e "$FOLDER/requeue" ]; then
  echo "stopped with code $code before its end: submitted again"
  exec qsub -v DECK="$DECK",FOLDER="$FOLDER" pbs.sh
fi
exit "$code"
