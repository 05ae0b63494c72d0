"""Real ranks that send real messages, judged against one device."""

import pytest
import torch

from helpers.oracle import between, judge, one_step, snapshot
from helpers.ranks import launch

RANKS = 3


def make_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))


def batch(rank):
    draw = torch.Generator().manual_seed(rank)
    return torch.randn(5, 4, generator=draw), torch.randn(5, 3, generator=draw)


def loss_of(model, batch):
    inputs, targets = batch
    return torch.nn.functional.mse_loss(model(inputs), targets), len(inputs)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


def mean(model, dist):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def total(model, dist):
    for p in model.parameters():
        dist.all_reduce(p.grad)


def to_one_rank(model, dist):
    for p in model.parameters():
        dist.reduce(p.grad, dst=1)
        p.grad /= dist.get_world_size()


def not_written_back(model, dist):
    for p in model.parameters():
        averaged = p.grad.clone()
        dist.all_reduce(averaged)


AVERAGES = {
    mean: None,
    total: "3 times too large: the gradients of 3 ranks were summed",
    to_one_rank: "only some ranks are right: rank 1 has the gradients of one device",
    not_written_back: "every rank still has its own gradients",
}


def train():
    """On every rank: one step with each way to average, from the same weights."""
    import torch.distributed as dist

    steps = []
    for average in AVERAGES:
        model = make_model()
        optimizer = sgd(list(model.parameters()))
        before = snapshot(model)
        loss_of(model, batch(dist.get_rank()))[0].backward()
        average(model, dist)
        optimizer.step()
        steps.append(between(before, snapshot(model)))
    return steps


@pytest.fixture(scope="module")
def steps():
    """For each way to average the Step of each rank."""
    ranks = launch(train, ranks=RANKS, quiet=True)
    return dict(zip(AVERAGES, zip(*ranks, strict=True), strict=True))


@pytest.mark.parametrize("average", AVERAGES)
def test_ranks_against_one_device(steps, average):
    right = one_step(make_model(), loss_of, [batch(rank) for rank in range(RANKS)], sgd)
    verdict = judge(right, steps[average])
    words = AVERAGES[average]
    if words is None:
        assert verdict.ok and len(verdict.rows) == 8, str(verdict)
    else:
        assert words in verdict.mistake
