#!/bin/bash
# A cluster with PBS and PALS (HPE Cray): mpiexec starts the ranks, and tells each its number.
#
#     qsub jobs/pbs_pals.sh                                   at the top of the lab
#     SCRIPT="DP/ddp/intro_DDP.py --steps 10" qsub -v SCRIPT jobs/pbs_pals.sh
#
#PBS -N lab
#PBS -l select=2
#PBS -l walltime=00:10:00
#PBS -j oe
# What your cluster wants besides: -A, -q, -l filesystems.
cd "${PBS_O_WORKDIR:-$(dirname "$0")/..}" || exit 1
MPIEXEC=$(command -v mpiexec) # the cluster's; .venv has one of its own, for one machine
[ -f .venv/bin/activate ] && . .venv/bin/activate

NODES=$(sort -u "$PBS_NODEFILE" | wc -l)
RANKS=${RANKS:-4} # on each machine: one for each GPU
# Rank 0 is on the first machine. Where its plain name leads to a slow network, name the fast one.
MASTER_ADDR=${MASTER_ADDR:-$(head -n 1 "$PBS_NODEFILE")}
export MASTER_ADDR

# The scripts read PALS_RANKID, PALS_LOCAL_RANKID and so on. SCRIPT has no quotes: it may have flags.
"$MPIEXEC" -n $((NODES * RANKS)) --ppn "$RANKS" \
    "${PYTHON:-python}" ${SCRIPT:-jobs/hello.py} --rank-source pals
