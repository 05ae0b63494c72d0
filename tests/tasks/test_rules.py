"""A rule of a task that is broken is named, and right work breaks none; no rank is started."""

import pytest
import torch

from tasks import _averaging, _trained, dp_3, dp_6, rc_1

PAIRS = [[0, 2], [1, 3], [0, 2], [1, 3]]


@pytest.mark.parametrize(("kind", "groups"), [("weight", [range(4)] * 4), ("gradient", PAIRS)])
def test_each_slip_in_an_average_is_told_by_its_own_sentence(kind, groups):
    case, known = _averaging.drawn(4)[0], {}
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


def parts(*each, length=5):
    """What four ranks see of the parts of two ranks."""
    return dp_3, {"length": length, "world": 2}, [list(each)] * 4


def orders(shuffle, share=lambda order, rank: order[rank::4], again=lambda order: order):
    """What four ranks see of 8 items, in three epochs of two seeds."""
    own = [[[share(shuffle(s, e, r), r) for e in range(3)] for s in (1, 2)] for r in range(4)]
    seen = [[[[one, again(one)] for one in epochs] for epochs in seeds] for seeds in own]
    return dp_3, {"length": 8, "seeds": [1, 2], "epochs": 3}, seen


def rotated(by):
    return [(i * 3 + by) % 8 for i in range(8)]


def each_its_own(seed, epoch, rank):
    return [rank, 4 + rank][:: (-1) ** (seed + epoch)]


def zero_1(calls):
    """A step on two units: A(verage), S(tep), G(ather)."""
    names = {"A": "average", "S": "step", "G": "gather"}
    units = ("optimizer" if c == "S" else calls[:n].count(c) % 2 for n, c in enumerate(calls))
    return dp_6, 2, [(names[c], unit) for c, unit in zip(calls, units, strict=True)]


def ring(world=4, **wrong):
    """What the ranks of a ring did with one number each: 1, 10, 100, …"""
    tensors = [torch.full((1,), 10.0**rank).double() for rank in range(world)]
    seen = {"collectives": [], "messages not waited for": [], "sends something": True}
    seen |= {"ranks it sends to that are no neighbors": [], "sends more than a ring": False}
    seen |= {"returns what it sent": True, "_returned": 6, "_sent": 6, "tensor": sum(tensors)}
    case = {"world": world, "what": rc_1.POWERS, "tensors": tensors}
    return rc_1, case, [seen | {name.replace("_", " "): it for name, it in wrong.items()}] * world


def summed(value):
    return ring(tensor=torch.tensor([value]).double())


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (parts([0, 1, 2], [3, 4]), None),
        (parts([0, 1], [2, 3]), "the remainder is dropped: 5 items on 2 ranks leave 1 over"),
        (parts([0, 1, 2], [2, 3, 4]), "the parts overlap for length 5 and world_size 2: the in"),
        (parts([0, 1, 2], [3, 4, 5]), "an index lies outside of 0 to 4"),
        (parts([1, 2], [3, 4]), "nobody reads the index 0 for length 5 and world_size 2"),
        (parts([0, 0, 1, 2], [3, 4]), "a rank reads the same index more than once"),
        (parts(*[[0, 1, 2, 3, 4]] * 2), "every rank reads the whole data set"),
        (parts("no", [0], length=1), "no; with fewer items than ranks some parts are empty"),
        (orders(lambda seed, epoch, rank: rotated(3 * seed + epoch)), None),
        (orders(lambda *_: list(range(8))), "nothing is shuffled"),
        (orders(lambda seed, epoch, rank: rotated(seed)), "two epochs have the same order"),
        (orders(lambda seed, epoch, rank: rotated(epoch + 1)), "another seed gives the same order"),
        (orders(lambda seed, epoch, rank: rotated(rank)), "do not share one permutation"),
        (orders(lambda *_: rotated(1), again=lambda own: own[::-1]), "two orders for the same arg"),
        (orders(lambda *_: rotated(1), lambda order, rank: order), "every rank reads all 8 items"),
        (orders(each_its_own, lambda order, rank: order), "each has shuffled its own part"),
        (zero_1("AASGG"), None),
        (zero_1("AAGG"), "the optimizer must take its step"),
        (zero_1("SGG"), "no unit averages"),
        (zero_1("AAS"), "the parts of the others are old"),
        (zero_1("ASGG"), "the last unit is left out: it is never asked to average()"),
        (zero_1("SAAGG"), "before all gradients are averaged"),
        (zero_1("AAGGS"), "gathered before the optimizer"),
        (ring(), None),
        (ring(collectives=["all_reduce"]), "rank 0 calls dist.all_reduce: build the ring"),
        (ring(messages_not_waited_for=["isend"]), "starts isend and never calls wait()"),
        (summed(1112), "that of rank 0 2 times plus that of rank 1 plus that of rank 2 plus"),
        (summed(2.5), "2.5, which is no sum of what the ranks had"),
        (ring(ranks_it_sends_to_that_are_no_neighbors=[2]), "rank 2, which is not its neighbor"),
        (ring(sends_something=False), "rank 0 sends nothing, and the others need its numbers"),
        (ring(returns_what_it_sent=False), "has sent 6 bytes, and ring_all_reduce gives 6"),
        (ring(1, collectives=["all_reduce"]), "something is sent: a rank that is alone"),
        (
            (_trained, {"dp": 2, "pp": 2}, [{"too little went to": ["its row", "its column"]}]),
            "each rank trains the whole model by itself, and nothing leaves it: too little left",
        ),
    ],
)
def test_a_broken_rule_is_named_and_right_work_breaks_none(judged, words):
    task, case, seen = judged
    said = task.explain(case, seen)
    assert said == words if words is None else words in said
