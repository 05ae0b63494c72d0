"""Does MPI work here? And what do its collectives do?

mpirun -n 8 python mpi-test.py                          the set-up
mpirun -n 8 python mpi-test.py --test_case allreduce    one of: allreduce, allgather,
                                                        reduce_scatter, alltoall, split
python mpirun.py -n 8 mpi-test.py                       where mpirun alone does not start
"""

import numpy as np
from mpi4py import MPI
from mpi_wrapper.world import Flags, find_world, plain_errors

CASES = ("allreduce", "allgather", "reduce_scatter", "alltoall", "split")


def shown(comm, case):
    """Return what this rank has to say of a collective; without one, whether messages arrive."""
    rank, size = comm.Get_rank(), comm.Get_size()
    if case == "allreduce":
        mine, theirs = np.arange(4) + 10 * rank, np.empty(4, int)
        comm.Allreduce(mine, theirs, op=MPI.SUM)
        return f"had {mine}, has the sum of all: {theirs}"
    if case == "allgather":
        mine, theirs = np.arange(2) + 10 * rank, np.empty(2 * size, int)
        comm.Allgather(mine, theirs)
        return f"had {mine}, has what all had: {theirs}"
    if case == "reduce_scatter":
        mine, theirs = np.arange(2 * size) + 10 * rank, np.empty(2, int)
        comm.Reduce_scatter(mine, theirs, op=MPI.SUM)
        return f"had {mine}, has its part of the sum: {theirs}"
    if case == "alltoall":
        mine, theirs = np.arange(size) + 10 * rank, np.empty(size, int)
        comm.Alltoall(mine, theirs)
        return f"had {mine}, has one number of each: {theirs}"
    group = comm.Split(key=rank, color=rank % 2) if case == "split" else comm
    total = np.empty(1, int)
    group.Allreduce(np.array([rank]), total)
    if case == "split":
        place = f"place {group.Get_rank()} of {group.Get_size()}"
        return f"color {rank % 2}, {place} in its group, whose ranks add up to {total[0]}"
    right = size * (size - 1) // 2
    works = "messages arrive" if total[0] == right else f"the sum is {total[0]}, not {right}"
    return f"{size} ranks of {MPI.Get_library_version().split(',')[0]}: {works}"


def main():
    parser = Flags(__doc__)
    parser.add_argument("--test_case", choices=CASES, help="show one collective")
    case = parser.parse_args().test_case
    comm = find_world()
    for rank, text in enumerate(comm.comm.allgather(shown(comm, case))):  # in order, by one rank
        if comm.Get_rank() == 0 and (case or rank == 0):
            print(f"rank {rank}: {text}" if case else text, flush=True)


if __name__ == "__main__":
    with plain_errors():
        main()
