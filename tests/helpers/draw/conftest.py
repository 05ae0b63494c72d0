"""Checks that every picture must stand."""

import itertools
from dataclasses import astuple

import pytest

from helpers.draw import Picture
from helpers.draw.picture import COLORS, Text
from helpers.draw.style import DARK, LIGHT
from helpers.draw.text import width_of

ALONE = {each for theme in (LIGHT, DARK) for each in astuple(theme)[1:]} - {LIGHT.background}


def _box(text: Text) -> tuple[float, float, float, float]:
    width = width_of(text.text, text.size, text.bold)
    left = text.x - {"start": 0, "middle": width / 2, "end": width}[text.anchor]
    return left, text.y - 0.5 * text.size, left + width, text.y + 0.5 * text.size


@pytest.fixture
def check_layout():
    def check(picture: Picture) -> None:
        """Every text lies within, no two touch, and no color is that of one theme alone."""
        canvas = picture.canvas
        texts = [(t.text, _box(t)) for t in canvas.shapes if isinstance(t, Text)]
        for text, (left, top, right, bottom) in texts:
            assert left >= 0 and right <= canvas.width, f"{text!r} sticks out: {left}..{right}"
            assert top >= 0 and bottom <= canvas.height, f"{text!r} sticks out: {top}..{bottom}"
        colors = {getattr(s, name, "") for s in canvas.shapes for name in COLORS}
        assert not colors & ALONE, "take the colors of `canvas.theme`, which suit a dark page too"
        for (one, a), (other, b) in itertools.combinations(texts, 2):
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert apart, f"{one!r} and {other!r} overlap"

    return check
