"""Hiding messages: whatever travels meanwhile, results and gradients are one device's."""

import copy

import async_tp
import halves
import prefetch
import pytest
import torch
import torch.distributed as dist
from rank import Rank

from helpers.ranks import launch

pytestmark = pytest.mark.ranks


def differences(pairs):
    return max(float((found - right).abs().max()) for found, right in pairs)


def of_mlp():
    draw, n, r = torch.Generator().manual_seed(0), dist.get_world_size(), dist.get_rank()
    sizes, dims = ((4 * n, 6), (6, 8 * n), (8 * n, 6)), (0, 1, 0)
    whole = [torch.randn(s, generator=draw, dtype=torch.double, requires_grad=True) for s in sizes]
    pairs = list(zip(whole, dims, strict=True))
    mine = [t.detach().chunk(n, dim)[r].clone().requires_grad_() for t, dim in pairs]
    y = async_tp.mlp(*mine, async_tp.Ring(Rank()))
    right = (whole[0] @ whole[1]).relu() @ whole[2]
    for result in (y, right):
        result.square().sum().backward()
    grads = [(a.grad, b.grad.chunk(n, d)[r]) for a, (b, d) in zip(mine, pairs, strict=True)]
    return differences([(y, right.chunk(n)[r]), *grads])


@pytest.mark.parametrize("ranks", [1, 3])
def test_products_in_a_ring_are_those_of_one_device_and_so_are_their_gradients(ranks):
    assert max(launch(of_mlp, ranks, quiet=True)) < 1e-10


def of_units(ahead):
    torch.set_default_dtype(torch.double)
    torch.manual_seed(0)
    prefetch.Unit.most = 0
    n, r = dist.get_world_size(), dist.get_rank()
    modules = [torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.Tanh()) for _ in range(4)]
    whole, x = torch.nn.Sequential(*copy.deepcopy(modules)), torch.randn(2 * n, 5)
    units = [prefetch.Unit(module, Rank()) for module in modules]
    y, _ = prefetch.step(units, prefetch.Prefetch(units, ahead), x.chunk(n)[r])
    right = whole(x)
    (right.square().sum() / 2).backward()
    pairs = [(y, right.chunk(n)[r])]
    mine = torch.nn.ModuleList(modules).parameters()
    for found, p in zip(mine, whole.parameters(), strict=True):
        dist.all_reduce(found.grad)
        pairs.append((found.grad, p.grad))
    return differences(pairs), prefetch.Unit.most, prefetch.Unit.alive


def test_gathered_early_units_compute_the_same_and_are_freed():
    for found in launch(lambda: [of_units(ahead) for ahead in (3, 0, 1)], 3, quiet=True):
        assert [most for _, most, _ in found] == [4, 1, 2]
        assert all(off < 1e-14 and alive == 0 for off, _, alive in found)


def of_halves(way):
    draw, n, r = torch.Generator().manual_seed(0), dist.get_world_size(), dist.get_rank()

    def some(*shape):
        return torch.randn(shape, generator=draw, dtype=torch.double) / 2

    attention, experts, xs = some(2, 5, 5), some(2, n, 5, 5), some(n, 2, 7, 5)
    ids = torch.randint(99, (n, 2, 7), generator=draw)
    mine = [w.clone().requires_grad_() for w in attention]
    own = [w[r].clone().requires_grad_() for w in experts]
    layers, rank = halves.Layers(mine, own), Rank()
    passes = [halves.Forward(layers, halves.Wire(ids[r, h], rank), xs[r, h]) for h in (0, 1)]
    if way == "pair":  # the first half's backward beside the second one's forward
        halves.one_by_one(passes[0])
        backs = [halves.Backward(passes[0], passes[0].stays)]
        halves.in_turn(backs[0], passes[1])
        backs.append(halves.Backward(passes[1], passes[1].stays))
        halves.one_by_one(backs[1])
    else:
        getattr(halves, way)(*passes)
        backs = [halves.Backward(one, one.stays) for one in passes]
        getattr(halves, way)(*backs)
    whole = [t.requires_grad_() for t in (attention, experts, xs)]
    y, to = xs, ids % n
    for a, e in zip(attention, experts, strict=True):
        y = y + (y @ a).tanh()
        y = y + torch.einsum("...d,...df->...f", y, e[to]).tanh()
    (y.square().sum() / 2).backward()
    of_attention, of_experts, of_x = (t.grad for t in whole)
    pairs = [(one.stays, y[r, h]) for h, one in enumerate(passes)]
    pairs += [(back.stays, of_x[r, h]) for h, back in enumerate(backs)]
    for number in (0, 1):
        dist.all_reduce(mine[number].grad)
        pairs += [(mine[number].grad, of_attention[number])]
        pairs += [(own[number].grad, of_experts[number, r])]
    return differences(pairs)


def test_two_halves_are_one_batch_whatever_their_order():
    ways = ("one_by_one", "in_turn", "pair")
    for found in launch(lambda: [of_halves(way) for way in ways], 3, quiet=True):
        assert max(found) < 1e-12, dict(zip(ways, found, strict=True))
