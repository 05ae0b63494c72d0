"""Each operator forward, and backward: the gradient of the sum over all ranks' uses."""

import pytest
import torch
import torch.distributed as dist

from helpers.parallel import operators
from helpers.ranks import launch

pytestmark = pytest.mark.ranks

RANKS = 3
NAMES = (
    "copy_to_group",
    "reduce_from_group",
    "all_gather",
    "reduce_scatter",
    "split_to_group",
    "gather_from_group",
)


def tensor(seed, shape):
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(-9, 9, shape, generator=draw).double()


SHAPES = {name: (2, 6, 3) for name in NAMES} | dict.fromkeys(
    ("all_gather", "gather_from_group"), (2, 2, 3)
)


def run():
    """Of each operator: y, and the gradient of x for a gradient of y that is drawn by rank."""
    rank, found = dist.get_rank(), {}
    for name in NAMES:
        x = tensor(rank, SHAPES[name]).requires_grad_()
        dims = () if name in ("copy_to_group", "reduce_from_group") else (1,)
        y = getattr(operators, name)(x, None, *dims)
        (y * tensor(10 + rank, y.shape)).sum().backward()
        found[name] = y.detach(), x.grad
    with pytest.raises(ValueError) as refused:
        operators.split_to_group(torch.ones(2, 4), dim=1)
    return found | {"uneven": str(refused.value)}


@pytest.fixture(scope="module")
def found():
    return launch(run, RANKS, quiet=True)


def total(tensors):
    return torch.stack(list(tensors)).sum(0)


def expected(name, rank):
    """What autograd on one device would give, had it all ranks' tensors."""
    xs = [tensor(r, SHAPES[name]) for r in range(RANKS)]
    whole, small = (2, 6, 3), (2, 2, 3)
    big = [tensor(10 + r, whole) for r in range(RANKS)]
    little = [tensor(10 + r, small) for r in range(RANKS)]
    part = slice(2 * rank, 2 * rank + 2)
    return {
        "copy_to_group": lambda: (xs[rank], total(big)),
        "reduce_from_group": lambda: (total(xs), big[rank]),
        "all_gather": lambda: (torch.cat(xs, 1), total(big)[:, part]),
        "reduce_scatter": lambda: (total(xs)[:, part], torch.cat(little, 1)),
        "split_to_group": lambda: (xs[rank][:, part], torch.cat(little, 1)),
        "gather_from_group": lambda: (torch.cat(xs, 1), big[rank][:, part]),
    }[name]()


@pytest.mark.parametrize("name", NAMES)
def test_forward_and_backward(found, name):
    for rank in range(RANKS):
        for ours, right in zip(found[rank][name], expected(name, rank), strict=True):
            assert torch.equal(ours, right)


def test_one_process_alone_needs_no_connection():
    x = tensor(0, (2, 4)).requires_grad_()
    for name in NAMES:
        assert torch.equal(getattr(operators, name)(x), x)


def test_a_dimension_that_the_ranks_do_not_divide_is_refused(found):
    words = "dimension 1 of a tensor of shape (2, 4) cannot be cut into 3 equal parts"
    assert all(words in answers["uneven"] for answers in found)
