#!/usr/bin/env bash
# A Slurm job that trains until its time is nearly over, and submits itself again until the run is at its end.
#   sbatch slurm.sh deck.toml runs/NAME
# Account, partition and the like belong below: options of sbatch's command line are not those of the next job.
# A job that crashed after a newer checkpoint is submitted again too; not after bad input, lack of room, divergence.
# To end it for good: scancel --batch --signal=TERM JOB, which writes a checkpoint. A plain scancel also reaches srun,
# which then kills the ranks: what they did since the newest checkpoint is lost.
#SBATCH --job-name=mylos
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
# On nodes with devices a rank for each; every rank must see all of its node: #SBATCH --gpus-per-node=4
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --open-mode=append
set -euo pipefail
deck=${1:?sbatch slurm.sh DECK FOLDER} folder=${2:?sbatch slurm.sh DECK FOLDER}

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
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
# The number of cores again, since srun does not take it from the job from Slurm 22.05 on. And where a rank dies, no
# other one shall wait for it.
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores --kill-on-bad-exit=1 \
  mylos train "$deck" run.folder="$folder" --restart auto &
step=$!
# Five minutes before the end Slurm sends SIGUSR1 to this shell: passed on, it makes the run write a checkpoint and
# stop. SIGTERM is a user's, or the system's that wants the nodes. It is passed on as SIGUSR1 too: a SIGTERM would make
# srun kill the ranks.
trap 'kill -USR1 "$step" 2>/dev/null || true' USR1
trap 'told=SIGTERM; kill -USR1 "$step" 2>/dev/null || true' TERM
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
