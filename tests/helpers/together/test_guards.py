"""What a merge survives: by numbers that are worked out by hand, and in the recorded table."""

import numpy as np
import pytest

from helpers.clone import ROOT
from helpers.together.guards import GUARDS, guarded
from helpers.together.lab import import_module

hostile, merge = import_module("hostile"), import_module("rules").merge


def deliveries(*deltas, tokens=100):
    deltas = [np.array(delta, np.float32) for delta in deltas]
    return {n: {"base": 0, "tokens": tokens, "delta": d} for n, d in enumerate(deltas)}


def merged(found, guard):
    """Return the step that the merge takes, in multiples of one outer step."""
    zero = np.zeros(len(found[0]["delta"]))
    return merge(zero, zero, guarded(found, guard), 0, 1, 0, rate=1.0, momentum=0.0)[0]


def test_a_mean_is_not_guarded():
    found = deliveries([1, 0], [3, 3])
    assert guarded(found, "mean") is found and (merged(found, "mean") == [2, 1.5]).all()


def test_a_clipped_change_is_no_longer_than_the_median():
    found = deliveries([3, 4], [0, 5], [-3000, 4000])
    assert merged(found, "clip") == pytest.approx([0, (4 + 5 + 4) / 3], abs=1e-6)


def test_the_largest_finite_numbers_are_clipped_too():
    found = deliveries([3, 4], [0, 5], [-3e38, 3e38])
    assert np.abs(merged(found, "clip")).max() < 5


def test_a_trimmed_mean_leaves_out_a_fifth_rounded_up_at_each_end():
    found = deliveries([1, 9], [2, 8], [3, 7], [7, -1e9], [1e9, 5], [-1e9, 1e9])
    assert merged(found, "trimmed") == pytest.approx([2.5, 7.5])  # two of six


def test_a_median_is_that_of_each_number():
    found = deliveries([1, 9], [2, 8], [3e9, -7e9])
    assert merged(found, "median") == pytest.approx([2, 8])


@pytest.mark.parametrize("guard, step", [("clip", 5 / 3), ("trimmed", 2), ("median", 2)])
def test_nobody_counts_for_more_tokens_than_the_median_learner(guard, step):
    found = deliveries([1.0], [2.0], [3.0])
    found[2]["tokens"] = 10**6
    assert merged(found, guard) == pytest.approx([step])  # clip makes two of the three
    assert found[2]["tokens"] == 10**6  # what was delivered stays as it is


@pytest.mark.parametrize("guard", GUARDS)
def test_where_all_agree_every_merge_takes_the_same_step(guard):
    for learners in (1, 2, 3, 5, 8):
        assert merged(deliveries(*[[1, -2]] * learners), guard) == pytest.approx([1, -2])


def test_the_table_in_the_docs_is_the_recorded_one():
    found = hostile.recorded()
    assert list(found) == list(hostile.ATTACKS) and all(
        list(f) == list(GUARDS) for f in found.values()
    )
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    assert hostile.table(found) in page


def test_a_row_of_the_table_is_measured_again():
    """A quarter of the rounds: the liar wrecks the mean, and the guards learn all the same."""
    liar = hostile.ATTACKS["1 delivers minus 100 times its change"]
    with np.errstate(all="ignore"):
        assert not hostile.train("mean", *liar, rounds=4) < 7.5
    assert hostile.train("median", *liar, rounds=4) < 6.5
