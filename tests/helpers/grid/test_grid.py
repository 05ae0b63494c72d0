"""A grid's picture and its errors. (tests/test_layouts: it is an array.)"""

import pytest

from helpers.grid import Grid


def test_its_picture_in_text():
    assert str(Grid(2, 2, 2)).splitlines() == [
        "            stage 0   stage 1",
        "replica 0   0 1       2 3",
        "replica 1   4 5       6 7",
    ]
    assert str(Grid(dp=11)).splitlines()[-1] == "replica 10   10"


def test_what_is_not_there_is_refused():
    for wrong, words in (
        (lambda: Grid(2, 3, 1).require(4), "are 4: start 6 ranks, or choose dp x pp x tp = 4$"),
        (lambda: Grid(pp=2).require(1), "1 x 2 x 1 is 2 ranks, and there is 1: start 2 ranks"),
        (lambda: Grid(2, cp=2).require(6), "2 x 1 x 1 x 2 is 4.*choose dp x pp x tp x cp = 6"),
        (lambda: Grid(pp=0), r"Grid\(pp=0\): give a whole number, 1 or more"),
        (lambda: Grid(2, 2).rank(dp=2), "no place dp=2: dp is 0 to 1"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
