"""The exchange: the deadlock says so, and three ways bring the tensor of the left neighbor."""

import exchange
import pytest
import torch
import torch.distributed as dist

from helpers.check.task import ROOT
from helpers.ranks import launch, run_script

pytestmark = pytest.mark.ranks

TYPES = ("float32", "int64", "bfloat16")


def by_all_ways():
    """For each way and type: what came, and whether the own tensor stayed."""
    rank, ranks, found = dist.get_rank(), dist.get_world_size(), {}
    for name, way in exchange.ways().items():
        for dtype in TYPES if name != "deadlock" else ():
            mine = torch.full((2, 3), 10 + rank, dtype=getattr(torch, dtype))
            before = mine.clone()
            found[name, dtype] = way(mine, rank, ranks), torch.equal(mine, before)
    return found


def test_three_ways_bring_the_tensor_of_the_left_neighbor():
    # With two ranks, the left neighbor is the right one; the script below has two.
    everywhere = launch(by_all_ways, 3, timeout=400, quiet=True)
    assert len(everywhere[0]) == 3 * len(TYPES)
    for rank, found in enumerate(everywhere):
        for (name, dtype), (theirs, stayed) in found.items():
            sent = torch.full((2, 3), 10 + (rank - 1) % 3, dtype=getattr(torch, dtype))
            assert torch.equal(theirs, sent) and stayed, (name, rank)


def test_the_script_shows_each_way_and_that_the_deadlock_ends_in_words():
    report = run_script(ROOT / "primer/exchange.py", ranks=2, quiet=True, timeout=400)
    said = [f"{way}: rank 1 got [0.0, 0.0, 0.0, 0.0]" for way in ("order", "no-wait", "batch")]
    assert report.ok and report.texts[1].splitlines() == said, report
    flags = ["--way", "deadlock"]
    report = run_script(ROOT / "primer/exchange.py", 3, flags, quiet=True, timeout=400)
    assert "a ring of sends. Ranks 0, 1 and 2 all send first" in str(report), report
    assert "in exchange_deadlock" in str(report) and "dist.send(mine, right)" in str(report)
