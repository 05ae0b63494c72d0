"""The rules of DP-3, each broken once: no rank is started."""

import pytest

from tasks import dp_3


def all_ranks(parts):
    return [parts] * dp_3.TASK.ranks


@pytest.mark.parametrize(
    ("length", "world", "parts", "words"),
    [
        (5, 2, [[0, 1, 2], [3, 4]], None),
        (5, 2, [[0, 2, 4], [1, 3]], None),
        (5, 2, [[0, 1], [2, 3]], "the remainder is dropped: 5 items on 2 ranks leave 1 over"),
        (5, 2, [[0, 1, 2], [2, 3, 4]], "the parts overlap for length 5 and world_size 2: the in"),
        (5, 2, [[0, 1, 2], [3, 4, 5]], "rank 1 reads the index 5 for length 5 and world_size 2"),
        (5, 2, [[1, 2], [3, 4]], "nobody reads the index 0 for length 5 and world_size 2"),
        (5, 2, [[0], [1, 2, 3, 4]], "the sizes of the parts are [1, 4]"),
        (5, 2, [[0, 0, 1, 2], [3, 4]], "a rank reads the same index more than once"),
        (5, 2, [[0, 1, 2, 3, 4]] * 2, "every rank reads the whole data set"),
        (5, 2, [[0, 1, 2, 3, 4], []], "one rank reads everything"),
        (1, 2, ["partition(1, 0, 2) raises ValueError: no", [0]], "with fewer items than ranks"),
    ],
)
def test_parts(length, world, parts, words):
    said = dp_3.explain({"length": length, "world": world}, all_ranks(parts))
    assert said == words if words is None else words in said


def test_parts_of_another_rank():
    case = {"length": 2, "world": 2}
    seen = [[[0], [1]], [[1], [0]], [[0], [1]], [[0], [1]]]
    assert "returns other parts on another rank" in dp_3.explain(case, seen)


def orders(shuffle, share=lambda order, rank: order[rank::4], again=lambda order: order):
    """What the ranks see of 8 items, in three epochs of two seeds."""
    seen = []
    for rank in range(4):
        one = {
            seed: [
                [(own := share(shuffle(seed, epoch, rank), rank)), again(own)] for epoch in range(3)
            ]
            for seed in (1, 2)
        }
        seen.append(one)
    return seen


def rotated(by):
    return [(i * 3 + by) % 8 for i in range(8)]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (orders(lambda seed, epoch, rank: rotated(3 * seed + epoch)), None),
        (orders(lambda *_: list(range(8))), "nothing is shuffled"),
        (orders(lambda seed, epoch, rank: rotated(seed)), "two epochs have the same order"),
        (orders(lambda seed, epoch, rank: rotated(epoch + 1)), "another seed gives the same order"),
        (orders(lambda seed, epoch, rank: rotated(rank)), "do not share one permutation"),
        (orders(lambda *_: rotated(1), again=lambda own: own[::-1]), "two orders for the same arg"),
        (orders(lambda *_: rotated(1), lambda order, rank: order), "every rank reads all 8 items"),
        (orders(lambda *_: rotated(1), lambda order, rank: order[rank:4:4]), "read 4 items togeth"),
        (orders(lambda *_: [9] * 8), "an index outside of 0 to 7"),
        (
            orders(lambda s, e, r: [r, 4 + r][:: (-1) ** (s + e)], lambda order, rank: order),
            "each has shuffled its own part",
        ),
    ],
)
def test_orders(seen, words):
    said = dp_3.explain({"length": 8, "seeds": [1, 2], "epochs": 3}, seen)
    assert said == words if words is None else words in said
