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
    collectives = {  # how many numbers a rank gives and gets
        "allreduce": (4, 4, "the sum of all"),
        "allgather": (2, 2 * size, "what all had"),
        "reduce_scatter": (2 * size, 2, "its part of the sum"),
        "alltoall": (size, size, "one number of each"),
    }
    if case in collectives:
        given, taken, what = collectives[case]
        mine, theirs = np.arange(given) + 10 * rank, np.empty(taken, int)
        getattr(comm, case.capitalize())(mine, theirs)
        return f"had {mine}, has {what}: {theirs}"
    group = comm.Split(key=rank, color=rank % 2) if case == "split" else comm
    total = np.empty(1, int)
    group.Allreduce(np.array([rank]), total)
    if case == "split":
        place = f"place {group.Get_rank()} of {group.Get_size()}"
        return f"color {rank % 2}, {place} in its group, whose ranks add up to {total[0]}"
    right = size * (size - 1) // 2
    works = "messages arrive" if total[0] == right else f"the sum is {total[0]}, not {right}"
    return f"{size} ranks of {MPI.Get_library_version().split(',')[0]}: {works}"


if __name__ == "__main__":
    with plain_errors():
        parser = Flags(__doc__)
        parser.add_argument("--test_case", choices=CASES, help="show one collective")
        case, comm = parser.parse_args().test_case, find_world()
        texts = comm.comm.allgather(shown(comm, case))
        for rank, text in enumerate(texts if comm.Get_rank() == 0 else ()):  # in order, by one rank
            if case or rank == 0:
                print(f"rank {rank}: {text}" if case else text, flush=True)
