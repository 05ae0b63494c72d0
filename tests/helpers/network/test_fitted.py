"""Latency and bandwidth from message times, and the file that keeps them."""

import pytest

from helpers.network import Link, fit, measured, remember


def test_the_link_that_made_the_times_is_found():
    link = Link.of(alpha=50e-6, beta=1 / 2e9)
    found = fit({size: link.seconds(size) for size in (1, 1000, 10**6, 10**8)})
    assert found.alpha == pytest.approx(link.alpha) and found.beta == pytest.approx(link.beta)
    # A second more for the longest: the latency is that of the short ones still.
    assert fit({1: 1e-4, 1000: 1e-4, 10**9: 1.5}).alpha == pytest.approx(1e-4, rel=0.01)
    for times in ({}, {8: 1e-3}, {1: 1.0, 100: 0.1}):
        with pytest.raises(ValueError, match="measure two sizes"):
            fit(times)


def test_what_is_remembered_is_read_again(tmp_path):
    assert measured(tmp_path / "network.json")[1].startswith("Recorded on another machine")
    path = remember(Link.of(3e-6, 1e-9), tmp_path / "build" / "network.json")
    link, whose = measured(path)
    assert link.alpha == pytest.approx(3e-6) and link.beta == pytest.approx(1e-9)
    assert whose == "Fitted on this machine in lesson 03: alpha = 3 µs a message, 1/beta = 1 GB/s."
    path.write_text("{}")
    assert measured(path)[1].startswith("Recorded on another machine")


def test_what_messages_take_on_a_link():
    assert Link(8, 1).seconds(1e6, 3) == pytest.approx(1.003)
    link = Link.of(alpha=1.0, beta=1.0)
    times = {way: link.all_reduce_seconds(8, 8, way) for way in ("ring", "star", "tree")}
    assert times == pytest.approx({"ring": 14 * 2, "star": 14 * 9, "tree": 6 * 9})
    assert link.all_reduce_seconds(8, 5, "tree") == pytest.approx(6 * 9)  # as many steps as for 8
    for wrong in ((0,), (float("nan"),), (1, -1)):
        with pytest.raises(ValueError, match="give a bandwidth above 0, .* a delay of 0 or more"):
            Link(*wrong)
