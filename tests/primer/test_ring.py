"""The ring: the sums of dist.all_reduce for every shape, length and type, in as few bytes."""

import pytest
import ring
import torch
import torch.distributed as dist

from helpers.check.task import ROOT
from helpers.ranks import launch, run_script

pytestmark = pytest.mark.ranks

SHAPES = [(1,), (2,), (3,), (7,), (12,), (3, 5), (2, 3, 2), (), (0,), (4, 0)]
FLOATS = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2, "bfloat16": 1e-1, "complex64": 1e-5}
WHOLE = ["int32", "int64", "uint8", "int8"]


def add_up(cases):
    """Of each case: what the ring gave, what torch gives, and the bytes that were sent."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    found = []
    for shape, dtype in cases:
        torch.manual_seed(rank)
        ours = (4 * torch.randn(shape)).to(dtype)
        ours.requires_grad_(shape == (7,))
        if ours.dim() == 2:
            ours = ours.t()
        torchs = ours.clone(memory_format=torch.contiguous_format)
        sent = ring.ring_all_reduce(ours, rank, ranks)
        dist.all_reduce(torchs)
        found.append((ours, torchs, sent))
    return found


def test_the_ring_gives_the_sums_of_torch():
    ranks = 4
    cases = [(shape, torch.float64) for shape in SHAPES]
    cases += [((11,), getattr(torch, name)) for name in (*FLOATS, *WHOLE)]
    everywhere = launch(add_up, ranks, (cases,), timeout=400, quiet=True)
    for case, *found in zip(cases, *everywhere, strict=True):
        tolerance = FLOATS.get(str(case[1]).removeprefix("torch."), 0)
        for ours, torchs, _ in found:
            torch.testing.assert_close(ours, torchs, rtol=tolerance, atol=tolerance, msg=str(case))
            assert torch.equal(ours, found[0][0]), f"{case}: all ranks have the same bits"
        sizes = [ours.nbytes for ours, _, _ in found]
        together = sum(sent for _, _, sent in found)
        assert together == 2 * (ranks - 1) * sizes[0], case
        parts = -(-ours.numel() // ranks) * ours.itemsize
        assert all(sent <= 2 * (ranks - 1) * parts for _, _, sent in found), case


def test_a_rank_alone_keeps_its_tensor_and_sends_nothing():
    tensor = torch.tensor([1.0, 2.0])
    assert ring.ring_all_reduce(tensor, 0, 1) == 0
    assert tensor.tolist() == [1.0, 2.0]


def test_closed_forms():
    assert ring.sizes_sent(4) == {"star": (3, 6), "everyone": (3, 12), "ring": (1.5, 6)}
    assert set(ring.sizes_sent(1).values()) == {(0, 0)}


def test_the_script_prints_bytes_beside_the_closed_form():
    report = run_script(ROOT / "primer/ring.py", 3, ["--numbers", "3000"], quiet=True, timeout=400)
    assert report.ok, report
    assert "rank 2 has sent 16,000 bytes = 1.333 of the tensor" in report.texts[0]
    assert "ring                      1.333       4.000" in report.texts[0]
