"""Checks that every picture must stand."""

import itertools

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from helpers.draw.style import DARK


@pytest.fixture
def check_layout():
    def check(ax) -> None:
        """Every text lies within and no two touch; it says in words what it shows, and its SVG
        knows both themes."""
        svg = ax.svg()
        assert ax.alt.strip() and svg.startswith("<svg")
        assert DARK["background"].lower() in svg
        if ax.late:
            ax.late(ax)
        draw = FigureCanvasAgg(ax.figure)
        draw.draw()
        ticks = [(t, 0, ax.get_xlim()) for t in ax.get_xticklabels()]
        ticks += [(t, 1, ax.get_ylim()) for t in ax.get_yticklabels()]
        axes = [t for t, k, ends in ticks if min(ends) <= t.get_position()[k] <= max(ends)]
        written = [*ax.texts, *([*axes, ax.xaxis.label] if ax.axison else [])]
        written = [t for t in written if t.get_text() and t.get_visible()]
        drawn = draw.get_renderer()
        boxes = [(t.get_text(), t.get_window_extent(drawn).extents.tolist()) for t in written]
        for text, box in boxes:
            inside = (
                box[0] >= -1 and box[1] >= -1 and box[2] <= ax.wide + 1 and box[3] <= ax.high + 1
            )
            assert inside, f"{text!r} sticks out: {box}"
        for (one, a), (other, b) in itertools.combinations(boxes, 2):
            beside = min(a[2], b[2]) - max(a[0], b[0]) <= 1
            shared = min(a[3], b[3]) - max(a[1], b[1])  # rows may touch: letters don't fill them
            apart = beside or shared <= 0.3 * min(a[3] - a[1], b[3] - b[1])
            assert apart, f"{one!r} and {other!r} overlap"

    return check
