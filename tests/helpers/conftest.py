"""What a picture holds, for the tests of those who draw."""

import pytest


@pytest.fixture
def texts():
    """texts(ax, weight="bold"): its words, in the order in which they are drawn."""

    def found(ax, weight=None):
        if ax.late:
            ax.late(ax)
        return [text.get_text() for text in ax.texts if weight in (None, text.get_weight())]

    return found
