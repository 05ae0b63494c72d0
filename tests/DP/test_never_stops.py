"""When replicas are killed and frozen, the steps that counted are those of one device.

Nothing here measures time: each fault waits until the one that it needs has happened.
"""

import sys
import time

import pytest
import torch
from crew import Crew
from lighthouse import Lighthouse
from never_stops import distance, survive
from wire import Refused, Server, ask
from work import Work

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

STEPS = 8
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows can't freeze a process")


def prove(outcome, replicas=3):
    """Hold a run against one device that took what counted: no batch is left out or read twice."""
    assert len(outcome.counted) >= STEPS and sorted(outcome.weights) == list(range(replicas))
    apart, away = distance(outcome, replicas)
    assert apart == 0 and away < 1e-11
    work = Work(replicas)
    ids = torch.cat([work.batch(replica, 0) for replica in range(replicas)])
    assert outcome.losses[0] == pytest.approx(work.gradient(work.start(), ids)[0])
    for replica in range(replicas):
        places = [places[replica] for places in outcome.counted if replica in places]
        assert places == list(range(len(places)))


@needs_signals
@pytest.mark.parametrize("kept", [2, 256], ids=["forgotten", "remembered"])
def test_a_replica_is_killed_and_heals_and_another_is_frozen_and_catches_up(kept, monkeypatch):
    """The steps that the frozen one has missed may be forgotten: then it heals, too."""
    monkeypatch.setattr("lighthouse.KEPT", kept)
    faults = [(2, "kill", 1), (3, "freeze", 2), (5, "start", 1), (5, "back", 1), (8, "thaw", 2)]
    outcome = survive(3, STEPS, [*faults, (8, "back", 2)], silence=1.0, pace=0.1)
    prove(outcome)
    assert all(sum(r not in places for places in outcome.counted) > 2 for r in (1, 2))


def test_all_but_one_are_killed_and_those_that_return_heal_from_the_last():
    faults = [(2, "kill", 0), (2, "kill", 1), (3, "start", 0), (3, "start", 1), (3, "back", 1)]
    prove(survive(3, STEPS, [*faults, (4, "back", 0), (5, "kill", 2), (6, "start", 2)], pace=0.1))


def test_without_the_last_one_a_new_replica_is_told_that_the_weights_are_gone():
    faults = [(2, "kill", 0), (3, "kill", 1), (3, "start", 0)]
    outcome = survive(2, STEPS, faults, pace=0.1)
    assert outcome.weights == {} and len(outcome.counted) < STEPS
    assert "no replica is left that holds the weights of step 3" in outcome.said[0]
    assert "Start again from the last checkpoint" in outcome.said[0]


def failing(number):
    raise ValueError(f"no text for {number}")


@pytest.mark.parametrize(
    "program, told", [(failing, "no text for 0"), (abs, "have ended, so step 3 never comes")]
)
def test_processes_that_can_not_go_on_are_told_of_at_once(program, told):
    with Crew(program) as crew:
        crew.start(0)
        with pytest.raises(RuntimeError, match=told):
            crew.wait_for(lambda: False, "step 3")


def test_a_replica_that_another_one_has_replaced_is_refused_and_one_that_is_ahead():
    lighthouse = Lighthouse(replicas=2)
    lighthouse.present[0] = {"address": "here", "heard": time.monotonic(), "at": 0}
    refused = {"there": "another process has taken the place of this replica 0"}
    refused["here"] = "step 3 is ahead of the lighthouse, which is at 0"
    for address, told in refused.items():
        with pytest.raises(Refused, match=told):
            ask(lighthouse.address, verb="mean", replica=0, address=address, step=3)
    lighthouse.stop()


def test_a_server_that_fails_or_is_silent_gives_no_answer():
    def answer(caller, fails):
        if fails:
            raise NotImplementedError("no mean over those present yet")
        time.sleep(1)

    server = Server(answer)
    with pytest.raises(TimeoutError, match="no answer in 0.1 s"):
        ask(server.address, patience=0.1, fails=False)
    with pytest.raises(ConnectionError, match="the other process has ended"):
        ask(server.address, fails=True)
    with pytest.raises(NotImplementedError, match="no mean over"):
        server.check()
