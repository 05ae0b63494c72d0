"""An epoch on ranks has one rank's order, in parts of one size; DP-8's methods pay for bytes."""

import partition as script
import pytest
import torch
from slow_link import BANDWIDTH, LATENCY, Group, TimeIsUp, score

from tests.said import said


@pytest.mark.parametrize("length", [0, 3, 8, 23, 29])
@pytest.mark.parametrize("world", [1, 2, 5, 8])
def test_an_epoch_has_the_order_that_one_rank_reads_in_parts_of_one_size(length, world):
    for seed, epoch in ((5, 2), (5, 3), (6, 2)):
        whole = script.epoch_order(length, 0, 1, seed, epoch)
        read = [script.epoch_order(length, rank, world, seed, epoch) for rank in range(world)]
        assert sorted(whole) == list(range(length)) == sorted(sum(read, []))
        assert all(part == [item for item in whole if item in part] for part in read)
        sizes = [len(part) for part in read]
        assert max(sizes) - min(sizes) <= 1


def test_a_rank_that_does_not_exist_is_refused():
    for ask in (script.partition, lambda *where: script.epoch_order(*where, seed=0, epoch=0)):
        assert "rank is 4 and world_size is 4: ranks go from 0 to 3" in said(ask, 5, 4, 4)


def test_a_method_pays_for_its_bytes_and_is_stopped_when_the_time_is_up():
    group = Group(budget=1000)
    tensors = [[torch.full((1000,), float(rank))] for rank in range(3)]
    group.all_reduce(tensors)
    assert all(torch.equal(each[0], torch.ones(1000)) for each in tensors)
    assert group.seconds == pytest.approx(4 * LATENCY + 4 / 3 * 4000 / BANDWIDTH)
    group.all_reduce([[each[0].half()] for each in tensors])
    assert group.sent == pytest.approx(4 / 3 * 6000)
    groups = []

    def every_step(group):
        groups.append(group)
        while True:
            group.compute()
            group.all_reduce(group.gradients())
            group.update()

    reached = score(every_step, budget=20)
    assert reached.seconds <= 20 and 1 <= reached.computed <= 19
    first, second, _ = groups[0].weights()
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    with pytest.raises(TimeIsUp):
        Group(budget=0.5).compute()
