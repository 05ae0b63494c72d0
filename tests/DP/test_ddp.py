"""Buckets are one device, whatever the model and their size. (tests/test_parity.py: all ways.)"""

import pytest
import torch
from buckets import Buckets
from torch import nn

from helpers.ranks import find_place, launch
from helpers.trace import Recorder

pytestmark = pytest.mark.ranks

RANKS, STEPS = 3, 3
MEGABYTES = {"one for each": 1e-9, "two or three": 400 / 2**20, "all in one": 25}
CASES = [(name, none, m) for name in MEGABYTES for none, m in ((True, 1), (False, 1), (True, 2))]


class Net(nn.Module):
    """The embedding is the head too, so its gradient is complete last of all.

    Only rank 1 uses one of its layers, and nobody uses another; one bias is frozen.
    """

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 11, bias=False)
        self.middle, self.sometimes, self.never = (nn.Linear(8, 8) for _ in range(3))
        self.middle.bias.requires_grad_(False)

    def forward(self, ids, rank):
        x = torch.tanh(self.middle(self.head.weight[ids]))
        return self.head(self.sometimes(x) if rank == 1 else x)


def make():
    torch.manual_seed(0)
    return Net().double()


def loss_of(model, rank, step):
    draw = torch.Generator().manual_seed(10 * step + rank)
    ids = torch.randint(0, 11, (2, 5), generator=draw)
    return nn.functional.cross_entropy(model(ids, rank).flatten(0, 1), ids.roll(1, 1).flatten())


@torch.no_grad()
def update(model):
    for p in model.parameters():
        if p.grad is not None:
            p -= 0.5 * p.grad


def step_all():
    """On a rank, of each case: the weights after some steps of SGD, and the buckets' parameters.

    m backwards before each averaging, of which only the last sends.
    """
    rank, answers = find_place().rank, {}
    for name, set_to_none, m in CASES:
        model, size = make(), MEGABYTES[name]
        averager = Buckets(model, Recorder(rank), megabytes=size, first=size)
        for step in range(STEPS):
            model.zero_grad(set_to_none=set_to_none)
            for part in range(m):
                averager.active = part == m - 1
                loss_of(model, rank, m * step + part).backward()
            averager.finish()
            update(model)
        order = [averager.numbers[p] for bucket in averager.buckets for p in bucket.parameters]
        answers[name, set_to_none, m] = model.state_dict(), order
    return answers


def test_the_first_bucket_is_smaller_so_that_it_leaves_early():
    buckets = Buckets(make(), Recorder(0), megabytes=25, first=1e-9).buckets
    assert [len(bucket.parameters) for bucket in buckets] == [1, 5]


@pytest.fixture(scope="module")
def answers():
    return launch(step_all, RANKS, quiet=True)


@pytest.mark.parametrize("name, set_to_none, m", CASES)
def test_buckets_are_one_device_and_tied_weights_come_last(name, set_to_none, m, answers):
    model = make()
    for step in range(STEPS):
        model.zero_grad()
        for part in range(m):
            losses = [loss_of(model, rank, m * step + part) for rank in range(RANKS)]
            (sum(losses) / RANKS).backward()
        update(model)
    for found, order in (rank[name, set_to_none, m] for rank in answers):
        torch.testing.assert_close(found, model.state_dict(), rtol=0, atol=1e-12)
        assert order == [1, 0, 2, 3, 4, 5]  # as on rank 0: the middle's weight, then the tied one
