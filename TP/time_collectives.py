"""Collectives that you can write yourself, from messages, beside those of the MPI library.

    mpirun -n 4 python time_collectives.py                 all-reduce and all-to-all
    mpirun -n 4 python time_collectives.py --numbers 1000  of another size

Prints the median time of each, in microseconds, the two in turn; the slowest rank counts.
"""

import json
import statistics
import time

import numpy as np
from mpi_wrapper.world import Flags, find_world, plain_errors

PAIRS = {"all-reduce": ("myAllreduce", "Allreduce"), "all-to-all": ("myAlltoall", "Alltoall")}


def median_times(comm, names, numbers, repeats):
    """The median seconds of each of two methods, called in turn, on the slowest rank."""
    src = np.ones(numbers - numbers % comm.Get_size())
    dst = np.empty_like(src)
    times = [[], []]
    for number in range(repeats + 2):
        for name, mine in zip(names, times, strict=True):
            comm.Barrier()
            begun = time.perf_counter()
            getattr(comm, name)(src, dst)
            if number >= 2:  # the first ones warm up
                mine.append(time.perf_counter() - begun)
    each = comm.comm.allgather([statistics.median(mine) for mine in times])
    return [max(both) for both in zip(*each, strict=True)]


def main():
    parser = Flags(__doc__)
    parser.add_argument("--numbers", type=int, default=100_000, help="float64 of a rank (100000)")
    parser.add_argument("--repeats", type=int, default=30, help="times that count (30)")
    parser.add_argument("--json", action="store_true", help="one line of JSON, in seconds")
    options = parser.parse_args()
    comm = find_world()
    if options.numbers < comm.Get_size() or options.repeats < 1:
        raise ValueError(
            f"--numbers {options.numbers} and --repeats {options.repeats}: give a number for each "
            f"of the {comm.Get_size()} ranks, and 1 repeat, or more"
        )
    found = {
        what: median_times(comm, names, options.numbers, options.repeats)
        for what, names in PAIRS.items()
    }
    if comm.Get_rank() > 0:
        return
    if options.json:
        print(json.dumps(found))
        return
    print(f"{comm.Get_size()} ranks, {8 * options.numbers:,} bytes each")
    for what, (ours, library) in found.items():
        print(f"{what}: by messages {1e6 * ours:.0f} µs, MPI's own {1e6 * library:.0f} µs")


if __name__ == "__main__":
    with plain_errors():
        main()
