"""Ring, Ulysses and gather are one device's attention, and send the bytes that the formulas say."""

import random
from functools import partial

import pytest
import torch
import torch.distributed as dist
from heads import gathered_attention, ulysses_attention
from online import Recomputed
from ring_attention import Ring, ring_attention
from zigzag import LAYOUTS

from helpers.cost import ModelConfig, context_parallel_bytes
from helpers.parallel.context import visible
from helpers.ranks import launch
from helpers.trace import Recorder
from simplellm.blocks import attend

pytestmark = pytest.mark.ranks

TOLERANCE = 1e-12
CASES = 8


def draw(seed, ranks):
    """Sizes of one case, and q, k, v, documents and a gradient for the whole sequence."""
    pick, values = random.Random(seed), torch.Generator().manual_seed(seed)
    group, keys = pick.choice((1, 2, 3)), pick.choice((1, 2, ranks))
    rows, head = pick.choice((1, 2)), pick.choice((2, 5, 8))
    length = 2 * ranks * pick.choice((1, 2, 5))

    def tensor(heads):
        return 3 * torch.randn(rows, heads, length, head, generator=values, dtype=torch.float64)

    documents = None
    if pick.random() < 0.6:
        starts = torch.rand(rows, length, generator=values) < pick.choice((0.1, 0.5))
        documents = starts.cumsum(1)
    return tensor(group * keys), tensor(keys), tensor(keys), documents, tensor(group * keys)


def one_device(q, k, v, documents, gradient):
    q, k, v = (t.clone().requires_grad_() for t in (q, k, v))
    everything = torch.arange(q.shape[2])
    out = attend(q, k, v, mask=visible(everything, everything, documents))
    return out.detach(), *torch.autograd.grad(out, (q, k, v), gradient)


def on_a_rank(seeds):
    """The largest relative difference of each case, way and result, and the sizes of messages."""
    rank, ranks, found = dist.get_rank(), dist.get_world_size(), {}
    ring = Ring(recorder=Recorder(rank, enabled=False))
    for seed in seeds:
        q, k, v, documents, gradient = draw(seed, ranks)
        right, length = one_device(q, k, v, documents, gradient), q.shape[2]
        ways = {}
        for name, cut in LAYOUTS.items():
            positions = [cut(length, ranks, r) for r in range(ranks)]
            ways[f"ring, {name}"] = positions, ring_attention(ring, positions, documents)
            ways[f"gather, {name}"] = positions, gathered_attention(None, positions, documents)
        if q.shape[1] % ranks == 0 and (k.shape[1] % ranks == 0 or ranks % k.shape[1] == 0):
            positions = [LAYOUTS["contiguous"](length, ranks, r) for r in range(ranks)]
            ways["ulysses"] = positions, ulysses_attention(None, documents)
        for name, (positions, mix) in ways.items():
            mine = positions[rank]
            parts = [t[:, :, mine].clone().requires_grad_() for t in (q, k, v)]
            out = mix(*parts)
            results = out.detach(), *torch.autograd.grad(out, parts, gradient[:, :, mine])
            found[seed, name] = [
                ((a - b[:, :, mine]).abs().max() / b.abs().max().clamp(min=1.0)).item()
                for a, b in zip(results, right, strict=True)
            ]
    return found


@pytest.mark.parametrize("ranks", [3, 4])
def test_every_way_is_one_device(ranks):
    seeds = range(100 * ranks, 100 * ranks + CASES)
    for found in launch(on_a_rank, ranks, (list(seeds),), quiet=True, timeout=120):
        assert {name for _, name in found} >= {"ulysses", "ring, zigzag", "gather, contiguous"}
        for case, differences in found.items():
            assert max(differences) < TOLERANCE, (case, differences)


def ways_of(cut, length):
    """On a rank: each way to attend with all positions cut so, and this rank's positions."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    positions = [LAYOUTS[cut](length, ranks, r) for r in range(ranks)]
    ring = ring_attention(Ring(recorder=Recorder(rank, enabled=False)), positions)
    ways = {"ring": ring, "gather": gathered_attention(None, positions)}
    return ways | {"ulysses": ulysses_attention(None)}, positions[rank]


def in_half_precision(dtype):
    """On a rank: the error of each way against one device in float64, and torch's own."""
    length, values = 512, torch.Generator().manual_seed(3)
    *given, gradient = (torch.randn(1, 4, length, 16, generator=values).to(dtype) for _ in range(4))
    everything = torch.arange(length)
    mask, (ways, mine) = visible(everything, everything), ways_of("contiguous", length)
    right = one_device(*(t.double() for t in given), None, gradient.double())

    def errors(mix, mine):
        parts = [t[:, :, mine].clone().requires_grad_() for t in given]
        out = mix(*parts)
        results = out, *torch.autograd.grad(out, parts, gradient[:, :, mine])
        assert {result.dtype for result in results} == {dtype}
        pairs = zip(results, right, strict=True)
        return [((a - b[:, :, mine]).norm() / b[:, :, mine].norm()).item() for a, b in pairs]

    found = {name: errors(mix, mine) for name, mix in ways.items()}
    found["recomputed"] = errors(lambda *qkv: Recomputed.apply(*qkv, lambda: mask), everything)
    for mix in ways.values():
        for asked in ({"dropout": 0.5}, {"causal": False}):
            with pytest.raises(ValueError, match="drops nothing and is causal"):
                mix(*(t[:, :, mine] for t in given), **asked)
    return found, errors(attend, everything)


@pytest.mark.slow
def test_half_precision_is_summed_in_float32_and_dropout_is_refused():
    for dtype in (torch.bfloat16, torch.float16):
        for found, torchs in launch(in_half_precision, 4, (dtype,), quiet=True):
            for way, errors in found.items():
                assert all(a < 1.5 * b for a, b in zip(errors, torchs, strict=True)), (way, torchs)


def count_bytes(ways):
    """On a rank: the bytes that it sends for one attention, forward and backward, of each way."""
    sent, ranks = [], dist.get_world_size()
    sizes = {
        "batch_isend_irecv": lambda ops: sum(op.tensor.nbytes for op in ops[: len(ops) // 2]),
        "all_to_all_single": lambda out, x: x.nbytes * (ranks - 1) / ranks,
        "all_gather": lambda parts, x: x.nbytes * (ranks - 1),
        "reduce_scatter": lambda out, parts: out.nbytes * (ranks - 1),
    }

    def sending(send, size, *given, **named):
        sent.append(size(*given))
        return send(*given, **named)

    for name, size in sizes.items():
        setattr(dist, name, partial(sending, getattr(dist, name), size))
    mixes, _ = ways_of("zigzag", 32)
    found = []
    for way, heads in ways:
        shapes = [(2, h, 32 // ranks, 8) for h in (4, heads, heads)]
        parts = [torch.randn(shape).requires_grad_() for shape in shapes]
        sent.clear()
        out = mixes[way](*parts)
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
