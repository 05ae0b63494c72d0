"""The rules of RC-1 and RC-2, each broken once: no rank is started."""

import pytest
import torch

from tasks import rc_1, rc_2

RIGHT = {"collectives": [], "messages not waited for": [], "sends something": True}
RIGHT |= {"ranks it sends to that are no neighbors": [], "sends more than a ring": False}
RIGHT |= {"returns what it sent": True, "_returned": 6, "_sent": 6}


@pytest.mark.parametrize(
    ("world", "wrong", "words"),
    [
        (4, {}, None),
        (4, {"collectives": ["all_reduce"]}, "rank 0 calls dist.all_reduce: build the ring"),
        (4, {"messages not waited for": ["isend"]}, "starts isend and never calls wait()"),
        (4, {"tensor": torch.tensor([1112.0]).double()}, "that of rank 0 twice plus that of rank"),
        (4, {"tensor": torch.tensor([1010.0]).double()}, "and nothing of rank 0, 2"),
        (4, {"tensor": torch.tensor([2.5]).double()}, "2.5, which is no sum of what the ranks had"),
        (4, {"ranks it sends to that are no neighbors": [2]}, "rank 2, which is not its neighbor"),
        (4, {"sends something": False}, "rank 0 sends nothing, and the others need its numbers"),
        (4, {"sends more than a ring": True, "_sent": 24}, "sends 3.00 times the size"),
        (4, {"returns what it sent": False, "_returned": None}, "ring_all_reduce gives None"),
        (4, {"returns what it sent": False}, "says that rank 0 has sent 6 bytes, and it was 6"),
        (1, {"collectives": ["all_reduce"]}, "something is sent: a rank that is alone"),
        (1, {"tensor": torch.zeros(1)}, "the tensor changes: a rank that is alone"),
    ],
)
def test_ring(world, wrong, words):
    tensors = [torch.full((1,), 10.0**rank).double() for rank in range(world)]
    case = {"world": world, "what": "powers of ten", "tensors": tensors}
    right = RIGHT | {"tensor": sum(tensors), "_returned": 6 if world > 1 else 0}
    said = rc_1.explain(case, [right | wrong] * world)
    assert said == words if words is None else words in said


def test_rounded_on_the_way():
    tensors = [torch.rand(9).double() for _ in range(4)]
    case = {"world": 4, "what": "another", "tensors": tensors}
    ranks = [RIGHT | {"tensor": sum(tensors).float().double()}] * 4
    assert "which is float32's accuracy" in rc_1.explain(case, ranks)


def call(name, peer, batch=False, awaited=True):
    there = {"to": peer} if "send" in name else {"from": peer}
    return {"call": name, **there, "batch": batch, "awaited": awaited}


IN_ORDER, WITHOUT_WAITING, IN_A_BATCH = rc_2.WAYS
BOTH = [call("isend", 1, True), call("irecv", 3, True)]


@pytest.mark.parametrize(
    ("way", "calls", "words"),
    [
        (IN_ORDER, [call("send", 1), call("recv", 3)], None),
        (IN_ORDER, [call("recv", None), call("send", 1)], None),
        (WITHOUT_WAITING, [call("isend", 1), call("recv", 3)], None),
        (WITHOUT_WAITING, [call("irecv", 3), call("send", 1)], None),
        (IN_A_BATCH, BOTH, None),
        (IN_ORDER, [call("isend", 1), call("recv", 3)], "uses isend: this way has dist.send"),
        (IN_ORDER, BOTH, "uses batch_isend_irecv: this way has dist.send and dist.recv only"),
        (IN_ORDER, [{"call": "all_gather"}], "calls dist.all_gather: neighbors exchange"),
        (WITHOUT_WAITING, [call("send", 1), call("recv", 3)], "send and recv, which both wait"),
        (WITHOUT_WAITING, BOTH, "uses batch_isend_irecv: this way starts the send with"),
        (WITHOUT_WAITING, [call("isend", 1, awaited=False)], "isend and never calls wait()"),
        (IN_A_BATCH, [BOTH[0], call("recv", 3)], "calls recv outside of a batch"),
        (IN_ORDER, [], "sends nothing and receives nothing"),
        (IN_ORDER, [call("send", 3), call("recv", 1)], "sends to the left and receives from"),
        (IN_ORDER, [call("send", 1)] * 2, "sends to ranks 1 and 1 and receives from nobody"),
    ],
)
def test_exchange(way, calls, words):
    tensors = [torch.full((2,), float(rank)) for rank in range(4)]
    seen = {"returned": tensors[3], "mine": tensors[0], "calls": calls}
    case = {"world": 1, "function": way, "tensors": tensors}
    said = wrong_first(case, seen)
    assert said == words if words is None else words in said


@pytest.mark.parametrize(
    ("returned", "mine", "words"),
    [
        (None, 0.0, "gives None: is there a return?"),
        ([3.0], 0.0, "gives a list, and must give the tensor"),
        (torch.full((2,), 3.0), 3.0, "has changed `mine`"),
        (torch.full((2,), 0.0), 0.0, "gives back its own tensor"),
        (torch.full((1, 2), 3.0), 0.0, "gives shape (1, 2) and torch.float32, and sent was (2,)"),
        (torch.full((2,), 2.0), 0.0, "gives other numbers than the left neighbor has sent"),
    ],
)
def test_what_is_exchanged(returned, mine, words):
    tensors = [torch.full((2,), float(rank)) for rank in range(4)]
    seen = {"returned": returned, "mine": torch.full((2,), mine), "calls": []}
    assert words in rc_2.wrong_values(tensors, 0, seen)


def wrong_first(case, seen):
    """What is said of rank 0, which stands in a ring of four."""
    wrong = rc_2.wrong_way(case["function"], seen["calls"])
    wrong = wrong or rc_2.wrong_messages(0, 4, seen["calls"])
    return wrong or rc_2.wrong_values(case["tensors"], 0, seen)
