"""Does MPI work here? And what do its collectives do?

mpirun -n 8 python mpi-test.py                          the set-up
mpirun -n 8 python mpi-test.py --test_case allreduce    one of: allreduce, allgather,
                                                        reduce_scatter, alltoall, split
python mpirun.py -n 8 mpi-test.py                       where mpirun alone does not start
"""

import numpy as np
from mpi4py import MPI
from mpi_wrapper.world import Flags, find_world, plain_errors


def test_setup(comm):
    """Every rank says hello, and one sum shows that they know of each other."""
    total = np.empty(1, dtype=np.int64)
    comm.Allreduce(np.array([comm.Get_rank()]), total)
    right = comm.Get_size() * (comm.Get_size() - 1) // 2
    works = "messages arrive" if total[0] == right else f"the sum is {total[0]}, not {right}"
    library = MPI.Get_library_version().split(",")[0]
    return f"{comm.Get_size()} ranks of {library}: {works}"


def test_allreduce(comm):
    mine = np.arange(4) + 10 * comm.Get_rank()
    theirs = np.empty_like(mine)
    comm.Allreduce(mine, theirs, op=MPI.SUM)
    return f"had {mine}, has the sum of all: {theirs}"


def test_allgather(comm):
    mine = np.arange(2) + 10 * comm.Get_rank()
    theirs = np.empty(2 * comm.Get_size(), dtype=mine.dtype)
    comm.Allgather(mine, theirs)
    return f"had {mine}, has what all had: {theirs}"


def test_reduce_scatter(comm):
    mine = np.arange(2 * comm.Get_size()) + 10 * comm.Get_rank()
    theirs = np.empty(2, dtype=mine.dtype)
    comm.Reduce_scatter(mine, theirs, op=MPI.SUM)
    return f"had {mine}, has its part of the sum: {theirs}"


def test_alltoall(comm):
    mine = np.arange(comm.Get_size()) + 10 * comm.Get_rank()
    theirs = np.empty_like(mine)
    comm.Alltoall(mine, theirs)
    return f"had {mine}, has one number of each: {theirs}"


def test_split(comm):
    color = comm.Get_rank() % 2
    group = comm.Split(key=comm.Get_rank(), color=color)
    mine, total = np.array([comm.Get_rank()]), np.empty(1, dtype=np.int64)
    group.Allreduce(mine, total)
    place = f"place {group.Get_rank()} of {group.Get_size()}"
    return f"color {color}, {place} in its group, whose ranks add up to {total[0]}"


CASES = {
    "allreduce": test_allreduce,
    "allgather": test_allgather,
    "reduce_scatter": test_reduce_scatter,
    "alltoall": test_alltoall,
    "split": test_split,
}


def main():
    parser = Flags(__doc__)
    parser.add_argument("--test_case", choices=CASES, help="show one collective")
    case = parser.parse_args().test_case
    comm = find_world()
    said = CASES.get(case, test_setup)(comm)
    for rank, text in enumerate(comm.comm.allgather(said)):  # in order, and by one rank
        if comm.Get_rank() == 0 and (case or rank == 0):
            print(f"rank {rank}: {text}" if case else text, flush=True)


if __name__ == "__main__":
    with plain_errors():
        main()
