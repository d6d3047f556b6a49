#!/usr/bin/env bash
# A Slurm job that trains until its time is nearly over, and submits itself again until the run is at its end.
#   sbatch slurm.sh deck.toml runs/NAME
#SBATCH --job-name=mylos
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --open-mode=append
set -euo pipefail
deck=$1 folder=$2

export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
srun --cpu-bind=cores mylos train "$deck" run.folder="$folder" --restart auto &
step=$!
# Five minutes before the end Slurm sends SIGUSR1 to this shell: passed on, it makes the run write a checkpoint and stop.
trap 'kill -USR1 "$step"' USR1
trap 'kill -TERM "$step"' TERM
code=0
while kill -0 "$step" 2>/dev/null; do wait "$step" && code=0 || code=$?; done  # a trap ends `wait` before the job's end

if [ -e "$folder/requeue" ]; then
  echo "stopped with code $code before its end: submitted again"
  exec sbatch "$0" "$deck" "$folder"
fi
exit "$code"
