"""The two halves of the backward pass: together the whole one, and no work done twice."""

import weakref

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.pipeline import Pipeline
from helpers.pipeline.split_backward import full_backward, input_grad, weight_grad
from helpers.schedules import parse
from tests.said import said

from .models import VOCAB, Block, gradients_of, make_head

pytestmark = pytest.mark.ranks


class Tables(nn.Module):
    """Tokens and positions, each with an embedding: two ways to the deepest place."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCAB, 12), nn.Embedding(4, 12)

    def forward(self, ids):
        return self.tokens(ids) + self.places(torch.arange(4))


STAGES = {
    "blocks": lambda: nn.Sequential(Block(), Block(), make_head()),
    "first, embedding alone": lambda: nn.Embedding(VOCAB, 12),
    "first, two tables": lambda: nn.Sequential(Tables(), Block()),
    "no weights": nn.Tanh,
    "numbers": lambda: nn.Sequential(nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 5)),
}


def one_pass(name):
    """A stage, its input, its output, a gradient for the output; always the same."""
    torch.manual_seed(3)
    stage = STAGES[name]().double()
    x = torch.randn(3, 4, 12).double().requires_grad_(name != "numbers")
    if name.startswith("first"):
        x = torch.randint(0, VOCAB, (3, 4))
    y = stage(x)
    return stage, x, y, torch.randn_like(y)


@pytest.mark.parametrize("name", STAGES)
def test_both_halves_together_are_the_whole(name):
    stage, x, y, gradient = one_pass(name)
    full_backward(y, gradient, x)
    right = gradients_of(stage), x.grad
    stage, x, y, gradient = one_pass(name)
    found, branches = input_grad(y, gradient, x)
    assert all(p.grad is None for p in stage.parameters())
    weight_grad(branches)
    torch.testing.assert_close((gradients_of(stage), found), right, rtol=1e-12, atol=1e-12)


class Products(TorchDispatchMode):
    """Counts the matrix products that are computed."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += "mm" in str(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("first, in_i", [(True, 1), (False, 2)])
def test_no_matrix_product_is_computed_twice_or_in_the_wrong_half(first, in_i):
    """Of two layers a first stage owes one gradient in I, that of what is between them."""
    stage = nn.Sequential(nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 12))
    x = torch.randn(3, 12, requires_grad=not first)
    y = stage(x)
    with Products() as products:
        branches = input_grad(y, torch.ones_like(y), x)[1]
        assert products.count == in_i
        weight_grad(branches)
        assert products.count == in_i + 2


def test_after_i_only_w_may_follow():
    stage = nn.Sequential(nn.Linear(10, 10), nn.GELU(), nn.Softmax(-1), nn.Linear(10, 10))
    x = torch.randn(4, 10, requires_grad=True)
    y = stage(x)
    _, branches = input_grad(y, torch.ones_like(y), x)
    assert "released after I" in said(y.sum().backward, retain_graph=True, error=RuntimeError)
    weight_grad(branches)
    assert all(p.grad is not None for p in stage.parameters())


ALIVE, MOST = weakref.WeakSet(), []  # the graphs that exist, and how many there were
ORDERS = {
    "F0 F1 F2 F3 B0 B1 B2 B3": 4,
    "F0 F1 B0 F2 B1 F3 B2 B3": 2,
    "F0 I0 F1 I1 W0 W1 F2 I2 W2 F3 I3 W3": 2,
}


class Live(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ALIVE.add(ctx)
        MOST.append(len(ALIVE))
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


@pytest.mark.parametrize("text", ORDERS)
def test_the_graph_of_a_micro_batch_is_gone_after_its_backward_pass(text):
    stage, x = nn.Sequential(nn.Linear(4, 4), nn.Identity(), nn.Linear(4, 4)), torch.randn(4, 4)
    stage[1].forward = Live.apply
    MOST.clear()
    Pipeline(parse(f"0: {text}"), {0: stage}, loss=nn.functional.mse_loss).step(x, x)
    assert (max(MOST), len(ALIVE)) == (ORDERS[text], 0)
