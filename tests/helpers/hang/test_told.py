"""What is told of ranks that C++, gloo or a large message holds up."""

import contextlib
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from helpers.hang.diagnosis import diagnose
from helpers.hang.flight import Flight
from helpers.hang.log import Standing
from helpers.hang.operation import Operation
from helpers.hang.places import Where, locate
from helpers.hang.wait_for_graph import GlobalSnapshot
from helpers.ranks import launch
from helpers.ranks.watch import whom

pytestmark = pytest.mark.ranks


def test_a_place_that_is_not_known_is_not_told():
    assert locate([("", 0, "")]) == Where()


def test_a_collective_that_cpp_has_started_is_told_at_the_line_that_led_to_it():
    """Rank 0 is in its backward pass, and rank 1 receives."""
    flight = Flight({"0": 1}, {"0": (1, "all_reduce", (8,), "float32")}, {"0": (0, 1)})
    frames = [("train.py", 7, "step"), ("", 0, "")]
    receive = Operation("recv", 1, 0, members=(0, 1), place=("train.py", 9, "step"))
    standings = [
        Standing(0, native=flight, blocked=True, frames=frames),
        Standing(1, receive, receive.place, {receive.channel: 1}),
    ]
    found = diagnose(GlobalSnapshot(standings))
    assert found.certain and "C++ all_reduce of 8 float32 at line 7 of train.py" in found.sentence


def test_messages_that_are_on_their_way_to_receives_from_any_rank_count_together():
    """Rank 0 takes its third message, which is large; the others wait for it in a barrier."""
    place = ("train.py", 3, "step")
    third = Operation("recv", 0, members=(0, 1, 2, 3), index=2, place=place)
    standings = [Standing(0, third, place, {third.channel: 3})]
    for rank in (1, 2, 3):
        barrier = Operation("barrier", rank, members=(0, 1, 2, 3), place=place)
        posted = {("send", 0, "0", 0): 1, barrier.channel: 1}
        standings.append(Standing(rank, barrier, place, posted))
    assert not diagnose(GlobalSnapshot(standings)).certain


def test_a_message_after_a_time_limit_that_passed_is_told_in_one_sentence():
    """gloo closes a connection on which a wait has run out of time."""

    def program():
        if dist.get_rank():
            time.sleep(30)
        work = dist.isend(torch.ones(2_000_000), 1)
        with contextlib.suppress(RuntimeError):
            work.wait(timedelta(seconds=0.1))
        dist.send(torch.ones(1), 1, tag=2)

    how = {"timeout": 20, "on_error": "report", "quiet": True, "checked": False}
    report = launch(program, 2, **how)
    said = report.failure.sentence
    assert report.failure.rank == 0 and "pair closure" not in said, said
    assert "rank 0 sends 1 float32 to rank 1 with tag 2" in said, said
    assert "wait() without a time limit" in said, said


@pytest.mark.parametrize(
    ("name", "peer", "words"),
    [
        ("recv", 2, "rank 2"),
        ("recv", None, "one of ranks 1 and 2"),
        ("broadcast", 2, "one of ranks 1 and 2"),
    ],
)
def test_whom_a_long_wait_is_for(name, peer, words):
    assert whom(Operation(name, 0, peer, members=(0, 1, 2))) == words
