#!/bin/bash
# A cluster with Slurm: srun starts every rank on every machine, and tells each its number.
#
#     sbatch jobs/slurm.sh                                    at the top of the lab
#     sbatch jobs/slurm.sh DP/ddp/intro_DDP.py --steps 10
#
#SBATCH --job-name=lab
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=2
#SBATCH --time=00:10:00
#SBATCH --output=lab-%j.log
# When a machine fails, Slurm would start the job again, at step 0 and over its own log. For a
# script that saves its state and begins by loading it, take --requeue; the log then goes on.
#SBATCH --no-requeue
#SBATCH --open-mode=append
# On GPUs, one rank for each; every rank must see all GPUs of its machine, so not --gpus-per-task:
##SBATCH --gpus-per-node=2
# What your cluster wants besides: --account, --partition.
cd "${SLURM_SUBMIT_DIR:-$(dirname "$0")/..}" || exit 1
if [ ! -f jobs/find_python.bash ]; then
    echo "error: $PWD is not the top of the lab: submit this from there, as jobs/slurm.sh" >&2
    exit 1
fi
. jobs/find_python.bash || exit 1

# Since Slurm 22.05 srun doesn't take --cpus-per-task over from sbatch: without this line each rank
# gets one core, however many the job has.
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"

# Rank 0 is on the first machine of the job's list. The scripts read SLURM_PROCID and so on.
# --kill-on-bad-exit: when one rank fails, the others must not wait for it.
srun --kill-on-bad-exit=1 "$PYTHON" "${@:-jobs/hello.py}"
