"""One hop and two: the same layer as on one device, and fewer rows between the nodes."""

from functools import partial

import pytest
import torch
import torch.distributed as dist
from hops import hop, limited

from helpers.ranks import launch
from helpers.trace import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

T, D, E, K = 24, 6, 16, 4  # of each rank; experts of all four ranks


def draw(rank):
    made = torch.Generator().manual_seed(rank)
    x = torch.randn(T, D, generator=made, dtype=torch.double)
    scores = torch.rand(T, E, generator=made, dtype=torch.double)
    return x, scores


def matrices():
    return torch.randn(E, D, D, generator=torch.Generator().manual_seed(9), dtype=torch.double)


def layer(matrices, x, weights):
    return torch.einsum("te,td,edf->tf", weights, x, matrices)


def on_a_rank(most):
    rank = dist.get_rank()
    across = [dist.new_group([local, local + 2]) for local in (0, 1)][rank % 2]
    inside = [dist.new_group([first, first + 1]) for first in (0, 2)][rank // 2]
    x, scores = draw(rank)
    weights = limited(scores, 2, most, K).requires_grad_()
    found = {}
    for name in ("one", "two"):
        own = matrices().chunk(4)[rank].clone().requires_grad_()
        mine, recorder = partial(layer, own), Recorder(rank)
        start = x.clone().requires_grad_()
        if name == "one":
            y = hop(start, weights, None, mine, recorder)
        else:
            then = partial(hop, group=inside, then=mine)
            y = hop(start, weights, across, then, recorder)
        y.square().sum().backward()
        first = recorder.trace().events[0].info["gives"]
        node = rank // 2
        other = first[1 - node] if name == "two" else sum(first[2 * (1 - node) :][:2])
        found[name] = (y.detach(), start.grad, own.grad, other)
    return x, weights.detach(), found


def test_two_hops_compute_what_one_device_does_with_fewer_rows_between_nodes():
    for most in (1, 2):
        ranks = launch(on_a_rank, 4, (most,), quiet=True)
        x = torch.cat([rank[0] for rank in ranks]).requires_grad_()
        weights, whole = torch.cat([rank[1] for rank in ranks]), matrices().requires_grad_()
        assert (weights.view(-1, 2, 8).any(-1).sum(-1) <= most).all()
        assert ((weights > 0).sum(-1) == K).all()
        y = layer(whole, x, weights)
        y.square().sum().backward()
        for name in ("one", "two"):
            parts = zip(*(rank[2][name] for rank in ranks), strict=True)
            ours, inputs, own, _ = parts
            for a, b in ((ours, y), (inputs, x.grad), (own, whole.grad)):
                torch.testing.assert_close(torch.cat(a), b, rtol=1e-12, atol=1e-12)
        for rank in ranks:
            assert rank[2]["two"][3] < rank[2]["one"][3]
