"""Each operator forward, and backward: the gradient of the sum over all ranks' uses."""

import pytest
import torch
import torch.distributed as dist

from helpers.parallel import operators
from helpers.ranks import launch

pytestmark = pytest.mark.ranks

RANKS, WHOLE, PART = 3, (2, 6, 3), (2, 2, 3)


def tensor(seed, shape):
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(-9, 9, shape, generator=draw).double()


def total(tensors):
    return torch.stack(tensors).sum(0)


def expected(rank):
    """The shape of x, and what autograd on one device would give, had it all ranks' tensors."""
    big, little = ([tensor(r, shape) for r in range(RANKS)] for shape in (WHOLE, PART))
    more, less = ([tensor(10 + r, shape) for r in range(RANKS)] for shape in (WHOLE, PART))
    part = slice(2 * rank, 2 * rank + 2)
    return {
        "copy_to_group": (WHOLE, big[rank], total(more)),
        "reduce_from_group": (WHOLE, total(big), more[rank]),
        "all_gather": (PART, torch.cat(little, 1), total(more)[:, part]),
        "reduce_scatter": (WHOLE, total(big)[:, part], torch.cat(less, 1)),
        "split_to_group": (WHOLE, big[rank][:, part], torch.cat(less, 1)),
        "gather_from_group": (PART, torch.cat(little, 1), more[rank][:, part]),
    }


def run():
    """On a rank: each operator, with a gradient of y that is drawn by rank."""
    rank = dist.get_rank()
    for name, (shape, right, gradient) in expected(rank).items():
        x = tensor(rank, shape).requires_grad_()
        dims = () if name in ("copy_to_group", "reduce_from_group") else (1,)
        y = getattr(operators, name)(x, None, *dims)
        (y * tensor(10 + rank, y.shape)).sum().backward()
        assert torch.equal(y, right) and torch.equal(x.grad, gradient), name
    with pytest.raises(ValueError, match=r"shape \(2, 4\) cannot be cut into 3 equal parts"):
        operators.split_to_group(torch.ones(2, 4), dim=1)
    return True


def test_forward_and_backward():
    assert launch(run, RANKS, quiet=True) == [True] * RANKS
    for name in expected(0):  # and one process alone needs no connection
        assert torch.equal(getattr(operators, name)(torch.ones(2, 4)), torch.ones(2, 4))
