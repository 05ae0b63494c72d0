"""A model cut into stages: every piece is in one stage, and the bars say who computes longest."""

from helpers.draw.stages import Piece, cut, stages

PIECES = Piece(0.0, 0.0, 4e6), Piece(1.0, 2.0, 2e6), Piece(2.0, 4.0, 5e6)


def test_the_alternative_text_says_who_holds_what():
    assert "rank 0 holds the embedding and layer 0; rank 1 holds layers 1 and 2" in (
        stages((1, 2, 0)).alt
    )


def test_the_slowest_stage_is_named():
    assert cut((2, 2, 2), *PIECES).title.startswith("Cut 2 + 2 + 2: rank 2 computes longest, 1.50")
    assert cut((3, 3, 0), *PIECES).title.startswith("Cut 3 + 3 + 0: rank 0 computes longest, 1.12")
