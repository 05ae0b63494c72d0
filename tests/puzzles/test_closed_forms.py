"""Whole steps beside other computations of them: closed forms, and the lab's schedule simulator."""

from itertools import accumulate

import part2
import part3
import pytest
from cluster import outcome, profiles, run

from helpers.schedules import naive, one_f_one_b
from helpers.simulate import Costs, simulate


@pytest.fixture
def fast(monkeypatch):
    """A machine whose messages and loads cost (nearly) nothing."""
    monkeypatch.setattr(profiles, "HOST", (1e24, ((0, 1),)))
    monkeypatch.setattr(profiles, "NVLINK", (1e24, 0.0))


def costs_of(layers, samples):
    """The schedule simulator's costs for a stage of so many layers, and one update of it."""
    profile = profiles.Bytes(1)
    forward, update = layers * profile.forward(samples), layers * profile.update(1, 1)
    return Costs(forward=forward, input_grad=forward, weight_grad=forward), update


@pytest.mark.parametrize(("ranks", "micro_batches"), [(2, 3), (4, 8), (4, 2), (8, 9)])
def test_1f1b_beside_the_schedule_simulator(fast, ranks, micro_batches):
    layers, samples = 2 * ranks, 4
    case = ranks, layers, samples * micro_batches, samples
    found = outcome(run(part3.part3_training_loop, *case, profile="bytes"))
    costs, update = costs_of(2, samples)
    expected = simulate(one_f_one_b(ranks, micro_batches), costs).step_time + update
    assert found.time == pytest.approx(expected, rel=1e-6)


def test_naive_pipeline_beside_the_schedule_simulator(fast):
    found = outcome(run(part2.part2_training_loop, 4, 8, 16, profile="bytes"))
    costs, update = costs_of(2, 16)
    assert found.time == pytest.approx(simulate(naive(4), costs).step_time + update, rel=1e-6)


@pytest.mark.parametrize("ranks", [2, 4])
def test_1f1b_keeps_as_many_micro_batches_as_the_schedule_says(ranks):
    """Rank r keeps p - r micro-batches."""
    models = run(part3.part3_training_loop, ranks, ranks, 32, 2, profile="classic")
    for model in models:
        kept = accumulate({"forward": 1, "backward": -1}.get(each.typ, 0) for each in model.log)
        assert max(kept) == ranks - model.rank
