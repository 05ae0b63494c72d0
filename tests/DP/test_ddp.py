"""Four ways to average gradients: each is one device, whatever the model and the buckets."""

from functools import partial

import pytest
import torch
from buckets import Buckets
from flat import Flat
from hooks import Hooks
from torch import nn

from helpers.ranks import find_place, launch
from helpers.trace import Recorder

pytestmark = pytest.mark.ranks

RANKS, STEPS = 3, 3
# float64; only the order of adding differs.
assert_same = partial(torch.testing.assert_close, rtol=0, atol=1e-12)


class Tied(nn.Module):
    """An embedding that is the head too: its gradient is complete last of all."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 11, bias=False)
        self.middle = nn.Linear(8, 8)

    def forward(self, ids):
        return self.head(torch.tanh(self.middle(self.head.weight[ids])))


class Skipping(Tied):
    """Only rank 1 uses one of its layers, and nobody uses another; one is frozen."""

    def __init__(self):
        super().__init__()
        self.sometimes, self.never = nn.Linear(8, 8), nn.Linear(8, 8)
        self.middle.bias.requires_grad_(False)

    def forward(self, ids, rank=0):
        x = torch.tanh(self.middle(self.head.weight[ids]))
        return self.head(self.sometimes(x) if rank == 1 else x)


def make(kind):
    torch.manual_seed(0)
    return kind().double()


def batch(rank, step):
    return torch.randint(0, 11, (2, 5), generator=torch.Generator().manual_seed(10 * step + rank))


def loss_of(model, ids, rank):
    logits = model(ids, rank) if isinstance(model, Skipping) else model(ids)
    return nn.functional.cross_entropy(logits.flatten(0, 1), ids.roll(1, 1).flatten())


BUCKETS = {
    f"buckets, {name}": partial(Buckets, megabytes=size, first=size)
    for name, size in (("one for each", 1e-9), ("two or three", 400 / 2**20), ("all in one", 25))
}
WAYS = {"flat": Flat, "hooks": Hooks} | BUCKETS
# Where ranks use different layers, only buckets know what to do: the others average what is there.
CASES = [(name, Tied) for name in WAYS] + [(name, Skipping) for name in BUCKETS]


def step_all(set_to_none):
    """On a rank: the weights after some steps of SGD, by way and model; two windows a step."""
    rank, answers = find_place().rank, {}
    for name, kind in CASES:
        model = make(kind)
        averager = WAYS[name](model, Recorder(rank))
        for step in range(STEPS):
            model.zero_grad(set_to_none=set_to_none)
            loss_of(model, batch(rank, step), rank).backward()
            averager.finish()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p -= 0.5 * p.grad
        answers[name, kind.__name__] = model.state_dict()
    return answers


@pytest.fixture(scope="module")
def answers():
    return {flag: launch(step_all, RANKS, (flag,), quiet=True) for flag in (True, False)}


def one_device(kind):
    model = make(kind)
    for step in range(STEPS):
        model.zero_grad()
        losses = [loss_of(model, batch(rank, step), rank) for rank in range(RANKS)]
        (sum(losses) / RANKS).backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= 0.5 * p.grad
    return model.state_dict()


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("name, kind", CASES, ids=lambda x: getattr(x, "__name__", x))
def test_each_way_is_one_device(name, kind, set_to_none, answers):
    expected = one_device(kind)
    for rank in answers[set_to_none]:
        assert_same(rank[name, kind.__name__], expected)


def accumulate():
    """On a rank: two backwards before one averaging."""
    rank, model = find_place().rank, make(Tied)
    averager = WAYS["buckets, two or three"](model, Recorder(rank))
    for step in range(2):
        model.zero_grad()
        for part in range(2):
            averager.active = part == 1
            loss_of(model, batch(rank, 2 * step + part), rank).backward()
        averager.finish()
    return {name: p.grad for name, p in model.named_parameters()}, [
        [averager.numbers[p] for p in bucket.parameters] for bucket in averager.buckets
    ]


def test_gradients_add_up_where_it_is_told_to_wait_and_tied_weights_come_last():
    model = make(Tied)
    losses = [loss_of(model, batch(r, s), r) for s in (2, 3) for r in range(RANKS)]
    (sum(losses) / RANKS).backward()
    right = {name: p.grad for name, p in model.named_parameters()}
    for gradients, order in launch(accumulate, RANKS, quiet=True):
        assert_same(gradients, right)
        # head.weight is parameter 0; reversed it came last, and so it does in the graph.
        assert sum(order, [])[-1] == 0
