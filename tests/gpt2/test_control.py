"""The control: every way reads the same sentences in the same order, and learns the same."""

import pytest
from project.control import learn, same_order

pytestmark = pytest.mark.slow


def test_a_batch_of_one_device_is_that_of_all_ranks():
    rows = [{"de": str(i), "en": str(i)} for i in range(21)]
    ordered = same_order(rows, 2, 8)
    assert sorted(int(row["de"]) for row in ordered) == list(range(21))
    from data_parallel.dataset import partition_dataset

    first = [list(partition_dataset(rank, 2, rows, 8, list))[0] for rank in (0, 1)]
    assert ordered[:8] == [*first[0], *first[1]]


def test_the_pipeline_learns_what_one_device_learns():
    one, pipeline = (learn(way, 1, 32, held_out=4)[0] for way in ("one device", "pipeline"))
    assert pipeline.loss == pytest.approx(one.loss, abs=1e-3)
    assert len(one.said) == 4 and one.seconds > 0


def test_it_goes_on_from_given_weights():
    first = learn("one device", 1, 32, held_out=4)[0]
    again = learn("one device", 1, 32, held_out=4, weights=first.weights)[0]
    assert again.loss != pytest.approx(first.loss, abs=1e-3)
