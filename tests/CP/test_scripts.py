"""Both scripts train the LLaMA as one device does, in float64; the bytes that each way sends."""

import pytest
import torch
import torch.distributed as dist
from heads import gathered_attention, ulysses_attention
from ring_attention import Ring, ring_attention
from zigzag import zigzag

from helpers.cost import ModelConfig, context_parallel_bytes
from helpers.ranks import launch
from helpers.trace import Recorder
from tests.scripts import alone, on_rank

pytestmark = pytest.mark.ranks

SIZES = ["--dmodel", "16", "--heads", "4", "--layers", "2", "--seq-l", "16", "--steps", "3"]
FLAGS = [*SIZES, "--optimizer", "sgd", "--lr", "0.5"]
RING, EXCHANGE = "CP/ring/intro_CP_ring.py", "CP/ulysses/intro_CP_ulysses.py"
RUNS = (
    (RING, ["--cp", "2"]),
    (RING, ["--cp", "2", "--layout", "contiguous"]),
    (EXCHANGE, ["--cp", "2"]),
    (EXCHANGE, ["--cp", "2", "--way", "gather"]),
    (RING, ["--batch-size", "2"]),
    (EXCHANGE, ["--batch-size", "2"]),
)
LONG = ["--cp", "2", "--seq-l", "256", "--steps", "1"]  # a second story begins in it
APART = [(RING, LONG), (RING, [*LONG, "--apart"]), (EXCHANGE, [*LONG, "--apart"])]


def train(runs):
    torch.set_default_dtype(torch.float64)
    return [on_rank(script, [*FLAGS, *more])[:2] for script, more in runs]


def one_device(like_ranks):
    torch.set_default_dtype(torch.float64)
    try:
        return alone([*FLAGS, "--batch-size", "2", "--like-ranks", str(like_ranks)])
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.slow
def test_a_grid_of_context_and_data_parallel_ranks_is_one_device():
    right = {1: one_device(1), 2: one_device(2)}
    ranks = launch(train, 4, ([*RUNS, *APART],), quiet=True, timeout=120)
    for n, (script, more) in enumerate(RUNS):
        replicas = 2 if "--cp" in more else 1
        losses, weights = right[replicas]
        for rank in ranks:
            for name, weight in rank[n][1].items():
                assert (weight - weights[name]).abs().max() < 1e-12, (script, more, name)
        first, last = ranks[0][n][0], ranks[-1][n][0]
        means = [(a + b) / 2 for a, b in zip(first, last, strict=True)]
        assert means == pytest.approx(losses, abs=1e-12)
    plain, ring, exchanged = (losses[0] for losses, _ in ranks[0][len(RUNS) :])
    assert ring == pytest.approx(exchanged, abs=1e-12) and abs(ring - plain) > 1e-6


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
