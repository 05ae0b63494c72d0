"""A model cut into stages: every piece is in one stage, and the bars say who computes longest."""

import pytest

from helpers.draw.picture import Rect, Text
from helpers.draw.stages import Piece, cut, pieces_of, stages
from helpers.draw.style import BLUE

PIECES = Piece(0.0, 0.0, 4e6), Piece(1.0, 2.0, 2e6), Piece(2.0, 4.0, 5e6)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("counts", [(2, 2, 2), (0, 6, 0), (3, 2, 1), (3, 3), (2, 2, 2, 2)])
def test_every_text_has_its_place(counts, theme, check_layout):
    check_layout(stages(counts, "3 × 128 × 64", theme=theme))
    check_layout(cut(counts, *PIECES, theme=theme))


def test_each_piece_is_in_one_stage():
    assert pieces_of((2, 0, 1)) == [["emb", "0", "1"], [], ["2", "head"]]


def test_the_alternative_text_says_who_holds_what():
    assert "rank 0 holds the embedding and layer 0; rank 1 holds layers 1 and 2" in (
        stages((1, 2, 0)).alt
    )


def test_the_slowest_stage_is_named():
    assert cut((2, 2, 2), *PIECES).title.startswith("Cut 2 + 2 + 2: rank 2 computes longest, 1.50")
    assert cut((3, 3, 0), *PIECES).title.startswith("Cut 3 + 3 + 0: rank 0 computes longest, 1.12")


def test_the_bars_are_in_proportion():
    picture = cut((1, 2, 3), *PIECES)
    first, second, third = (
        s.width for s in picture.canvas.shapes if isinstance(s, Rect) and s.fill == BLUE
    )
    assert second == pytest.approx(2 * first) and third == pytest.approx(5 * first)
    assert "15 s, 62 %" in {s.text for s in picture.canvas.shapes if isinstance(s, Text)}
