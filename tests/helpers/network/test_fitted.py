"""Latency and bandwidth from message times, and the file that keeps them."""

import pytest

from helpers.network import Link, fit, measured, remember
from helpers.network.fitted import RECORDED

pytestmark = pytest.mark.ranks


def test_the_link_that_made_the_times_is_found():
    link = Link.of(alpha=50e-6, beta=1 / 2e9)
    found = fit({size: link.seconds(size) for size in (1, 1000, 10**6, 10**8)})
    assert found.alpha == pytest.approx(link.alpha) and found.beta == pytest.approx(link.beta)
    assert link.megabits == pytest.approx(16_000)


def test_short_messages_have_a_say():
    # A second more for the longest: the latency is that of the short ones still.
    times = {1: 1e-4, 1000: 1e-4, 10**9: 1.5}
    assert fit(times).alpha == pytest.approx(1e-4, rel=0.01)


@pytest.mark.parametrize("times", [{}, {8: 1e-3}, {1: 1.0, 100: 0.1}])
def test_times_without_a_bandwidth(times):
    with pytest.raises(ValueError, match="sizes"):
        fit(times)


def test_what_is_remembered_is_read_again(tmp_path):
    link, whose = measured(tmp_path / "network.json")
    assert link == RECORDED and whose.startswith("Recorded on another machine")
    kept = Link.of(3e-6, 1e-9)
    path = remember(kept, tmp_path / "build" / "network.json")
    link, whose = measured(path)
    assert link.alpha == pytest.approx(3e-6) and link.beta == pytest.approx(1e-9)
    assert whose == "Fitted on this machine in lesson 03: alpha = 3 µs a message, 1/beta = 1 GB/s."
    for broken in ("", "{}", '{"alpha": 1, "beta": 0}', "[1]"):
        path.write_text(broken)
        assert measured(path)[0] == RECORDED


def test_three_ways_to_all_reduce():
    link = Link.of(alpha=1.0, beta=1.0)
    times = {way: link.all_reduce_seconds(8, 8, way) for way in ("ring", "star", "tree")}
    assert times == pytest.approx({"ring": 14 * 2, "star": 14 * 9, "tree": 6 * 9})
    assert link.all_reduce_seconds(8, 5, "tree") == pytest.approx(6 * 9)  # as many steps as for 8
    assert link.all_reduce_seconds(8, 1, "tree") == 0
    with pytest.raises(ValueError, match="choose 'ring', 'star', 'tree'"):
        link.all_reduce_seconds(8, 8, "bush")
