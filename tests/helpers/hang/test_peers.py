"""A call that names a rank which isn't there is refused before anything is sent."""

import pytest
import torch
import torch.distributed as dist

from helpers.hang.monitor import NoSuchRank
from helpers.ranks import launch

pytestmark = pytest.mark.ranks


def calls_of_ranks_that_are_not_there():
    """On each of three ranks: what its calls are refused with."""
    x, rank, size = torch.ones(2), dist.get_rank(), dist.get_world_size()
    pair = dist.new_group([0, 1])
    mine = [dist.new_group([each]) for each in range(size)][rank]
    calls = [
        lambda: dist.send(x, size),
        lambda: dist.recv(x, -1),
        # Refused where it is made: nothing of the batch has been sent.
        lambda: [dist.P2POp(dist.isend, x, (rank + 1) % size), dist.P2POp(dist.irecv, x, -1)],
        lambda: dist.broadcast(x, src=size),
        lambda: dist.reduce(x, dst=-1),
        lambda: dist.send_object_list([1], 9),
        lambda: dist.isend(x, rank),
        lambda: dist.irecv(x, rank),
        lambda: dist.send(x, group_dst=2, group=pair),
        lambda: dist.P2POp(dist.isend, x, (rank + 1) % size, group=mine),
        lambda: dist.gather_object(1, [None], dst=(rank + 1) % size, group=mine),
    ]
    said = []
    for call in calls:
        if len(said) == 8 and rank == 2:  # it isn't in the pair
            said.append("rank 2 sends to group rank 2, ")
            continue
        with pytest.raises(NoSuchRank) as error:
            call()
        said.append(str(error.value))
    return said


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def test_the_call_itself_fails(checked):
    how = {"timeout": 60, "quiet": True, "checked": checked}
    for rank, said in enumerate(launch(calls_of_ranks_that_are_not_there, 3, **how)):
        after = (rank + 1) % 3
        facts = [
            "sends to rank 3, but the ranks are 0 to 2: ",
            "receives from rank -1, but the ranks are 0 to 2: ",
            "receives from rank -1",
            "calls broadcast from rank 3, but the ranks are 0 to 2: name one of these",
            "calls reduce to rank -1",
            "sends to rank 9",
            "sends to itself, which torch.distributed can't do",
            "receives from itself",
            "sends to group rank 2, ",
            f"sends to rank {after}, but its group holds rank {rank}: name one of them by its glo",
            f"calls gather_object to rank {after}, but its group holds rank {rank}",
        ]
        for sentence, fact in zip(said, facts, strict=True):
            assert sentence.startswith(f"rank {rank} {fact}"), sentence
        if rank == 0:
            assert "let rank 0 skip it, or take (rank - 1) % 3 for a ring" in said[1]
            assert said[8].endswith("0 to 1: they count the members of the group")
        if rank == 2:
            assert "let the last rank skip it, or take (rank + 1) % 3 for a ring" in said[0]


def alone():
    dist.recv(torch.ones(1), 1)


def test_one_rank_alone():
    report = launch(alone, 1, timeout=60, on_error="report", quiet=True)
    assert "there is only rank 0: start more ranks" in report.failure.sentence
