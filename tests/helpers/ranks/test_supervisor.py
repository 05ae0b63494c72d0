"""When ranks have stood still for long enough to be judged."""

import pytest

from helpers.ranks import supervisor
from helpers.ranks.failure import RankState

pytestmark = pytest.mark.ranks


def test_time_and_rounds_must_both_pass(monkeypatch):
    now = 100.0
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now)
    still, states = supervisor.StallDetector(), [RankState(0), RankState(1)]
    assert not still.proven(states, 1)
    now += 60  # the whole machine stood still, and nobody could move
    assert not still.proven(states, 2)
    assert not still.proven(states, 3)
    assert still.proven(states, 4)
    states[1].result = b""
    assert not still.proven(states, 5), "a rank has moved"
    for number in (6, 7, 8, 9):
        assert not still.proven(states, number), "no time has passed"


def test_a_round_without_all_answers_does_not_count(monkeypatch):
    now = 100.0
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now)
    still, states = supervisor.StallDetector(), [RankState(0), RankState(1)]
    assert not still.proven(states, 1)
    now += 60
    for _ in range(5):  # news of other kinds come in the same round
        assert not still.proven(states, 7)
