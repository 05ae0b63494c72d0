"""Clipping and tying on a grid are one device's, and each way to do them wrong shows."""

import clip_and_tie
import pytest

pytestmark = pytest.mark.ranks


@pytest.mark.slow
def test_only_the_right_way_ends_where_one_device_does():
    found = clip_and_tie.run()
    assert list(found) == ["right", *clip_and_tie.WRONG]
    assert found.pop("right") < 1e-13
    assert min(found.values()) > 1e-4
