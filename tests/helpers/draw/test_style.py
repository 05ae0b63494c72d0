"""One palette: readable letters, colors that differ in light and dark."""

import itertools

import pytest

from helpers.draw.style import DARK, LIGHT, LOOKS, ink_on, look, theme
from helpers.trace import KINDS


def luminance(colour: str) -> float:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_letters_can_be_read_on_their_boxes(kind):
    assert contrast(look(kind).colour, ink_on(look(kind).colour)) >= 4.5


@pytest.mark.parametrize("each", [LIGHT, DARK])
def test_text_can_be_read_on_the_background(each):
    for colour in (each.text, each.muted):
        assert contrast(colour, each.background) >= 4.5
        assert contrast(colour, each.band) >= 4.5


def test_forward_and_backward_differ_in_a_grey_print():
    for a, b in itertools.combinations("FB", 2):
        assert contrast(LOOKS[a].colour, LOOKS[b].colour) > 2


def test_unknown_theme():
    with pytest.raises(ValueError, match="no theme 'blue': choose 'light' or 'dark'"):
        theme("blue")


def test_kinds_differ_by_letter_not_by_colour_alone():
    letters = [LOOKS[kind].letter for kind in ("F", "B", "I", "W", "update", "input")]
    assert len(set(letters)) == len(letters)
