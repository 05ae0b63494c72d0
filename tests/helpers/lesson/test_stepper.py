"""The widget that steps through pictures."""

import base64
import zlib

import pytest

from helpers.draw import ring
from helpers.draw.themed import themed_file
from helpers.lesson.stepper import stepper

RINGS = {f"{n} ranks": [ring(n, step) for step in range(2 * n - 1)] for n in (2, 3)}


def test_every_picture_is_there_in_both_themes():
    pages = stepper(lambda theme: RINGS).pages
    assert {name: len(each) for name, each in pages.items()} == {"2 ranks": 3, "3 ranks": 5}
    kept = stepper(lambda theme: dict(reversed(RINGS.items()))).recorded()["series"]
    assert [name for name, _ in kept] == ["3 ranks", "2 ranks"]  # not sorted
    frames = dict(kept)["3 ranks"]
    svg = zlib.decompress(base64.b64decode(frames[4]["svg"])).decode()
    assert len(frames) == 5 and svg == themed_file(RINGS["3 ranks"][4])
    assert frames[4]["alt"] == RINGS["3 ranks"][4].alt
    assert all("<svg" in page and "light-dark(" in page for each in pages.values() for page in each)


@pytest.mark.parametrize("nothing", [{}, {"a name": []}])
def test_nothing_to_step_through(nothing):
    with pytest.raises(ValueError, match="needs pictures"):
        stepper(lambda theme: nothing)
