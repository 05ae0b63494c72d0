"""Messages between neighbors: the scripts' ways and deadlock, and the ring's sums."""

import pytest
import ring
import torch
import torch.distributed as dist

from helpers.check.task import ROOT
from helpers.ranks import launch, run_script

pytestmark = pytest.mark.ranks


def test_the_scripts_show_each_way_that_the_deadlock_ends_in_words_and_the_rings_bytes():
    report = run_script(ROOT / "primer/exchange.py", ranks=2, quiet=True, timeout=400)
    said = [f"{way}: rank 1 got [0.0, 0.0, 0.0, 0.0]" for way in ("order", "no-wait", "batch")]
    assert report.ok and report.texts[1].splitlines() == said, report
    flags = ["--way", "deadlock"]
    report = run_script(ROOT / "primer/exchange.py", 3, flags, quiet=True, timeout=400)
    assert "a ring of sends. Ranks 0, 1 and 2 all send first" in str(report), report
    assert "in exchange_deadlock" in str(report) and "dist.send(mine, right)" in str(report)
    report = run_script(ROOT / "primer/ring.py", 3, ["--numbers", "3000"], quiet=True, timeout=400)
    assert report.ok, report
    assert "rank 2 has sent 16,000 bytes = 1.333 of the tensor" in report.texts[0]
    assert "by closed form: 2 (n - 1) / n = 1.333" in report.texts[0]


CASES = [(shape, "float64", 1e-12) for shape in ((1,), (3,), (7,), (3, 5), (2, 3, 2), (), (4, 0))]
CASES += [((11,), "float32", 1e-5), ((11,), "bfloat16", 1e-1), ((11,), "int64", 0)]


def add_up():
    """Of each case: what the ring gave, what torch gives, and the bytes that were sent."""
    rank, ranks, found = dist.get_rank(), dist.get_world_size(), []
    for shape, dtype, _ in CASES:
        torch.manual_seed(rank)
        ours = (4 * torch.randn(shape)).to(getattr(torch, dtype))
        ours.requires_grad_(shape == (7,))
        if ours.dim() == 2:
            ours = ours.t()
        torchs = ours.clone(memory_format=torch.contiguous_format)
        sent = ring.ring_all_reduce(ours, rank, ranks)
        dist.all_reduce(torchs)
        found.append((ours, torchs, sent))
    return found


def test_the_ring_gives_the_sums_of_torch_in_as_few_bytes():
    everywhere = launch(add_up, 4, timeout=400, quiet=True)
    for case, *found in zip(CASES, *everywhere, strict=True):
        for ours, torchs, sent in found:
            torch.testing.assert_close(ours, torchs, rtol=case[2], atol=case[2], msg=str(case))
            assert torch.equal(ours, found[0][0]), f"{case}: all ranks have the same bits"
            assert sent <= 2 * 3 * -(-ours.numel() // 4) * ours.itemsize, case
        assert sum(sent for _, _, sent in found) == 2 * 3 * found[0][0].nbytes, case
    alone = torch.tensor([1.0, 2.0])
    assert ring.ring_all_reduce(alone, 0, 1) == 0 and alone.tolist() == [1.0, 2.0]
