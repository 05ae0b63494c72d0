"""Two collectives from messages between two ranks each."""

import numpy as np
from mpi4py import MPI

# What an MPI operation does with two arrays.
OPERATIONS = (
    (MPI.SUM, np.add),
    (MPI.PROD, np.multiply),
    (MPI.MIN, np.minimum),
    (MPI.MAX, np.maximum),
)


def part_sizes(size: int, parts: int) -> list[int]:
    """`size` numbers in `parts` parts whose lengths differ by at most one: the longer ones first.

    part_sizes(7, 3) is [3, 2, 2].
    """
    share, left_over = divmod(size, parts)
    return [share + (part < left_over) for part in range(parts)]


def ring_allreduce(comm: MPI.Comm, src: np.ndarray, dst: np.ndarray, op: MPI.Op = MPI.SUM) -> int:
    """Fill `dst` with the sum (or another op) of all ranks' `src`; give the bytes this rank sent.

    The array is cut into as many parts as there are ranks. In the first P-1 steps each part goes
    once round the ring, and every rank adds its own numbers to it; in the next P-1 steps the
    finished parts go round, and are kept (Patarasuk and Yuan 2009).

    Raises ValueError for another operation than SUM, PROD, MIN and MAX.
    """
    combine = next((function for known, function in OPERATIONS if known == op), None)
    if combine is None:
        raise ValueError(
            "myAllreduce: this operation is unknown: take SUM, PROD, MIN or MAX of MPI"
        )
    rank, ranks = comm.Get_rank(), comm.Get_size()
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    np.copyto(dst.reshape(-1), src.reshape(-1))
    ends = np.cumsum(part_sizes(dst.size, ranks))[:-1]
    parts = np.split(dst.reshape(-1), ends)  # views: what is written to them is in dst
    arriving = np.empty(parts[0].size, dst.dtype)  # part 0 is the longest
    sent = 0
    for step in range(ranks - 1):  # reduce-scatter
        going, coming = parts[(rank - step) % ranks], parts[(rank - step - 1) % ranks]
        arrived = arriving[: coming.size]
        # Sendrecv does both at once: if all ranks first sent, they could wait for ever.
        comm.Sendrecv(going, dest=right, recvbuf=arrived, source=left)
        combine(coming, arrived, out=coming)
        sent += going.nbytes
    for step in range(ranks - 1):  # all-gather
        going, coming = parts[(rank + 1 - step) % ranks], parts[(rank - step) % ranks]
        comm.Sendrecv(going, dest=right, recvbuf=coming, source=left)
        sent += going.nbytes
    return sent


def pairwise_alltoall(comm: MPI.Comm, src: np.ndarray, dst: np.ndarray) -> None:
    """Part r of `src` goes to rank r, and part r of `dst` comes from rank r.

    In step s a rank sends to the rank s places to its right, and receives from the one s places to
    its left: nobody gets two messages in one step.
    """
    rank, ranks = comm.Get_rank(), comm.Get_size()
    going, coming = src.reshape(ranks, -1), dst.reshape(ranks, -1)
    coming[rank] = going[rank]
    for step in range(1, ranks):
        right, left = (rank + step) % ranks, (rank - step) % ranks
        comm.Sendrecv(going[right], dest=right, recvbuf=coming[left], source=left)
