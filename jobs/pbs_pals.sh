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
# When a machine fails: don't start again, at step 0 and over the log.
#PBS -r n
# What your cluster wants besides: -A, -q, -l filesystems.
cd "${PBS_O_WORKDIR:-$(dirname "$0")/..}" || exit 1
if [ ! -f jobs/find_python.bash ]; then
    echo "error: $PWD is not the top of the lab: submit this from there, as jobs/pbs_pals.sh" >&2
    exit 1
fi
# PBS writes the names of the job's machines into a file.
: "${PBS_NODEFILE:?start this by qsub: PBS sets it}"
# The cluster's mpiexec; .venv has one of its own, for one machine.
MPIEXEC=$(command -v mpiexec) || { echo "error: there is no mpiexec here" >&2; exit 1; }
. jobs/find_python.bash || exit 1

NODES=$(sort -u "$PBS_NODEFILE" | wc -l)
RANKS=${RANKS:-4} # on each machine: one for each GPU
# Rank 0 is on the first machine. Where its plain name leads to a slow network, name the fast one.
MASTER_ADDR=${MASTER_ADDR:-$(head -n 1 "$PBS_NODEFILE")}
export MASTER_ADDR

# The scripts read PALS_RANKID, PALS_LOCAL_RANKID and so on. SCRIPT has no quotes: it may have flags.
"$MPIEXEC" -n $((NODES * RANKS)) --ppn "$RANKS" \
    "$PYTHON" ${SCRIPT:-jobs/hello.py} --rank-source pals
