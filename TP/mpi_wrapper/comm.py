"""mpi4py's communicator, with the bytes of every collective counted in two ways."""

import numpy as np
from mpi4py import MPI

from mpi_wrapper import buffers, messages


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
        buffers.require_same("Allreduce", src, dst)
        self.comm.Allreduce(src, dst, op=op)
        self._count(2 * self._others * src.nbytes, self._ring_share(src, phases=2))

    def Allgather(self, src: np.ndarray, dst: np.ndarray) -> None:
        """dst = the src of all ranks, one after the other. dst is P times as large as src."""
        buffers.require_parts("Allgather", dst, "dst", src, "src", self.Get_size())
        self.comm.Allgather(src, dst)
        self._count(self._others * (src.nbytes + dst.nbytes), self._others * src.nbytes)

    def Reduce_scatter(self, src: np.ndarray, dst: np.ndarray, op: MPI.Op = MPI.SUM) -> None:
        """dst = this rank's part of the sum of all ranks' src. src is P times as large as dst."""
        buffers.require_parts("Reduce_scatter", src, "src", dst, "dst", self.Get_size())
        self.comm.Reduce_scatter_block(src, dst, op=op)
        self._count(self._others * (src.nbytes + dst.nbytes), self._others * dst.nbytes)

    def Alltoall(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Part r of src goes to rank r; part r of dst comes from rank r. Both have one size."""
        buffers.require_alltoall("Alltoall", src, dst, self.Get_size())
        self.comm.Alltoall(src, dst)
        self._count_alltoall(src)

    def myAllreduce(self, src: np.ndarray, dst: np.ndarray, op: MPI.Op = MPI.SUM) -> None:
        """Allreduce, from messages between neighbors in a ring."""
        buffers.require_same("myAllreduce", src, dst)
        sent = messages.ring_allreduce(self.comm, src, dst, op)
        self._count(2 * self._others * src.nbytes, sent)

    def myAlltoall(self, src: np.ndarray, dst: np.ndarray) -> None:
        """Alltoall, from messages between pairs of ranks."""
        buffers.require_alltoall("myAlltoall", src, dst, self.Get_size())
        messages.pairwise_alltoall(self.comm, src, dst)
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
        sizes = messages.part_sizes(array.size, self.Get_size())
        rank, number = self.Get_rank(), self.Get_size()
        kept = sum(sizes[(rank + phase + 1) % number] for phase in range(phases))
        return array.itemsize * (phases * array.size - kept)
