"""The widget that steps through pictures."""

import pytest

from helpers.draw import ring
from helpers.lesson.stepper import stepper


def rings(theme):
    return {f"{n} ranks": [ring(n, step, theme) for step in range(2 * n - 1)] for n in (2, 3)}


def test_every_picture_is_there_in_both_themes():
    widget = stepper(rings)
    for theme in (widget.light, widget.dark):
        assert {name: len(pages) for name, pages in theme.items()} == {"2 ranks": 3, "3 ranks": 5}
        assert all(page.startswith("<svg") for pages in theme.values() for page in pages)
    assert widget.light["2 ranks"][0] != widget.dark["2 ranks"][0]


@pytest.mark.parametrize("nothing", [{}, {"a name": []}])
def test_nothing_to_step_through(nothing):
    with pytest.raises(ValueError, match="needs pictures"):
        stepper(lambda theme: nothing)
