"""The recorded runs are those that the script makes, and its outer step is what lesson 04 says."""

import local_steps
import torch
from local_steps import METHODS, RATES, SEEDS, average, best, recorded, torchs_nesterov, weights


def test_every_method_is_recorded_at_every_rate_for_every_seed():
    assert list(recorded()) == list(METHODS)
    for row in recorded().values():
        assert tuple(row) == RATES and all(len(losses) == SEEDS for losses in row.values())
        assert row[best(row)] == min(row.values(), key=sum)


def test_the_best_rates_are_none_of_the_ends():
    assert not {best(row) for row in recorded().values()} & {RATES[0], RATES[-1]}


def test_a_step_of_one_replica_is_as_long_averaged_either_way(monkeypatch):
    monkeypatch.setattr(local_steps, "RANKS", 1)
    lengths = local_steps.step_lengths(local_steps.warmed_up(0, steps=1), seed=0, steps=2)
    assert all(a == b and min(a) > 0 for a, b in lengths.values())


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
