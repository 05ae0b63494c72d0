"""The bytes that each way of attention over ranks sends. (test_parity: each is one device.)"""

import pytest
import torch
import torch.distributed as dist
from heads import gathered_attention, ulysses_attention
from ring_attention import Ring, ring_attention
from zigzag import zigzag

from helpers.cost import ModelConfig, context_parallel_bytes
from helpers.ranks import launch
from helpers.trace import Recorder

pytestmark = pytest.mark.ranks


def count_bytes(ways):
    """On a rank: the bytes that it sends for one attention, forward and backward, of each way."""
    sent, rank, ranks = [], dist.get_rank(), dist.get_world_size()
    batch, exchange, gather, scatter = (
        getattr(dist, name)
        for name in ("batch_isend_irecv", "all_to_all_single", "all_gather", "reduce_scatter")
    )

    def counted(send, size):
        def sending(*given, **named):
            sent.append(size(*given))
            return send(*given, **named)

        return sending

    others = (ranks - 1) / ranks
    dist.batch_isend_irecv = counted(
        batch, lambda ops: sum(op.tensor.nbytes for op in ops[: len(ops) // 2])
    )
    dist.all_to_all_single = counted(exchange, lambda out, x: x.nbytes * others)
    dist.all_gather = counted(gather, lambda parts, x: x.nbytes * (ranks - 1))
    dist.reduce_scatter = counted(scatter, lambda out, parts: out.nbytes * (ranks - 1))
    ring = Ring(recorder=Recorder(rank, enabled=False))
    positions, found = [zigzag(32, ranks, r) for r in range(ranks)], []
    for way, heads in ways:
        mix = {
            "ring": lambda: ring_attention(ring, positions),
            "gather": lambda: gathered_attention(None, positions),
            "ulysses": lambda: ulysses_attention(None),
        }[way]()
        shapes = [(2, h, 32 // ranks, 8) for h in (4, heads, heads)]
        parts = [torch.randn(shape, dtype=torch.float16).float() for shape in shapes]
        parts = [part.requires_grad_() for part in parts]
        sent.clear()
        out = mix(*parts)
        ahead = sum(sent)
        out.sum().backward()
        found.append((ahead, sum(sent) - ahead))
    return found


def test_the_bytes_are_those_of_the_formula():
    ways = [(way, heads) for way in ("ring", "gather", "ulysses") for heads in (1, 2, 4)]
    found = launch(count_bytes, 4, (ways,), quiet=True)[0]
    for (way, heads), measured in zip(ways, found, strict=True):
        model = ModelConfig("llama", 32, 1, 4, heads, 8, 64, 100)
        formula = context_parallel_bytes(model, 2, 32, 4, way)
        assert measured == tuple(2 * size for size in formula), (way, heads)  # 4 bytes, not 2
    with pytest.raises(ValueError, match="way='star': choose one of ring, gather, ulysses"):
        context_parallel_bytes(model, 2, 32, 4, "star")
