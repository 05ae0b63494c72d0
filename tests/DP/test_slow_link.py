"""Five minutes on a slow link: the clock charges computing and bytes, and stops in time."""

import pytest
import torch
from slow_link import BANDWIDTH, LATENCY, Group, TimeIsUp, score


def every_step(group):
    while True:
        group.compute()
        group.all_reduce(group.gradients())
        group.update()


def test_an_all_reduce_gives_the_mean_and_costs_what_its_bytes_take():
    group = Group(budget=1000)
    tensors = [[torch.full((1000,), float(rank))] for rank in range(3)]
    group.all_reduce(tensors)
    assert all(torch.equal(each[0], torch.ones(1000)) for each in tensors)
    assert group.seconds == pytest.approx(4 * LATENCY + 4 / 3 * 4000 / BANDWIDTH)
    half = [[each[0].half()] for each in tensors]
    group.all_reduce(half)
    assert group.sent == pytest.approx(4 / 3 * 6000)


def test_the_replicas_agree_if_their_gradients_are_averaged():
    group = Group(budget=1000)
    group.compute()
    group.all_reduce(group.gradients())
    group.update()
    first, second, _ = group.weights()
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_method_is_stopped_when_the_time_is_up():
    reached = score(every_step, budget=20)
    assert reached.seconds <= 20 and 1 <= reached.computed <= 19
    with pytest.raises(TimeIsUp):
        Group(budget=0.5).compute()
