"""The parts of all ranks are the whole data set, the shuffle is one for all ranks; DP-8's clock."""

import partition as script
import pytest
import torch
from slow_link import BANDWIDTH, LATENCY, Group, TimeIsUp, score


def test_nothing_is_lost_and_nothing_is_read_twice_whatever_the_sizes():
    for length in range(30):
        for world in range(1, 9):
            parts = [list(script.partition(length, rank, world)) for rank in range(world)]
            assert sorted(sum(parts, [])) == list(range(length)), (length, world)
            sizes = [len(part) for part in parts]
            assert max(sizes) - min(sizes) <= 1, (length, world, sizes)


def orders(length, world, seed=0, epoch=0):
    return [script.epoch_order(length, rank, world, seed, epoch) for rank in range(world)]


@pytest.mark.parametrize(("length", "world"), [(23, 4), (3, 5), (0, 2), (8, 1)])
def test_an_epoch_reads_everything_once_in_the_order_that_one_rank_alone_reads(length, world):
    (whole,), read = orders(length, 1, seed=5, epoch=2), orders(length, world, seed=5, epoch=2)
    assert sorted(whole) == list(range(length)) == sorted(sum(read, []))
    assert length < 4 or whole != sorted(whole)
    for part in read:
        assert part == [item for item in whole if item in part]
    assert read == orders(length, world, seed=5, epoch=2)


def test_another_epoch_and_another_seed_have_other_orders():
    read = [orders(40, 4, seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert all(a != b for i, a in enumerate(read) for b in read[:i])
    # The ranks change items with each other: not each its own part, in another order.
    assert sorted(read[0][0]) != sorted(read[1][0])


@pytest.mark.parametrize(
    ("length", "rank", "world", "sentence"),
    [
        (-1, 0, 1, "length is -1, and a data set cannot have fewer than 0 items"),
        (5, 4, 4, "rank is 4 and world_size is 4: ranks go from 0 to 3"),
        (5, -1, 4, "rank is -1 and world_size is 4: ranks go from 0 to 3"),
        (5, 0, 0, "world_size is 0, and there must be 1 rank or more"),
    ],
)
def test_a_part_that_does_not_exist_is_refused_with_a_sentence(length, rank, world, sentence):
    for ask in (script.partition, lambda *where: script.epoch_order(*where, seed=0, epoch=0)):
        with pytest.raises(ValueError) as refused:
            ask(length, rank, world)
        assert str(refused.value) == sentence


def test_an_all_reduce_on_the_slow_link_is_the_mean_and_costs_what_its_bytes_take():
    group = Group(budget=1000)
    tensors = [[torch.full((1000,), float(rank))] for rank in range(3)]
    group.all_reduce(tensors)
    assert all(torch.equal(each[0], torch.ones(1000)) for each in tensors)
    assert group.seconds == pytest.approx(4 * LATENCY + 4 / 3 * 4000 / BANDWIDTH)
    group.all_reduce([[each[0].half()] for each in tensors])
    assert group.sent == pytest.approx(4 / 3 * 6000)


def test_a_method_is_stopped_when_the_time_is_up():
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
