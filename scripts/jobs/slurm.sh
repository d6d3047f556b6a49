#!/usr/bin/env bash
# A Slurm job that trains until shortly before its time limit, and submits itself again until the run is complete.
#   sbatch slurm.sh deck.toml runs/NAME
# Set account, partition and the like below: the next job does not get options of sbatch's command line.
# A job that crashed after it wrote a newer checkpoint is also submitted again. After bad input, lack of memory or
# divergence it is not.
# To end the chain: scancel --batch --signal=TERM JOB, which writes a checkpoint. A plain scancel also reaches srun,
# which then kills the ranks: the work since the newest checkpoint is lost.
#SBATCH --job-name=mylos
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
# On nodes with devices use one rank per device; every rank must see all devices of its node: #SBATCH --gpus-per-node=4
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --open-mode=append
set -euo pipefail
deck=${1:?sbatch slurm.sh DECK FOLDER} folder=${2:?sbatch slurm.sh DECK FOLDER}

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
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
# Since Slurm 22.05 srun does not take the number of cores from the job, so it is repeated here. If a rank dies, the others
# must not wait for it.
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores --kill-on-bad-exit=1 \
  mylos train "$deck" run.folder="$folder" --restart auto &
step=$!
# Five minutes before the end Slurm sends SIGUSR1 to this shell, which forwards it; the run then writes a checkpoint and
# stops. SIGTERM comes from a user, or from the system when it needs the nodes. It is also forwarded as SIGUSR1, because a
# SIGTERM would make srun kill the ranks.
trap 'kill -USR1 "$step" 2>/dev/null || true' USR1
trap 'stopped_by=SIGTERM; kill -USR1 "$step" 2>/dev/null || true' TERM
code=0
wait "$step" || code=$?
while kill -0 "$step" 2>/dev/null; do wait "$step" || true; done  # a signal ends `wait` before the run's end
code=0
wait "$step" || code=$?
if goes_on; then
  echo "ended with code $code at $(newest), before the run's end: submitted again"
  exec sbatch "$0" "$deck" "$folder"  # $0: the copy that Slurm runs
fi
echo "ended with code $code, not submitted again: $why"
exit "$code"
