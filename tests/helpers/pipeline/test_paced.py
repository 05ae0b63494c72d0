"""`run_paced`: one step of a plan on real processes, recorded; and what a message costs there."""

import pytest

from helpers.pipeline import Pace, message_latency, run_paced
from helpers.ranks import launch
from helpers.schedules import in_flight, one_f_one_b, zb_v
from helpers.simulate import simulate

pytestmark = pytest.mark.ranks


def test_a_paced_step_runs_every_action_in_its_order_and_waits_as_the_simulated_one_does():
    plan, pace = zb_v(2, 3), Pace(0.02, 0.02, 0.02)
    step = run_paced(plan, pace)
    assert set(step.trace.by_rank()) == {0, 1}
    for rank, events in step.trace.by_rank().items():
        done = [
            (e.kind, e.info["stage"], e.info["micro_batch"]) for e in events if e.kind in "FBIW"
        ]
        assert done == [(a.kind, a.stage, a.micro_batch) for a in plan.ranks[rank]]
    assert list(step.most_kept) == list(in_flight(plan, until="weights"))
    assert step.step_time > 0.97 * simulate(plan, pace.costs()).step_time  # a sleep isn't shorter
    assert {c.name for c in step.trace.counters} == {"in flight"}  # and no bytes of tiny stages


def test_a_pace_that_does_not_fit_is_refused_before_any_process_starts():
    with pytest.raises(ValueError, match="one for each stage"):
        run_paced(one_f_one_b(2, 3), Pace(forward=[0.01, 0.01, 0.01]))


def test_every_rank_gets_the_same_latency_and_the_sleep_does_not_count():
    found = launch(message_latency, 3, args=(0.02, 3), quiet=True)
    assert len(set(found)) == 1 and 0 < found[0] < 1
