"""The wrapper: the results of MPI's own calls, bytes counted in two ways, and arrays refused."""

import numpy as np
import pytest
from mpi4py import MPI
from mpi_wrapper import Communicator
from mpi_wrapper.comm import part_sizes

pytestmark = pytest.mark.mpi


def mine(world, size, dtype=np.float64):
    values = np.random.default_rng(world.Get_rank()).integers(1, 5, size)
    return values.astype(dtype)


@pytest.mark.parametrize("op", [MPI.SUM, MPI.MAX, MPI.MIN, MPI.PROD])
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_my_allreduce_is_mpis(world, op, dtype):
    for size in (1, 2, 7, 16, 1001, 0):
        src = mine(world, size, dtype)
        ours, right = np.empty_like(src), np.empty_like(src)
        Communicator(world).myAllreduce(src, ours, op=op)
        world.Allreduce(src, right, op=op)
        assert np.array_equal(ours, right), size


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 5)])
def test_my_alltoall_is_mpis(world, shape):
    src = mine(world, (world.Get_size(), *shape))
    ours, right, wrapped = (np.empty_like(src) for _ in range(3))
    Communicator(world).myAlltoall(src, ours)
    Communicator(world).Alltoall(src, wrapped)
    world.Alltoall(src, right)
    assert np.array_equal(ours, right) and np.array_equal(wrapped, right)


class Spy:
    """A communicator that adds up what is really sent."""

    def __init__(self, comm):
        self.comm, self.sent = comm, 0

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def Sendrecv(self, sendbuf, dest, recvbuf, source):
        self.sent += sendbuf.nbytes
        self.comm.Sendrecv(sendbuf, dest=dest, recvbuf=recvbuf, source=source)


@pytest.mark.parametrize("size", [1, 10, 64, 1001])
def test_the_bytes_of_a_ring_are_those_that_are_sent(world, size):
    src = mine(world, size)
    spied = Communicator(Spy(world))
    spied.myAllreduce(src, np.empty_like(src))
    counted = Communicator(world)
    counted.Allreduce(src, np.empty_like(src))
    assert spied.comm.sent == spied.bytes_sent == counted.bytes_sent
    total = np.empty(1, dtype=np.int64)
    world.Allreduce(np.array([counted.bytes_sent]), total)
    assert total[0] == 2 * (world.Get_size() - 1) * src.nbytes


def test_counts_of_the_other_collectives(world):
    others, ranks = world.Get_size() - 1, world.Get_size()
    comm, part, whole = Communicator(world), np.ones(3), np.ones(3 * ranks)
    comm.Allgather(part, whole)
    assert comm.bytes_sent == others * 24
    assert comm.total_bytes_transferred == others * (24 + 24 * ranks)
    comm.Reduce_scatter(whole, part)
    assert comm.bytes_sent == 2 * others * 24
    both = comm.total_bytes_transferred
    comm.Allreduce(part, np.empty_like(part))
    assert comm.total_bytes_transferred - both == 2 * others * 24
    assert comm.Split(key=0, color=0).total_bytes_transferred == 0


def test_reduce_scatter_gives_each_its_part_of_the_sum(world):
    rank, ranks = world.Get_rank(), world.Get_size()
    found = np.empty(2)
    Communicator(world).Reduce_scatter(np.arange(2.0 * ranks) + rank, found)
    whole = ranks * np.arange(2.0 * ranks) + sum(range(ranks))
    assert np.array_equal(found, whole[2 * rank : 2 * rank + 2])


def test_split_sorts_by_the_key(world):
    group = Communicator(world).Split(key=-world.Get_rank(), color=0)
    assert group.Get_rank() == world.Get_size() - 1 - world.Get_rank()


def test_part_sizes():
    assert part_sizes(7, 3) == [3, 2, 2] and part_sizes(2, 4) == [1, 1, 0, 0]


def test_an_operation_that_is_unknown_is_refused(world):
    with pytest.raises(ValueError, match="take SUM, PROD, MIN or MAX"):
        Communicator(world).myAllreduce(np.ones(2), np.ones(2), op=MPI.LAND)


@pytest.mark.parametrize(
    ("call", "src", "dst", "words"),
    [
        ("Allreduce", np.ones((4, 4))[:, :2], np.ones((4, 2)), "give np.ascontiguousarray.src."),
        ("Allreduce", np.ones(4), np.ones((4, 2))[:, 0], "give np.ascontiguousarray.dst."),
        ("Allreduce", np.ones(4), np.ones(4, np.float32), "src holds float64 and dst float32"),
        ("myAllreduce", np.ones(9), np.ones(8), "src has 9 numbers and dst has 8"),
        ("Allreduce", [1.0], np.ones(1), "src must be a NumPy array"),
        ("Allgather", np.ones(4), np.ones(4), "src has 4 numbers and dst has 4"),
        ("Reduce_scatter", np.ones(4), np.ones(4), "src has 4 numbers and dst has 4"),
        ("Alltoall", np.ones(9), np.ones(9), "a multiple of the ranks"),
        ("myAlltoall", np.ones(9), np.ones(9), "a multiple of the ranks"),
    ],
)
def test_wrong_arrays_are_refused_before_mpi_reads_them(world, call, src, dst, words):
    with pytest.raises(ValueError, match=words):
        getattr(Communicator(world), call)(src, dst)
