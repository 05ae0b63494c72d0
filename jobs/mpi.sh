#!/bin/bash
# One machine or many, by MPI: mpirun starts the ranks, and MPI itself tells each its number.
#
#     jobs/mpi.sh                                             two ranks on this machine
#     RANKS=3 jobs/mpi.sh DP/ddp/intro_DDP.py --steps 10
#     RANKS=4 MPIRUN="mpirun --hostfile hosts" jobs/mpi.sh    on the machines in the file hosts
#
# mpirun must belong to the MPI that mpi4py was built for: the one beside this Python does.
cd "$(dirname "$0")/.." || exit 1

# More ranks than cores may take turns: what Open MPI 5 and 4 want to hear for that.
export PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}
export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}

# -m mpi4py: when one rank fails, the others are ended. --rank-source mpi: ask MPI for rank, world
# size, and the machine of rank 0. The messages of the training itself go over gloo or NCCL.
exec ${MPIRUN:-mpirun} -n "${RANKS:-2}" \
    "${PYTHON:-python}" -m mpi4py "${@:-jobs/hello.py}" --rank-source mpi
