"""The exchange: the deadlock says so, and three ways bring the tensor of the left neighbor."""

import exchange
import pytest
import torch
import torch.distributed as dist

from helpers.check.task import ROOT
from helpers.ranks import launch, run_script

pytestmark = pytest.mark.ranks

TYPES = ("float32", "float64", "int64", "bfloat16")


def by_all_ways():
    """For each way and each tensor: what came, and whether the own tensor stayed."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    found = {}
    for name, way in exchange.ways().items():
        for number, dtype in enumerate(TYPES if name != "deadlock" else ()):
            mine = torch.full((2, number), 10 * number + rank, dtype=getattr(torch, dtype))
            before = mine.clone()
            found[name, dtype] = way(mine, rank, ranks), torch.equal(mine, before)
    return found


def test_three_ways_bring_the_tensor_of_the_left_neighbor():
    ranks = 3  # with two, the left neighbor is the right one; the script below has two
    everywhere = launch(by_all_ways, ranks, timeout=400, quiet=True)
    assert len(everywhere[0]) == 3 * len(TYPES)
    for rank, found in enumerate(everywhere):
        for (name, dtype), (theirs, stayed) in found.items():
            number = TYPES.index(dtype)
            sent = torch.full((2, number), 10 * number + (rank - 1) % ranks)
            assert torch.equal(theirs, sent.to(getattr(torch, dtype))), (name, rank)
            assert stayed, (name, rank)


@pytest.mark.slow
def test_the_deadlock_ends_in_words():
    def stuck():
        mine = torch.ones(4)
        exchange.exchange_deadlock(mine, dist.get_rank(), dist.get_world_size())

    report = launch(stuck, 3, timeout=400, on_error="report", quiet=True)
    said = str(report)
    assert "a ring of sends. Ranks 0, 1 and 2 all send first" in said, said
    assert "in exchange_deadlock" in said and "dist.send(mine, right)" in said


@pytest.mark.parametrize(
    ("rank", "world_size", "sentence"),
    [
        (0, 1, "a ring of neighbors needs 2 ranks or more"),
        (3, 3, "rank is 3 and world_size is 3: ranks go from 0 to 2"),
        (-1, 3, "ranks go from 0 to 2"),
    ],
)
def test_no_such_neighbors(rank, world_size, sentence):
    with pytest.raises(ValueError, match=sentence):
        exchange.neighbours(rank, world_size)


def test_the_script_shows_each_way():
    report = run_script(ROOT / "primer/exchange.py", ranks=2, quiet=True, timeout=400)
    said = [f"{way}: rank 1 got [0.0, 0.0, 0.0, 0.0]" for way in ("order", "no-wait", "batch")]
    assert report.ok and report.texts[1].splitlines() == said, report
