"""What the tasks on MPI share: mpi4py's communicator, as far as they need it, without MPI.

The work runs on the ranks of this lab. `Comm` has the methods of mpi4py that the lab allows, with
its rules: it reads memory, so an array must have no gaps, and both arrays one type.
"""

import numpy as np
import torch
import torch.distributed as dist

ALLOWED = "Allgather, Allreduce, Reduce_scatter, Alltoall, Split, Barrier, Get_rank and Get_size"


class Comm:
    """The ranks `members` of the world, in this order; by default all of them."""

    def __init__(self, members=None):
        self.here = dist.get_rank()
        self.members = list(members or range(dist.get_world_size()))
        self.rank, self.size = self.members.index(self.here), len(self.members)

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Barrier(self):
        self.exchange(np.zeros(1))

    def Split(self, *places, color=0, key=0):
        if places:
            raise TypeError(
                "Split was called without keywords: mpi4py wants the color first, and the lab's "
                "Communicator the key, so write Split(color=…, key=…)"
            )
        found = dict(zip(self.members, self.exchange(np.array([color, key])), strict=True))
        mine = [rank for rank, (its, _) in found.items() if its == color]
        return Comm(sorted(mine, key=lambda rank: (found[rank][1], rank)))

    def Allgather(self, src, dst):
        parts = self.parts("Allgather", src, dst, src.size * self.size == dst.size)
        dst.reshape(-1)[:] = np.concatenate(parts)

    def Allreduce(self, src, dst, op=None):
        dst.reshape(-1)[:] = sum(self.parts("Allreduce", src, dst, src.size == dst.size, op))

    def Reduce_scatter(self, src, dst, recvcounts=None, op=None):
        fits = dst.size * self.size == src.size
        total = sum(self.parts("Reduce_scatter", src, dst, fits, op))
        dst.reshape(-1)[:] = np.split(total, self.size)[self.rank]

    def Alltoall(self, src, dst):
        parts = self.parts("Alltoall", src, dst, src.size == dst.size)
        dst.reshape(-1)[:] = np.concatenate([np.split(p, self.size)[self.rank] for p in parts])

    def __getattr__(self, name):
        raise AttributeError(f"this lab's communicators have no {name}: use {ALLOWED}")

    def parts(self, call, src, dst, fits, op=None):
        """The flat arrays of all members; TypeError or ValueError for what MPI would read wrong."""
        for name, array in (("first", src), ("second", dst)):
            if not isinstance(array, np.ndarray):
                raise TypeError(f"{call}: the {name} argument must be a NumPy array")
            if not array.flags.c_contiguous:
                raise ValueError(
                    f"{call}: the {name} array has gaps in memory, and MPI sends memory: give "
                    "np.ascontiguousarray(…) of it"
                )
        if src.dtype != dst.dtype:
            raise ValueError(
                f"{call}: the first array holds {src.dtype} and the second {dst.dtype}: make the "
                "second with the dtype of the first"
            )
        if not fits:
            raise ValueError(
                f"{call}: arrays of {src.size} and {dst.size} numbers do not fit together on "
                f"{self.size} ranks"
            )
        if op is not None and "SUM" not in str(getattr(op, "name", op)).upper():
            raise ValueError(f"{call}: this lab adds up: leave op away, or give MPI.SUM")
        return self.exchange(src.reshape(-1))

    def exchange(self, array):
        """The arrays of all members, in their order; every member must call it."""
        mine = torch.from_numpy(array.copy())
        found = {r: mine if r == self.here else torch.empty_like(mine) for r in self.members}
        others = [rank for rank in self.members if rank != self.here]
        messages = [dist.irecv(found[rank], rank) for rank in others]
        for message in [*messages, *(dist.isend(mine, rank) for rank in others)]:
            message.wait()
        return [found[rank].numpy() for rank in self.members]


STOPPED = {  # in Comm.exchange
    r" \((irecv|isend)\)": "a rank waits in a collective that another one never calls: every rank "
    "of the group must call it, all in the same order"
}
