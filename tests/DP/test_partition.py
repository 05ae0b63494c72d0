"""The parts of all ranks are the whole data set, and the shuffle is one for all ranks."""

import partition as script
import pytest


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
def test_an_epoch_reads_everything_once_and_the_same_again(length, world):
    for epoch in range(3):
        read = orders(length, world, epoch=epoch)
        assert sorted(sum(read, [])) == list(range(length))
        assert read == orders(length, world, epoch=epoch)


def test_another_epoch_and_another_seed_have_other_orders():
    read = [orders(40, 4, seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert all(a != b for i, a in enumerate(read) for b in read[:i])
    # The ranks change items with each other: not each its own part, in another order.
    assert sorted(read[0][0]) != sorted(read[1][0])


def test_the_ranks_share_the_order_that_one_rank_alone_reads():
    whole = script.epoch_order(23, 0, 1, seed=5, epoch=2)
    assert whole != sorted(whole)
    for part in orders(23, 4, seed=5, epoch=2):
        assert part == [item for item in whole if item in part]


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
    with pytest.raises(ValueError) as refused:
        script.partition(length, rank, world)
    assert str(refused.value) == sentence
    with pytest.raises(ValueError) as refused:
        script.epoch_order(length, rank, world, seed=0, epoch=0)
    assert str(refused.value) == sentence


def test_the_script_prints_two_epochs(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["partition.py", "--length", "6", "--ranks", "2"])
    script.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"epoch {epoch}, rank {rank}" for epoch in (0, 1) for rank in (0, 1)
    ]
    for first, second in (lines[:2], lines[2:]):
        read = first.split(":")[1].split() + second.split(":")[1].split()
        assert sorted(map(int, read)) == [0, 1, 2, 3, 4, 5]
