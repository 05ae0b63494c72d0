"""The eight cases by the rules of the LLM Training Puzzles: their numbers, our solutions."""

import eight
import pytest
from cluster import outcome, run

# Start of the last event of the puzzles' published solutions, whose end and peak memory are in
# `eight`; and the peak memory of ours, which free earlier than most of those.
STARTS = {
    "basic": (16.5, 2_621_440),
    "accumulation": (16.5, 1_966_080),
    "ddp": (5.1, 1_703_936),
    "weight_sharded": (19.9, 2_621_440),
    "fully_sharded": (19.9, 1_966_080),
    "pipeline": (66.9, 2_621_440),
    "gpipe": (33.3, 2_752_512),
    "pipeline_sharded": (15.5, 704_512),
}


@pytest.mark.parametrize("name", STARTS)
def test_our_solutions_take_the_published_steps_and_no_more_memory(name):
    ranks, layers, samples, steps, memory = eight.CASES[name]
    found = outcome(run(getattr(eight, name), ranks, layers, samples, profile="steps"))
    assert found.start_of_last == pytest.approx(STARTS[name][0], abs=1e-9)
    assert found.end == found.time == pytest.approx(steps, abs=1e-9)
    assert found.memory == STARTS[name][1] <= memory
