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

    def __init__(self, comm):
        self.comm = comm
        self.total_bytes_transferred = self.bytes_sent = 0

    def Get_size(self):
        return self.comm.Get_size()

    def Get_rank(self):
        return self.comm.Get_rank()

    def Barrier(self):
        self.comm.Barrier()

    def Split(self, key, color):
        """Return the ranks that give the same color, in the order of their keys; counts from 0."""
        return type(self)(self.comm.Split(color=color, key=key))

    def Allreduce(self, src, dst, op=MPI.SUM):
        """dst = the sum (or another op) of all ranks' src. Both have the same size."""
        require("Allreduce", src, dst)
        self.comm.Allreduce(src, dst, op=op)
        rank, ranks = self.Get_rank(), self.Get_size()
        parts = np.array_split(src.reshape(-1), ranks)
        # Twice round the ring, each time all parts but one.
        kept = parts[(rank + 1) % ranks].nbytes + parts[(rank + 2) % ranks].nbytes
        self.count(2 * (ranks - 1) * src.nbytes, 2 * src.nbytes - kept)

    def Allgather(self, src, dst):
        """dst = the src of all ranks, one after the other. dst is P times as large as src."""
        others = self.Get_size() - 1
        require("Allgather", src, dst, src_parts=others + 1)
        self.comm.Allgather(src, dst)
        self.count(others * (src.nbytes + dst.nbytes), others * src.nbytes)

    def Reduce_scatter(self, src, dst, op=MPI.SUM):
        """dst = this rank's part of the sum of all ranks' src. src is P times as large as dst."""
        others = self.Get_size() - 1
        require("Reduce_scatter", src, dst, dst_parts=others + 1)
        self.comm.Reduce_scatter_block(src, dst, op=op)
        self.count(others * (src.nbytes + dst.nbytes), others * dst.nbytes)

    def Alltoall(self, src, dst):
        """Part r of src goes to rank r; part r of dst comes from rank r. Both have one size."""
        require("Alltoall", src, dst, divisor=self.Get_size())
        self.comm.Alltoall(src, dst)
        sent = src.nbytes - src.nbytes // self.Get_size()  # its own part goes nowhere
        self.count(2 * sent, sent)

    def myAllreduce(self, src, dst, op=MPI.SUM):
        """Allreduce, from messages between neighbors in a ring.

        The array is cut into as many parts as there are ranks. In the first P-1 steps each part
        goes once round the ring, and every rank adds its own numbers to it; in the next P-1 steps
        the finished parts go round, and are kept (Patarasuk and Yuan 2009).
        """
        require("myAllreduce", src, dst)
        rank, ranks, sent = self.Get_rank(), self.Get_size(), 0
        right, left = (rank + 1) % ranks, (rank - 1) % ranks
        np.copyto(dst.reshape(-1), src.reshape(-1))
        parts = np.array_split(dst.reshape(-1), ranks)  # views: what is written to them is in dst
        arriving = np.empty(parts[0].size, dst.dtype)  # part 0 is the longest
        for step in range(2 * (ranks - 1)):
            going, coming = parts[(rank - step) % ranks], parts[(rank - step - 1) % ranks]
            adds = step < ranks - 1
            arrived = arriving[: coming.size] if adds else coming
            # Sendrecv does both at once: if all ranks first sent, they could wait for ever.
            self.comm.Sendrecv(going, dest=right, recvbuf=arrived, source=left)
            if adds:
                op.Reduce_local(arrived, coming)
            sent += going.nbytes
        self.count(2 * (ranks - 1) * src.nbytes, sent)

    def myAlltoall(self, src, dst):
        """Alltoall, from messages between pairs of ranks.

        In step s a rank sends to the rank s places to its right, and receives from the one s places
        to its left: nobody gets two messages in one step.
        """
        rank, ranks, sent = self.Get_rank(), self.Get_size(), 0
        require("Alltoall", src, dst, divisor=ranks)
        going, coming = src.reshape(ranks, -1), dst.reshape(ranks, -1)
        coming[rank] = going[rank]
        for step in range(1, ranks):
            right, left = (rank + step) % ranks, (rank - step) % ranks
            self.comm.Sendrecv(going[right], dest=right, recvbuf=coming[left], source=left)
            sent += going[right].nbytes
        self.count(2 * sent, sent)

    def count(self, as_the_course, sent):
        self.total_bytes_transferred += as_the_course
        self.bytes_sent += sent


def require(call, src, dst, src_parts=1, dst_parts=1, divisor=1):
    """Refuse arrays for which MPI would read or write memory that it should not.

    src_parts, dst_parts: how many arrays of that size the other one holds.
    """
    for name, array in (("src", src), ("dst", dst)):
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            told = "must be a NumPy array without gaps in memory: give np.ascontiguousarray"
            raise ValueError(f"{call}: {name} {told}({name})")
    if src.dtype != dst.dtype:
        raise ValueError(f"{call}: src holds {src.dtype} and dst {dst.dtype}: give one type")
    if src.size * src_parts != dst.size * dst_parts or src.size % divisor:
        raise ValueError(
            f"{call}: src has {src.size} numbers and dst has {dst.size}: they must be as many, or "
            "for Allgather and Reduce_scatter the ranks times as many, and in an all-to-all a "
            "multiple of the ranks"
        )
