"""The drawing of local steps: three paths from one point, and both ways to go on."""

import pytest

from helpers.draw.drift import COLORS, drift
from helpers.draw.picture import Line


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_has_its_place(theme, check_layout):
    check_layout(drift(theme))


def test_three_paths_leave_one_point_in_each_half():
    lines = [s for s in drift().canvas.shapes if isinstance(s, Line) and s.colour in COLORS]
    starts = [line.points[0] for line in lines]
    common = {start for start in starts if starts.count(start) == 3}
    assert len(common) == 2
