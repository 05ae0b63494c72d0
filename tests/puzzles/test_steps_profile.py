"""The eight cases by the rules of the LLM Training Puzzles: their numbers, our solutions."""

import eight
import keepers
import pytest
from cluster import outcome, run

# start of the last event, its end, peak memory: what the puzzles' published solutions show
PUBLISHED = {
    "basic": (16.5, 17.0, 2_621_440),
    "accumulation": (16.5, 17.0, 1_966_080),
    "ddp": (5.1, 5.6, 1_835_008),
    "weight_sharded": (19.9, 20.4, 2_752_512),
    "fully_sharded": (19.9, 20.4, 2_359_296),
    "pipeline": (66.9, 67.4, 3_145_728),
    "gpipe": (33.3, 33.8, 4_194_304),
    "pipeline_sharded": (15.5, 16.0, 966_656),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_numbers_to_all_digits(name):
    ranks, layers, samples, steps, memory = eight.CASES[name]
    found = outcome(run(getattr(keepers, name), ranks, layers, samples, profile="steps"))
    start, end, most = PUBLISHED[name]
    assert found.start_of_last == pytest.approx(start, abs=1e-9)
    assert found.end == found.time == pytest.approx(end, abs=1e-9)
    assert found.memory == most
    assert (steps, memory) == (end, most)


@pytest.mark.parametrize("name", PUBLISHED)
def test_our_solutions_need_no_more(name):
    ranks, layers, samples, steps, memory = eight.CASES[name]
    found = outcome(run(getattr(eight, name), ranks, layers, samples, profile="steps"))
    assert found.time == pytest.approx(steps, abs=1e-9)
    assert found.memory <= memory
