"""A call that names a rank which isn't there is refused before anything is sent."""

import pytest
import torch
import torch.distributed as dist

from helpers.hang.calls import NoSuchRank, check_group_peer, check_peer
from helpers.ranks import launch

pytestmark = pytest.mark.ranks


def refused(name, rank, peer, members=(0, 1, 2, 3), world=True) -> str:
    with pytest.raises(NoSuchRank) as error:
        check_peer(name, rank, peer, members, world)
    return str(error.value)


def test_the_rank_after_the_last_one():
    assert refused("recv", 3, 4) == (
        "rank 3 receives from rank 4, but the ranks are 0 to 3: let the last rank skip it, or take "
        "(rank + 1) % 4 for a ring"
    )


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (("isend", 0, -1), ["rank 0 sends to rank -1", "0 to 3", "(rank - 1) % 4"]),
        (("send_object_list", 1, 9), ["rank 1 sends to rank 9", "0 to 3"]),
        (("send", 1, 1), ["rank 1 sends to itself"]),
        (("irecv", 2, 2), ["rank 2 receives from itself"]),
        (("recv", 0, 2, (0, 1), False), ["receives from rank 2", "its group holds ranks 0 and 1"]),
        (("broadcast", 1, 4), ["rank 1 calls broadcast from rank 4", "0 to 3"]),
        (("reduce", 1, -1), ["rank 1 calls reduce to rank -1"]),
        (
            ("gather_object", 1, 0, (1, 2), False),
            ["gather_object to rank 0", "ranks 1 and 2"],
        ),
        (("recv", 0, 1, (0,)), ["there is only rank 0", "start more ranks"]),
    ],
)
def test_the_sentence_names_both_ranks_and_the_valid_ones(call, facts):
    said = refused(*call)
    assert all(fact in said for fact in facts), said


def test_a_rank_that_is_counted_within_its_group():
    with pytest.raises(NoSuchRank, match="sends to group rank 2, .* 0 to 1"):
        check_group_peer("send", 1, 2, (1, 3))
    check_group_peer("send", 1, 1, (1, 3))


def test_what_is_there_goes_through():
    check_peer("send", 0, 3, (0, 1, 2, 3), True)
    check_peer("broadcast", 0, 0, (0, 1, 2, 3), True)
    check_peer("recv", 0, None, (0, 1, 2, 3), True)


def calls_of_ranks_that_are_not_there():
    """On each of two ranks: what its calls are refused with."""
    x, rank, pair = torch.ones(2), dist.get_rank(), dist.new_group([0, 1])
    mine = [dist.new_group([each]) for each in (0, 1)][rank]
    calls = [
        lambda: dist.send(x, 2),
        lambda: dist.recv(x, -1),
        # Refused where it is made: nothing of the batch has been sent.
        lambda: [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, x, -1)],
        lambda: dist.broadcast(x, src=2),
        lambda: dist.send(x, group_dst=2, group=pair),
        lambda: dist.P2POp(dist.isend, x, 1 - rank, group=mine),
    ]
    said = []
    for call in calls:
        with pytest.raises(NoSuchRank) as error:
            call()
        said.append(str(error.value))
    return said


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def test_the_call_itself_fails(checked):
    both = launch(calls_of_ranks_that_are_not_there, 2, timeout=60, quiet=True, checked=checked)
    for rank, said in enumerate(both):
        facts = ["sends to rank 2, but the ranks are 0 to 1", "receives from rank -1"]
        facts += ["receives from rank -1", "calls broadcast from rank 2", "sends to group rank 2"]
        facts += [f"sends to rank {1 - rank}, but "]
        for sentence, fact in zip(said, facts, strict=True):
            assert sentence.startswith(f"rank {rank} {fact}")
