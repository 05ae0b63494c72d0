"""An answer that is a number: not given, right, nearly right, wrong, no number."""

import pytest

from helpers.lesson.answers import verdict


def test_not_answered_yet_computes_nothing():
    def found():
        raise AssertionError("nobody asked")

    assert repr(verdict(None, found)).startswith("? Not answered yet")


@pytest.mark.parametrize(
    ("mine", "right", "tolerance", "said"),
    [
        (10, 10.0, 0, "✓ Right: 10."),
        (8.3, 8.31777, 0.06, "✓ Right: 8.31777."),
        (6, 10, 0, "✗ Not yet: you wrote 6"),
        (1024, 639456, 0, "✗ Not yet: you wrote 1,024"),
        ("ten", 10, 0, "? Your answer must be a number, but 'ten' is not."),
        (True, 1, 0, "? Your answer must be a number"),
        (float("nan"), 1, 0, "? Your answer must be a number"),
    ],
)
def test_verdicts(mine, right, tolerance, said):
    assert repr(verdict(mine, lambda: right, tolerance)).startswith(said)
