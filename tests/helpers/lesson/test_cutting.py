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


def test_a_page_without_python_has_every_cut():
    kept = cuts(2, Piece(0, 0, 1), Piece(1, 2, 1), Piece(2, 4, 1), (1, 1, 0)).recorded()
    assert kept["step"] == "layers in the second stage"
    assert [(name, len(frames)) for name, frames in kept["series"]] == [
        ("0 layers in the first stage", 3),
        ("1 layer in the first stage", 2),
        ("2 layers in the first stage", 1),
    ]
    assert kept["series"][1][1][1]["alt"].startswith("Cut 1 + 1 + 0")
