"""What a picture holds, for the tests of those who draw."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch


@pytest.fixture
def texts():
    """texts(ax, weight="bold"): its words, in the order in which they are drawn."""

    def found(ax, weight=None):
        if ax.late:
            ax.late(ax)
        return [text.get_text() for text in ax.texts if weight in (None, text.get_weight())]

    return found


@pytest.fixture
def widths():
    """widths(ax, BLUE): of its boxes of a color, in data units; 16 is a legend's swatch."""

    def found(ax, color, alpha=1):
        alike = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
        alike = [each for each in alike if (each.get_alpha() or 1) == pytest.approx(alpha)]
        alike = [each for each in alike if to_hex(each.get_facecolor()) == color.lower()]
        corners = [each.get_path().vertices for each in alike]
        return [v[k + 1][0] - v[k][0] for v in corners for k in range(0, len(v), 5)]

    return found
