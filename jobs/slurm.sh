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
# On GPUs, one rank for each; every rank must see all GPUs of its machine, so not --gpus-per-task:
##SBATCH --gpus-per-node=2
# What your cluster wants besides: --account, --partition.
cd "${SLURM_SUBMIT_DIR:-$(dirname "$0")/..}" || exit 1
[ -f .venv/bin/activate ] && . .venv/bin/activate

# Since Slurm 22.05 srun doesn't take --cpus-per-task over from sbatch: without this line each rank
# gets one core, however many the job has.
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}"

# Rank 0 is on the first machine of the job's list. The scripts read SLURM_PROCID and so on.
# --kill-on-bad-exit: when one rank fails, the others must not wait for it.
srun --kill-on-bad-exit=1 "${PYTHON:-python}" "${@:-jobs/hello.py}"
