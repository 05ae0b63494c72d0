"""Each rank has its place, its groups and its sizes, in every grid that the ranks can form."""

import numpy as np
import pytest
from model.func_impl import get_info

pytestmark = pytest.mark.mpi
IN, OUT = 48, 16


def grids(ranks):
    return [(mp, ranks // mp) for mp in range(1, ranks + 1) if ranks % mp == 0]


def info(comm, mp_size, dp_size, **changes):
    facts = {"is_fc1": True, "is_megatron_mp": False, "in_dim": IN, "out_dim": OUT} | changes
    rank = comm.Get_rank()
    return get_info(comm=comm, rank=rank, mp_size=mp_size, dp_size=dp_size, **facts)


def members(world, group):
    """The ranks of a group, in its order, by their numbers in the world."""
    found = np.empty(group.Get_size(), dtype=np.int64)
    group.Allgather(np.array([world.Get_rank()]), found)
    return found.tolist()


def test_the_groups_are_the_rows_and_columns_of_the_grid(comm):
    rank = comm.Get_rank()
    for mp_size, dp_size in grids(comm.Get_size()):
        mp_idx, dp_idx, mp_comm, dp_comm, _, _ = info(comm, mp_size, dp_size)
        assert (mp_idx, dp_idx) == (rank % mp_size, rank // mp_size)
        assert members(comm, mp_comm) == [dp_idx * mp_size + m for m in range(mp_size)]
        assert members(comm, dp_comm) == [d * mp_size + mp_idx for d in range(dp_size)]
        assert (mp_comm.Get_rank(), dp_comm.Get_rank()) == (mp_idx, dp_idx)


@pytest.mark.parametrize(
    ("is_fc1", "megatron", "cut"),
    [(True, False, "out"), (False, False, "out"), (True, True, "out"), (False, True, "in")],
)
def test_the_sizes_of_the_parts(world, is_fc1, megatron, cut):
    for mp_size, dp_size in grids(world.Get_size()):
        found = info(world, mp_size, dp_size, is_fc1=is_fc1, is_megatron_mp=megatron)[4:]
        assert found == (IN // mp_size, OUT) if cut == "in" else (IN, OUT // mp_size)


def test_a_grid_of_other_ranks_and_a_layer_that_cannot_be_cut_are_refused(world):
    mp_size = world.Get_size()
    with pytest.raises(ValueError, match=f"is {mp_size + 1}, and there are"):
        info(world, mp_size + 1, 1)
    with pytest.raises(ValueError, match=f"{mp_size + 1} outputs cannot be cut into {mp_size}"):
        info(world, mp_size, 1, out_dim=mp_size + 1)
    second = {"is_fc1": False, "is_megatron_mp": True}
    with pytest.raises(ValueError, match=f"{mp_size + 1} inputs cannot be cut"):
        info(world, mp_size, 1, in_dim=mp_size + 1, **second)
    info(world, mp_size, 1, out_dim=mp_size + 1, **second)  # its outputs are not cut
