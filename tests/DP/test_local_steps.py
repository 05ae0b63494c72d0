"""The recorded runs are those that the script makes, and its outer step is what lesson 04 says."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "DP/weight_aggr"))
from local_steps import METHODS, SEEDS, average, recorded, torchs_nesterov, weights


def test_every_method_is_recorded_for_every_seed():
    assert list(recorded()) == list(METHODS)
    assert all(len(losses) == SEEDS for losses in recorded().values())


def test_an_average_is_written_into_every_replica():
    nets = [torch.nn.Linear(2, 1) for _ in range(3)]
    expected = sum(net.weight.detach().clone() for net in nets) / 3
    average(weights(nets))
    assert all(torch.allclose(net.weight, expected) for net in nets)


def test_an_outer_rate_of_one_with_hardly_any_momentum_is_local_sgd():
    net, half = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    half.load_state_dict(net.state_dict())
    steps = torchs_nesterov(net, rate=1.0, momentum=1e-9), torchs_nesterov(half, 0.5, 1e-9)
    start = net.weight.detach().clone()
    for each, step in zip((net, half), steps, strict=True):
        with torch.no_grad():
            each.weight.add_(1.0)
        step()
    assert torch.allclose(net.weight, start + 1) and torch.allclose(half.weight, start + 0.5)
