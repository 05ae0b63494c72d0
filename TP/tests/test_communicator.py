"""The wrapper returns what MPI's own calls do, counts the bytes, and refuses wrong arrays."""

import numpy as np
import pytest
from mpi4py import MPI
from mpi_wrapper.comm import Communicator

pytestmark = pytest.mark.mpi


def mine(world, shape, dtype=np.float64):
    return np.random.default_rng(world.Get_rank()).integers(1, 5, shape).astype(dtype)


class Spy:
    """A communicator that adds up what is really sent."""

    def __init__(self, comm):
        self.comm, self.sent = comm, 0

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def Sendrecv(self, sendbuf, dest, recvbuf, source):
        self.sent += sendbuf.nbytes
        self.comm.Sendrecv(sendbuf, dest=dest, recvbuf=recvbuf, source=source)


@pytest.mark.parametrize(("op", "dtype"), [(MPI.SUM, np.float64), (MPI.MAX, np.int32)])
@pytest.mark.parametrize("size", [0, 1, 7, 1001])
def test_my_allreduce_is_mpis_and_its_bytes_are_those_that_are_sent(world, op, dtype, size):
    src = mine(world, size, dtype)
    ours, right = np.empty_like(src), np.empty_like(src)
    spied, counted = Communicator(Spy(world)), Communicator(world)
    spied.myAllreduce(src, ours, op=op)
    counted.Allreduce(src, right, op=op)
    assert np.array_equal(ours, right)
    assert spied.comm.sent == spied.bytes_sent == counted.bytes_sent
    assert world.allreduce(counted.bytes_sent) == 2 * (world.Get_size() - 1) * src.nbytes


def test_my_alltoall_is_mpis(world):
    src = mine(world, (world.Get_size(), 2, 5))
    ours, right, wrapped = (np.empty_like(src) for _ in range(3))
    spied, counted = Communicator(Spy(world)), Communicator(world)
    spied.myAlltoall(src, ours)
    counted.Alltoall(src, wrapped)
    assert spied.comm.sent == spied.bytes_sent == counted.bytes_sent
    world.Alltoall(src, right)
    assert np.array_equal(ours, right) and np.array_equal(wrapped, right)


def test_results_and_counts_of_the_other_collectives(world):
    rank, ranks, comm = world.Get_rank(), world.Get_size(), Communicator(world)
    others, part, whole = ranks - 1, np.arange(3.0) + 3 * rank, np.empty(3 * ranks)
    comm.Allgather(part, whole)
    assert np.array_equal(whole, np.arange(3.0 * ranks))
    assert comm.bytes_sent == others * 24
    assert comm.total_bytes_transferred == others * (24 + 24 * ranks)
    comm.Reduce_scatter(whole + rank, found := np.empty(3))
    assert np.array_equal(found, ranks * part + sum(range(ranks)))
    assert comm.bytes_sent == 2 * others * 24
    both = comm.total_bytes_transferred
    comm.Allreduce(part, np.empty_like(part))
    assert comm.total_bytes_transferred - both == 2 * others * 24
    group = comm.Split(key=-rank, color=0)
    assert group.Get_rank() == others - rank and group.total_bytes_transferred == 0


def test_wrong_arrays_are_refused_before_mpi_reads_them(world):
    four, nine = np.ones(4), np.ones(9)
    for call, src, dst, words in (
        ("Allreduce", np.ones((4, 4))[:, :2], np.ones((4, 2)), "give np.ascontiguousarray.src."),
        ("Allreduce", four, np.ones((4, 2))[:, 0], "give np.ascontiguousarray.dst."),
        ("Allreduce", four, np.ones(4, np.float32), "src holds float64 and dst float32"),
        ("Allreduce", [1.0], np.ones(1), "src must be a NumPy array"),
        ("myAllreduce", nine, np.ones(8), "src has 9 numbers and dst has 8"),
        ("Allgather", four, four, "src has 4 numbers and dst has 4"),
        ("Reduce_scatter", four, four, "src has 4 numbers and dst has 4"),
        ("Alltoall", nine, nine, "a multiple of the ranks"),
        ("myAlltoall", nine, nine, "a multiple of the ranks"),
    ):
        with pytest.raises(ValueError, match=words):
            getattr(Communicator(world), call)(src, dst)
