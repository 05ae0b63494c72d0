"""The cuts of a pipeline under a slider: the picture follows the handles."""

from helpers.draw.stages import Piece
from helpers.lesson.cutting import cuts


def test_the_picture_follows_the_handles():
    sliders = cuts(6, Piece(0, 0, 1), Piece(1, 2, 1), Piece(2, 4, 1), (2, 2, 2))
    assert sliders.counts == (2, 2, 2) and "rank 2 computes longest" in sliders.picture().title
    before = sliders.page.value
    sliders.slider.value = (3, 6)
    assert sliders.counts == (3, 3, 0) and "Cut 3 + 3 + 0" in sliders.picture().title
    assert sliders.page.value != before and 'alt="Cut 3 + 3 + 0' in sliders.page.value
