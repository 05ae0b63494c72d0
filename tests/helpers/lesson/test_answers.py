"""An answer that is a number: not given, right, nearly right, a known slip, wrong, no number."""

import pytest

from helpers.lesson import answers
from helpers.lesson.asked import Number
from helpers.record import noted


@pytest.fixture
def asks(monkeypatch, tmp_path):
    """Make the next questions this one."""
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))

    def ask(number):
        monkeypatch.setattr(answers, "asked", lambda question, kind: number)

    return ask


def said(mine, question="sums-9", **measured):
    return repr(answers.verdict(question, mine, measured))


def test_not_answered_yet_computes_nothing(asks):
    def truth():
        raise AssertionError("nobody asked")

    asks(Number(truth))
    assert said(None).startswith("? Not answered yet")


@pytest.mark.parametrize(
    ("mine", "number", "words"),
    [
        (10, Number(10.0, "ranks"), "✓ Right: 10 ranks."),
        (8.3, Number(8.31777, tolerance=0.06, because="ln 4096."), "✓ Right: 8.31777. ln 4096."),
        (6, Number(10), "✗ Not yet: 6 is too small."),
        (1024, Number(lambda: 512), "✗ Not yet: 1,024 is too large."),
        (16, Number(15, slips={16: "you forgot (n-1)/n."}), "✗ Not yet: you forgot (n-1)/n."),
        (15.9, Number(15, tolerance=0.2, slips={16: "forgot"}), "✗ Not yet: forgot"),
        ("ten", Number(10), "? Your answer must be a number, but 'ten' is not."),
        (True, Number(1), "? Your answer must be a number"),
        (float("nan"), Number(1), "? Your answer must be a number"),
    ],
)
def test_verdicts(asks, mine, number, words):
    asks(number)
    assert said(mine).startswith(words)


def test_a_truth_takes_the_measured_values_it_names(asks):
    asks(Number(lambda seconds: 2 * seconds, because="Twice {seconds:.1f}."))
    assert said(3, seconds=1.5, ranks=4) == "✓ Right: 3. Twice 1.5."


def test_tries_are_remembered(asks):
    asks(Number(3))
    said(2, "sums-8"), said(3, "sums-8")
    assert noted("numbers")["sums-8"] == {"tries": 2, "right": True}
