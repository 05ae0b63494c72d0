"""Buckets on a link: the prediction, by hand."""

import pytest
import sweep
import torch

from helpers.network import Link, slow_link

MB = 2**20
GRADIENTS = [(1.0, MB), (2.0, MB), (3.0, MB)]
LINK = Link(8 * MB / 1e6)  # one MiB a second


@pytest.mark.parametrize(
    ("megabytes", "sizes"), [(0.5, [1, 1, 1]), (1, [1, 1, 1]), (2, [2, 1]), (9, [3])]
)
def test_how_gradients_are_cut(megabytes, sizes):
    assert [len(bucket) for bucket in sweep.cut(GRADIENTS, megabytes)] == sizes


@pytest.mark.parametrize(("megabytes", "seconds"), [(1, 4.0), (2, 5.0), (9, 6.0)])
def test_a_bucket_waits_for_its_last_gradient_and_for_the_bucket_before(megabytes, seconds):
    trace = sweep.predicted(GRADIENTS, 3.5, LINK, ranks=2, megabytes=megabytes)
    assert trace.duration == pytest.approx(seconds)


def test_only_some_functions_may_be_slow():
    before = torch.distributed.isend
    with slow_link(LINK, only=["all_reduce"]):
        assert torch.distributed.isend is before
        assert torch.distributed.all_reduce.__wrapped__
