"""Numbers with a range: what is typed, what is remembered, and how far off it was."""

import pytest

from helpers import record
from helpers.lesson.buttons import Guess
from helpers.lesson.estimates import WITHIN, estimate, settled
from helpers.record import noted
from tests.terminal import Terminal


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    record._here.cache_clear()  # what this process has noted


@pytest.mark.parametrize(
    "typed, guess, within",
    [("4.2 1", 4.2, 1.1), ("1,200, 4", 1200, 10.0), ("0.5", 0.5, 2.0), ("3e2 9", 300, 10.0)],
)
def test_in_a_terminal_both_are_typed(monkeypatch, typed, guess, within):
    monkeypatch.setattr("sys.stdin", Terminal(typed + "\n"))
    estimate("sums-1", "How long does it take?", "s")
    assert noted("estimates")["sums-1"] == {"guess": guess, "within": within, "error": None}


@pytest.mark.parametrize("typed", ["", "soon", "-3", "0", "4 s", "1e999"])
def test_what_is_no_number_is_not_remembered(monkeypatch, capsys, typed):
    monkeypatch.setattr("sys.stdin", Terminal(typed + "\n"))
    estimate("sums-1", "How long?", "s")
    assert noted("estimates") == {}
    assert ("is not a number above 0" in capsys.readouterr().out) == bool(typed)


def test_a_range_holds_or_does_not_and_the_error_counts_in_powers_of_two(monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("4 3\n"))
    estimate("sums-1", "How long?", "s")
    assert repr(settled("sums-1", 8.0, "s", "Twice 4.")) == (
        "You said 4 s, within a factor of 2; it's 8 s. Your number is 2 times too small, and your "
        "range holds. Twice 4."
    )
    assert noted("estimates")["sums-1"]["error"] == 1
    assert "2.5 times too small, and your range does not hold." in repr(
        settled("sums-1", 10.0, "s", "")
    )
    assert "Your number is right, and your range holds." in repr(settled("sums-1", 4.0, "s", ""))
    assert repr(settled("sums-2", 1234.5, "bytes", "So it is.")) == "It's 1,234 bytes. So it is."


def test_in_a_notebook_it_is_a_field_and_a_range():
    box = Guess("sums-3", "How long?", "s", WITHIN)
    assert (box.typed, box.range) == ("", "a factor of 2") and "Choose" in box.said
    box.typed = "1,5x"
    assert "'1,5x' is not a number above 0" in box.said and noted("estimates") == {}
    box.typed, box.range = "0.25", "10 %"
    assert noted("estimates")["sums-3"]["within"] == 1.1 and "You say 0.25 s" in box.said
    again = Guess("sums-3", "How long?", "s", WITHIN)
    assert (again.typed, again.range) == ("0.25", "10 %")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("S", "How long?", "s"), "a question is called like"),
        (("sums-1", " ", "s"), "needs a question and a unit"),
        (("sums-1", "How long?", ""), "needs a question and a unit"),
    ],
)
def test_what_is_no_question(arguments, said):
    with pytest.raises(ValueError, match=said):
        estimate(*arguments)
