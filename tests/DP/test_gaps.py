"""A bucket waits for its gradients and for the link, and each gap is named by what ends it."""

import gaps as gaps_of_steps
import pytest
import sweep

from helpers.network import Link
from helpers.trace import Event, Trace

MB = 2**20


@pytest.mark.parametrize(
    ("megabytes", "sizes", "seconds"),
    [(0.5, [1, 1, 1], 4.0), (1, [1, 1, 1], 4.0), (2, [2, 1], 5.0), (9, [3], 6.0)],
)
def test_a_bucket_waits_for_its_last_gradient_and_for_the_one_before(megabytes, sizes, seconds):
    gradients = [(1.0, MB), (2.0, MB), (3.0, MB)]
    assert [len(bucket) for bucket in sweep.cut(gradients, megabytes)] == sizes
    link = Link(8 * MB / 1e6)  # one MiB a second
    trace = sweep.predicted(gradients, 3.5, link, ranks=2, megabytes=megabytes)
    assert trace.duration == pytest.approx(seconds)


def test_a_gap_has_the_name_of_what_ends_it():
    rows = [
        (0, "input", 0, 1), (0, "F", 1.25, 2), (0, "B", 2.5, 4), (0, "all-reduce", 4, 7),
        (0, "update", 7, 8),
        (1, "input", 0, 1), (1, "F", 1, 2), (1, "B", 2, 6), (1, "all-reduce", 6, 7),
        (1, "update", 7, 8),
    ]  # fmt: skip
    trace = Trace([Event(*row) for row in rows])
    found = gaps_of_steps.parts(trace, 0, steps=1)
    assert found == dict(model=2.25, input=1, launch=0.75, waiting=2, exposed=1, tail=1)
    late = gaps_of_steps.parts(trace, 1, steps=1)
    assert late == dict(model=5, input=1, launch=0, waiting=0, exposed=1, tail=1)


def test_a_gap_before_a_kernel_is_the_hosts_only_if_the_launch_came_late():
    times = (0, 1, 0), (3, 4, 2.5), (5, 6, 2.6)
    events = [Event(0, "other", start, end, info={"launched": at}) for start, end, at in times]
    assert list(gaps_of_steps.idle(events)) == [("launch", 2), ("between kernels", 1)]
