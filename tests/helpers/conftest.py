"""What a picture holds, for the tests of those who draw."""

import pytest

from helpers.draw.picture import Rect, Text


def _shapes(picture, kind, fields):
    shapes = [shape for shape in picture.canvas.shapes if isinstance(shape, kind)]
    return [s for s in shapes if all(getattr(s, name) == is_ for name, is_ in fields.items())]


@pytest.fixture
def texts():
    """texts(picture, bold=True): its words, in the order in which they are drawn."""
    return lambda picture, **fields: [text.text for text in _shapes(picture, Text, fields)]


@pytest.fixture
def rects():
    """rects(picture, fill=BLUE): its boxes."""
    return lambda picture, **fields: _shapes(picture, Rect, fields)
