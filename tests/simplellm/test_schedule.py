"""The schedule of the learning rate: its shape, and that constant is the plain optimizer."""

import argparse

import pytest
import torch
from torch import nn

from simplellm.options import decay, make_optimizer


def options(**changed):
    facts = {"optimizer": "sgd", "lr": 0.1, "steps": 100, "lr_schedule": "decay"}
    return argparse.Namespace(**(facts | changed))


def train(flags, steps, state=None, weights=None):
    torch.manual_seed(0)
    net = nn.Linear(3, 2).double()
    if weights:
        net.load_state_dict(weights)
    optimizer = make_optimizer(flags, net) if flags else torch.optim.SGD(net.parameters(), lr=0.1)
    if state:
        optimizer.load_state_dict(state)
    rates = []
    for step in range(steps):
        optimizer.zero_grad()
        net(torch.full((1, 3), 1.0 + step % 3, dtype=torch.float64)).square().sum().backward()
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates, net.state_dict(), optimizer.state_dict()


def test_it_rises_stays_and_falls():
    factors = [decay(step, 100) for step in range(100)]
    assert factors[0] == pytest.approx(1 / 20) and factors[19:40] == [1.0] * 21
    assert factors[99] == pytest.approx(0.02)
    fall = factors[41:]
    steps = [a - b for a, b in zip(fall, fall[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * len(steps))


def test_the_optimizer_follows_it_and_a_continued_run_goes_on():
    rates, weights, _ = train(options(), 60)
    assert rates == pytest.approx([0.1 * decay(step, 100) for step in range(60)])
    first, half, state = train(options(), 30)
    then, whole, _ = train(options(), 30, state, half)
    assert first + then == rates
    torch.testing.assert_close(whole["weight"], weights["weight"], rtol=0, atol=0)


def test_a_constant_rate_is_the_plain_optimizer():
    constant, plain = train(options(lr_schedule="constant"), 9)[1], train(None, 9)[1]
    torch.testing.assert_close(constant["weight"], plain["weight"], rtol=0, atol=0)
