"""The rules of tasks that are judged by facts, each broken once: no rank is started."""

import pytest
import torch

from tasks import _averaging, dp_3, dp_6, rc_1

PAIRS = [[0, 2], [1, 3], [0, 2], [1, 3]]


@pytest.mark.parametrize(("kind", "groups"), [("weight", [range(4)] * 4), ("gradient", PAIRS)])
def test_each_slip_in_an_average_is_told_by_its_own_sentence(kind, groups):
    case, known = _averaging.drawn(1, 4)[0], {}
    for sentence, of, how, divisor in _averaging.slips(kind, groups, "n"):
        if known.setdefault((str(of), how, divisor), sentence) != sentence:
            continue  # a division by 2 twice is one by 4
        seen = []
        for rank, own in enumerate(case):
            held = {"weight": {n: w for n, (w, _) in own.items()}}
            held["gradient"] = {n: g for n, (_, g) in own.items()}
            for name in held[kind].keys() - {_averaging.FROZEN}:
                its = [case[r][name][kind == "gradient"] for r in of[rank]]
                held[kind][name] = how(torch.stack(its), 0) / divisor
            seen.append(held)
        said = _averaging.explain(case, seen, kind, groups, "n")
        assert said.startswith(f"{sentence} (rank 0, {kind}, embedding: "), said


@pytest.mark.parametrize(
    ("length", "world", "parts", "words"),
    [
        (5, 2, [[0, 1, 2], [3, 4]], None),
        (5, 2, [[0, 2, 4], [1, 3]], None),
        (5, 2, [[0, 1], [2, 3]], "the remainder is dropped: 5 items on 2 ranks leave 1 over"),
        (5, 2, [[0, 1, 2], [2, 3, 4]], "the parts overlap for length 5 and world_size 2: the in"),
        (5, 2, [[0, 1, 2], [3, 4, 5]], "an index lies outside of 0 to 4"),
        (5, 2, [[1, 2], [3, 4]], "nobody reads the index 0 for length 5 and world_size 2"),
        (5, 2, [[0], [1, 2, 3, 4]], "the sizes of the parts are [1, 4]"),
        (5, 2, [[0, 0, 1, 2], [3, 4]], "a rank reads the same index more than once"),
        (5, 2, [[0, 1, 2, 3, 4]] * 2, "every rank reads the whole data set"),
        (5, 2, [[0, 1, 2, 3, 4], []], "one rank reads everything"),
        (1, 2, ["partition(1, 0, 2) raises ValueError: no", [0]], "with fewer items than ranks"),
    ],
)
def test_parts(length, world, parts, words):
    said = dp_3.explain({"length": length, "world": world}, [parts] * 4)
    assert said == words if words is None else words in said


def orders(shuffle, share=lambda order, rank: order[rank::4], again=lambda order: order):
    """What the ranks see of 8 items, in three epochs of two seeds."""
    own = [[[share(shuffle(s, e, r), r) for e in range(3)] for s in (1, 2)] for r in range(4)]
    return [[[[one, again(one)] for one in epochs] for epochs in seeds] for seeds in own]


def rotated(by):
    return [(i * 3 + by) % 8 for i in range(8)]


def each_its_own(seed, epoch, rank):
    return [rank, 4 + rank][:: (-1) ** (seed + epoch)]


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
        (orders(lambda *_: rotated(1), lambda order, rank: order[rank:4:4]), "the ranks read [1, "),
        (orders(lambda *_: [9] * 8), "an index outside of 0 to 7"),
        (orders(each_its_own, lambda order, rank: order), "each has shuffled its own part"),
    ],
)
def test_orders(seen, words):
    said = dp_3.explain({"length": 8, "seeds": [1, 2], "epochs": 3}, seen)
    assert said == words if words is None else words in said


A, S, G = "average", "step", "gather"


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ((A, A, S, G, G), None),
        ((A, A, G, G), "the optimizer must take its step"),
        ((A, S, G, A, S, G), "is called in a loop over the units"),
        ((A, A, S, S, S, G, G), "updates 3 times"),
        ((S, G, G), "no unit averages"),
        ((A, A, S), "the parts of the others are old"),
        ((A, S, G, G), "the last unit is left out: it is never asked to average()"),
        ((A, A, A, S, G, G), "asked twice where once is enough"),
        ((S, A, A, G, G), "before all gradients are averaged"),
        ((A, A, G, G, S), "gathered before the optimizer"),
    ],
)
def test_a_step_of_zero_1(calls, words):
    seen = [(c, "optimizer" if c == S else calls[:n].count(c) % 2) for n, c in enumerate(calls)]
    said = dp_6.explain(2, seen)
    assert said == words if words is None else words in said


RIGHT = {"collectives": [], "messages not waited for": [], "sends something": True}
RIGHT |= {"ranks it sends to that are no neighbors": [], "sends more than a ring": False}
RIGHT |= {"returns what it sent": True, "_returned": 6, "_sent": 6}


@pytest.mark.parametrize(
    ("world", "wrong", "words"),
    [
        (4, {}, None),
        (4, {"collectives": ["all_reduce"]}, "rank 0 calls dist.all_reduce: build the ring"),
        (4, {"messages not waited for": ["isend"]}, "starts isend and never calls wait()"),
        (4, {"tensor": torch.tensor([1112.0]).double()}, "that of rank 0 2 times plus that of ra"),
        (4, {"tensor": torch.tensor([1010.0]).double()}, "and nothing of rank 0, 2"),
        (4, {"tensor": torch.tensor([2.5]).double()}, "2.5, which is no sum of what the ranks had"),
        (4, {"ranks it sends to that are no neighbors": [2]}, "rank 2, which is not its neighbor"),
        (4, {"sends something": False}, "rank 0 sends nothing, and the others need its numbers"),
        (4, {"sends more than a ring": True, "_sent": 24}, "sends 3.00 times the size"),
        (
            4,
            {"returns what it sent": False},
            "rank 0 has sent 6 bytes, and ring_all_reduce gives 6",
        ),
        (1, {"collectives": ["all_reduce"]}, "something is sent: a rank that is alone"),
        (1, {"tensor": torch.zeros(1), "_returned": 0}, "the tensor changes: a rank that is alone"),
    ],
)
def test_ring(world, wrong, words):
    tensors = [torch.full((1,), 10.0**rank).double() for rank in range(world)]
    case = {"world": world, "what": rc_1.POWERS, "tensors": tensors}
    said = rc_1.explain(case, [RIGHT | {"tensor": sum(tensors)} | wrong] * world)
    assert said == words if words is None else words in said
