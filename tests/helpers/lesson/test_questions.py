"""`predict`, `reveal` and `answer`: what is asked, what is remembered, what the answer says."""

import io

import pytest

from helpers import record
from helpers.lesson import questions
from helpers.lesson.asked import Number, Prediction, UnknownQuestion, asked
from helpers.lesson.buttons import Choices
from helpers.lesson.questions import listed, predict, revealed, verdict
from helpers.record import note, noted

TRUTH = Prediction(
    """
    It was {ratio:.1f}
    times.
    A) Only {ratio:.0f}?
    B) So many?
    C) No.
    """,
    lambda ratio: "B" if ratio > 2 else "A",
)


@pytest.fixture(autouse=True)
def ask(monkeypatch, tmp_path):
    """Make the next questions this one; nobody else's record is touched."""
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    record.HERE.clear()

    def ask(truth):
        monkeypatch.setattr(questions, "asked", lambda question, kind: truth)

    ask(TRUTH)
    return ask


def test_in_a_terminal_a_letter_is_typed_and_in_a_notebook_a_button_pressed(monkeypatch, capsys):
    person = io.StringIO("b\nx\n")
    person.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", person)
    predict("sums-1", "Is 1 < 2?", "so", "<b>or so")
    predict("sums-2", "Why?", "so", "or so")
    assert "Predict: Is 1 < 2?\n  A) so\n  B) <b>or so" in capsys.readouterr().out
    assert "Is 1 &lt; 2?" in listed("sums-1", "Is 1 < 2?", ("so",)).html
    assert noted("predictions")["sums-1"]["chosen"] == "B"
    assert "sums-2" not in noted("predictions")
    box = Choices("sums-3", "Why?", ("so", "or so"))
    box.chosen = "A"
    box.chosen = "Z"  # nothing that can be clicked
    assert Choices("sums-3", "Why?", ("so", "or so")).chosen == "A"


def test_the_answer_says_what_was_chosen_and_why_it_is_wrong():
    folded = revealed("sums-3", {"ratio": 1.0})  # without a prediction
    assert repr(folded) == "The answer: It's A: It was 1.0 times."
    assert folded.html.startswith("<details") and "sums-3" not in noted("predictions")
    note("predictions", "sums-3", {"chosen": "A"})
    words = repr(revealed("sums-3", {"ratio": 3.14}))
    assert words == "You said A; it's B: It was 3.1 times. Why not A? Only 3?"
    assert noted("predictions")["sums-3"] == {"chosen": "A", "right": False}
    note("predictions", "sums-3", {"chosen": "B"})
    assert repr(revealed("sums-3", {"ratio": 3.14})) == "You said B, and B it is: It was 3.1 times."
    assert noted("predictions")["sums-3"]["right"]


@pytest.mark.parametrize(
    ("mine", "number", "words"),
    [
        (None, Number(lambda: 1 / 0), "? Not answered yet"),  # and nothing is computed
        (10, Number(10.0, "ranks"), "✓ Right: 10 ranks."),
        (8.3, Number(8.31777, tolerance=0.06, because="ln 4096."), "✓ Right: 8.31777. ln 4096."),
        (3, Number(lambda half: 2 * half, because="Twice {half:.1f}."), "✓ Right: 3. Twice 1.5."),
        (6, Number(10), "✗ Not yet: 6 is too small."),
        (16, Number(15, slips={16: "you forgot (n-1)/n."}), "✗ Not yet: you forgot (n-1)/n."),
        (15.9, Number(15, tolerance=0.2, slips={16: "forgot"}), "✗ Not yet: forgot"),
        ("ten", Number(10), "? Your answer must be a number, but 'ten' is not."),
        (float("nan"), Number(1), "? Your answer must be a number"),
    ],
)
def test_a_number_is_right_or_a_slip_is_named(ask, mine, number, words):
    ask(number)
    assert " ".join(verdict("sums-9", mine, {"half": 1.5, "ranks": 4})).startswith(words)
    kept = {} if words[0] == "?" else {"sums-9": {"tries": 1, "right": words[0] == "✓"}}
    assert noted("numbers") == kept


def test_questions_that_are_not_there(tmp_path, monkeypatch):
    for folder in ("tasks/answers", "helpers/check"):
        (tmp_path / folder).mkdir(parents=True)
    text = "from helpers.lesson.asked import Number\nNUMBERS = {'sums-1': Number(3)}\n"
    (tmp_path / "tasks" / "answers" / "sums.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert asked("sums-1", Number).truth == 3
    told = Prediction("""
        A) No,
        no.
        B* Yes.""")
    assert (told.right, told.because, told.wrong) == ("B", "Yes.", {"A": "No, no."})
    for question, choices, words in ((" ", "ab", "has no question"), ("Why?", "a", "2 to 5 cho")):
        with pytest.raises(ValueError, match=words):
            predict("micro_batches-1", question, *choices)
    for question, kind, words in (
        ("sums-2", Number, "the lesson sums has no sums-2 among its NUMBERS: sums-1"),
        ("sums-1", Prediction, "the lesson sums has no sums-1 among its PREDICTIONS: none"),
        ("letters-1", Number, "the lesson letters asks nothing"),
        (None, Number, "a question is called like 'micro_batches-1', not None"),
    ):
        with pytest.raises(UnknownQuestion, match=words):
            asked(question, kind)
