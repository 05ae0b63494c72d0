"""A rank's part comes back from its neighbor's memory, and never half of a copy."""

import neighbor
import numpy as np
import pytest
from rules import State

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


@pytest.mark.parametrize("killed", [(2,), (0, 2)])
def test_a_rank_that_is_killed_gets_its_part_from_the_next_one(killed):
    ends, back = neighbor.survive(steps=12, every=3, kill_in=7, killed=killed)
    assert back == 6 and len(ends) == 4 and neighbor.distance(ends, 12) < 1e-11


def test_two_neighbors_are_one_too_many_and_the_sentence_says_so():
    said, back = neighbor.survive(steps=12, every=3, kill_in=7, killed=(3, 0))
    assert back is None and said == (
        "ranks 3 and 0 have ended, and with them both copies of rank 3's part. Start again from "
        "the last checkpoint on a disk"
    )


class Alone:
    def start(self):
        return np.arange(4.0)


def test_a_copy_that_somebody_lacks_does_not_count(monkeypatch):
    """The last complete one stays, and so does the one before: others may be no further."""
    rank = neighbor.Rank(0, 2, Alone(), every=1)
    monkeypatch.setattr(rank, "exchange", lambda sending, receiving: None)
    monkeypatch.setattr(rank, "total", lambda array: array)
    rank.state = State.new(rank.start[rank.mine])
    for step in range(3):
        rank.state.step = step
        rank.copy()
    assert sorted(rank.memory) == [1, 2]

    def nobody(array):
        raise neighbor.Lost

    monkeypatch.setattr(rank, "total", nobody)
    rank.state.step = 3
    with pytest.raises(neighbor.Lost):
        rank.copy()
    assert sorted(rank.memory) == [1, 2]
