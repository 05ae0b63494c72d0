"""mpi4py's communicator, with the bytes of every collective counted in two ways.

Two of its collectives are built here from messages between two ranks each.
"""

import numpy as np
from mpi4py import MPI


class Communicator:
    """What the lab uses of an MPI communicator. Arrays are NumPy's, C-contiguous, and stay whole.

    comm: `MPI.COMM_WORLD`, or what its Split gives.

    Two counts, in bytes, of all collectives that went through this object since it was made:

    total_bytes_transferred: as the course counts. It takes an all-reduce of n bytes on P ranks for
        2 (P-1) n, as if one rank had got every array and had sent the result to every rank.
    bytes_sent: what this rank sends where the collective is a ring: 2 (P-1)/P n, for all-reduce;
        no algorithm needs less (Patarasuk and Yuan 2009, doi.org/10.1016/j.jpdc.2008.09.002).
    """

    def __init__(self, comm: MPI.Comm):
        self.comm = comm
        self.total_bytes_transferred = 0
        self.bytes_sent = 0

    def Get_size(self) -> int:
        return self.comm.Get_size()

    def Get_rank(self) -> int:
        return self.comm.Get_rank()

    def Barrier(self) -> None:
        self.comm.Barrier()

    def Split(self, key: int, color: int) -> "Communicator":
        """The ranks that give the same color, in the order of their keys; counts from 0."""
        return type(self)(self.comm.Split(color=color, key=key))

    def Allreduce(self, src: np.ndarray, dst: np.ndarray, op: MPI.Op = MPI.SUM) -> None:
        """dst = the sum (or another op) of all ranks' src. Both have the same size."""
        _require("Allreduce", src, dst)
        self.comm.Allreduce(src, dst, op=op)
        self._count(2 * self._others * src.nbytes, self._ring_share(src, phases=2))

    def Allgather(self, src: np.ndarray, dst: np.ndarray) -> None:
        """dst = the src of all ranks, one after the other. dst is P times as large as src."""
        _require("Allgather", src, dst, src_parts=self.Get_size())
        self.comm.Allgather(src, dst)
        self._count(self._others * (src.nbytes + dst.nbytes), self._others * src.nbytes)

    def Reduce_scatter(self, src: np.ndarray, dst: np.ndarray, op: MPI.Op = MPI.SUM) -> None:
        """dst = this rank's part of the sum of all ranks' src. src is P times as large as dst."""
        _require("Reduce_scatter", src, dst, dst_parts=self.Get_size())
        self.comm.Reduce_scatter_block(src, dst, op=op)
        self._count(self._others * (src.nbytes + dst.nbytes), self._others * dst.nbytes)

    def Alltoall(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Part r of src goes to rank r; part r of dst comes from rank r. Both have one size."""
        _require("Alltoall", src, dst, divisor=self.Get_size())
        self.comm.Alltoall(src, dst)
        self._count_alltoall(src)

    def myAllreduce(self, src: np.ndarray, dst: np.ndarray, op: MPI.Op = MPI.SUM) -> None:
        """Allreduce, from messages between neighbors in a ring."""
        _require("myAllreduce", src, dst)
        sent = ring_allreduce(self.comm, src, dst, op)
        self._count(2 * self._others * src.nbytes, sent)

    def myAlltoall(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Alltoall, from messages between pairs of ranks."""
        _require("myAlltoall", src, dst, divisor=self.Get_size())
        pairwise_alltoall(self.comm, src, dst)
        self._count_alltoall(src)

    @property
    def _others(self) -> int:
        return self.comm.Get_size() - 1

    def _count(self, as_the_course: int, sent: int) -> None:
        self.total_bytes_transferred += as_the_course
        self.bytes_sent += sent

    def _count_alltoall(self, src: np.ndarray) -> None:
        kept = src.nbytes // self.Get_size()  # the part for this rank itself goes nowhere
        self._count(2 * (src.nbytes - kept), src.nbytes - kept)

    def _ring_share(self, array: np.ndarray, phases: int) -> int:
        """What this rank sends of an array that goes round a ring: all parts but one, each time."""
        sizes = part_sizes(array.size, self.Get_size())
        rank, number = self.Get_rank(), self.Get_size()
        kept = sum(sizes[(rank + phase + 1) % number] for phase in range(phases))
        return array.itemsize * (phases * array.size - kept)


def _require(call: str, src, dst, src_parts: int = 1, dst_parts: int = 1, divisor: int = 1) -> None:
    """Refuse arrays for which MPI would read or write memory that it should not.

    src_parts, dst_parts: how many arrays of that size the other one holds.
    """
    for name, array in (("src", src), ("dst", dst)):
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise ValueError(
                f"{call}: {name} must be a NumPy array without gaps in memory: give "
                f"np.ascontiguousarray({name})"
            )
    if src.dtype != dst.dtype:
        raise ValueError(f"{call}: src holds {src.dtype} and dst {dst.dtype}: give one type")
    if src.size * src_parts != dst.size * dst_parts or src.size % divisor:
        raise ValueError(
            f"{call}: src has {src.size} numbers and dst has {dst.size}: they must be as many, or "
            "for Allgather and Reduce_scatter the ranks times as many, and in an all-to-all a "
            "multiple of the ranks"
        )


# What an MPI operation does with two arrays.
OPERATIONS = (
    (MPI.SUM, np.add),
    (MPI.PROD, np.multiply),
    (MPI.MIN, np.minimum),
    (MPI.MAX, np.maximum),
)


def part_sizes(size: int, parts: int) -> list[int]:
    """part_sizes(7, 3) is [3, 2, 2]."""
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
