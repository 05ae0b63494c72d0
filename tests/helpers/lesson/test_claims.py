"""`claim` and its two forms: what ends a build, what a student reads; the lessons show the rest."""

import pytest

from helpers.lesson import claim


@pytest.fixture(autouse=True)
def built(monkeypatch):
    monkeypatch.setenv("LAB_STATIC", "1")
    monkeypatch.delenv("LAB_QUICK", raising=False)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: claim("a step", 1.16, 1.0),
        lambda: claim("a count", 8, 7, within=0),
        lambda: claim("a loss", float("nan"), 1.0),
        lambda: claim.below("a difference", 1.0, 1.0),
        lambda: claim.below("a race", 0.95, 1.0, spread=0.1),
        lambda: claim.same("the fastest", "tree", "ring"),
    ],
)
def test_what_was_not_measured_ends_the_build_and_not_a_students_lesson(wrong, monkeypatch, capsys):
    with pytest.raises(AssertionError, match="this lesson claims what was not measured: "):
        wrong()
    monkeypatch.setenv("LAB_QUICK", "1")  # a few steps prove nothing
    wrong()
    monkeypatch.delenv("LAB_QUICK")
    monkeypatch.delenv("LAB_STATIC")
    wrong()
    assert "Here it isn't so, as it was when this lesson was built" in capsys.readouterr().out


def test_a_measurement_that_does_not_hold_is_repeated_and_a_wide_claim_says_why(
    monkeypatch, capsys
):
    assert claim("a step", iter([2.0, 1.5, 1.1, 1.0]).__next__, 1.0) == 1.1
    assert "measured 2, then 1.5, then 1.1 (+10.0%, at most 15%)" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="measured 2, then 1.5, then 1.7"):
        claim("a step", iter([2.0, 1.5, 1.7]).__next__, 1.0)
    monkeypatch.setenv("LAB_QUICK", "1")  # nothing counts
    assert claim("a step", iter([2.0]).__next__, 1.0) == 2.0
    with pytest.raises(ValueError, match="says why"):
        claim("a step", 1.0, 1.0, within=0.5)
    with pytest.raises(ValueError, match=r"claim\.below"):
        claim("a difference", 1e-9, 0)
