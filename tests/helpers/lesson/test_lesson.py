"""A lesson folds solutions away, is alive with a kernel and a picture without, and claims hold.

The executed lessons show functions, lines and diffs.
"""

import html
import io
import re

import pytest

from helpers import record
from helpers.draw import lanes
from helpers.draw.themed import PICTURE, TIMELINE
from helpers.lesson import claim, questions, show, vary
from helpers.lesson.asked import Number, Prediction, UnknownQuestion, asked
from helpers.lesson.buttons import Choices
from helpers.lesson.code import code
from helpers.lesson.pictures import picture
from helpers.lesson.questions import listed, predict, revealed, verdict
from helpers.lesson.vary import shown, sliders
from helpers.record import note, noted
from helpers.timeline import timeline
from helpers.trace import Event, Trace
from tests.said import said

TEXT = '''"""A script."""

import torch
from simplellm.options import (
    settle,
)


def read_flags(arguments=None):
    return settle(arguments)


class Ring:
    """Ranks < 9."""

    def pass_on(self, x):
        """Pass it on."""
        BODY

    def size(self):
        first = 1
        second = "<b>"  # as in HTML
        return first
'''
SOLUTION = "# BEGIN SOLUTION T-1\n        y = self.next(x) + 1\n        # END SOLUTION"
STUB = """raise NotImplementedError(
            "Task T-1: pass. "
            "Write it."
        )"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "helpers" / "check").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ring.py"
    path.write_text(TEXT.replace("BODY", SOLUTION))
    return path


def words(text: str) -> str:
    return html.unescape(re.sub("<.*?>", "", text))


def test_a_solution_stands_under_a_fold_and_a_stub_is_a_comment(script):
    for name in ("", "Ring", "Ring.pass_on"):
        seen, _, fold = code("ring.py", name).html.partition("<details")
        assert "...  # task T-1: yours" in words(seen) and "next(x)" not in words(seen)
        assert "y = self.next(x) + 1" in words(fold) and "SOLUTION" not in seen + fold
        assert "next(x)" not in repr(code("ring.py", name))
    script.write_text(TEXT.replace("BODY", STUB))
    seen = code("ring.py", "Ring.pass_on").html
    assert words(seen).endswith("def pass_on(self, x):\n    ...  # task T-1: yours")


def test_what_is_not_there_is_named(script):
    for given, words in (
        (("Rng",), "ring.py has no 'Rng': it has read_flags, Ring, Ring.pass_on, Ring.size"),
        (("Ring", "third"), "no line of ring.py begins with 'third'"),
        (("Ring.size", "second", "first"), "no line of ring.py begins with 'first'"),
    ):
        assert words in said(code, "ring.py", *given)
    there = said(code, "no.py", error=FileNotFoundError)
    assert there.startswith("There is no file 'no.py', neither in this folder")


def test_what_shows_itself_is_shown_and_its_picture_where_nothing_runs(monkeypatch):
    widget = timeline(Trace([Event(0, "F", 0.0, 1.0)]))
    assert picture(widget) is widget
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data and "<img" in data["text/html"]
    monkeypatch.setenv("LAB_STATIC", "1")
    data, facts = picture(widget)._repr_mimebundle_()  # GitHub shows no picture inside of HTML
    assert [*data] == ["image/png", PICTURE, "text/plain", TIMELINE]
    assert facts["image/png"]["alt"] == data["text/plain"] == widget.picture().alt
    trace = Trace([Event(0, "F", 0.0, 1.0), Event(1, "B", 1.0, 2.0)])
    assert picture(trace).svg() == lanes(trace).svg()
    assert "show() cannot show 3.5: give it a trace, a" in said(show, 3.5, error=TypeError)


def tell(temperature, seed):
    return f"story {seed} at {temperature}\n<end>"


def moved(press):
    """Move the sliders of a function; return the box and what the function was asked."""
    asked = []
    draw = {"temperature": [0.6, 0, 1.5], "seed": [0, 1]}
    box = sliders(lambda **chosen: asked.append(chosen) or tell(**chosen), press, draw)
    temperature, seed = box.children[:2]
    assert temperature.options == (0, 0.6, 1.5) and temperature.value == 0.6
    for value in (1, 0, 1):
        seed.value = value
    return box, asked


def test_sliders_ask_once_for_each_choice_and_a_button_each_time_it_is_pressed(capsys):
    _, asked = moved(press="")
    assert asked == [{"temperature": 0.6, "seed": 0}, {"temperature": 0.6, "seed": 1}]
    box, asked = moved(press="kill")
    assert asked == [] and box.manual_button.description == "kill"
    for _ in range(2):
        box.manual_button.click()
    assert asked == [{"temperature": 0.6, "seed": 1}] * 2
    capsys.readouterr()
    vary(tell, temperature=(0.6, 0, 1.5), seed=range(3))  # without a kernel, where they start
    vary(tell, press="kill", temperature=(1, 2))
    assert capsys.readouterr().out == "story 0 at 0.6\n<end>\nPress 'kill' to see what happens.\n"
    assert "&lt;end&gt;" in shown(tell(0, 0)).html


WRONG = [
    lambda: claim("a step", 1.16, 1.0),
    lambda: claim("a count", 8, 7, within=0),
    lambda: claim("a loss", float("nan"), 1.0),
    lambda: claim.below("a difference", 1.0, 1.0),
    lambda: claim.below("a race", 0.95, 1.0, spread=0.1),
    lambda: claim.same("the fastest", "tree", "ring"),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_was_not_measured_ends_the_build_and_not_a_students_lesson(wrong, monkeypatch, capsys):
    monkeypatch.setenv("LAB_STATIC", "1")
    assert "this lesson claims what was not measured: " in said(wrong, error=AssertionError)
    monkeypatch.setenv("LAB_QUICK", "1")  # a few steps prove nothing
    wrong()
    monkeypatch.delenv("LAB_QUICK")
    monkeypatch.delenv("LAB_STATIC")
    wrong()
    assert "Here it isn't so, as it was when this lesson was built" in capsys.readouterr().out


def test_a_measurement_is_repeated_until_it_holds_and_a_wide_claim_says_why(monkeypatch, capsys):
    monkeypatch.setenv("LAB_STATIC", "1")
    assert claim("a step", iter([2.0, 1.5, 1.1, 1.0]).__next__, 1.0) == 1.1
    assert "measured 2, then 1.5, then 1.1 (+10.0%, at most 15%)" in capsys.readouterr().out
    wrong = said(claim, "a step", iter([2.0, 1.5, 1.7]).__next__, 1.0, error=AssertionError)
    assert "measured 2, then 1.5, then 1.7" in wrong
    monkeypatch.setenv("LAB_QUICK", "1")  # nothing counts
    assert claim("a step", iter([2.0]).__next__, 1.0) == 2.0
    assert "says why" in said(claim, "a step", 1.0, 1.0, within=0.5)
    assert "claim.below" in said(claim, "a difference", 1e-9, 0)


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


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """Make the next questions this one; nobody else's record is touched."""
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    record.HERE.clear()

    def ask(truth):
        monkeypatch.setattr(questions, "asked", lambda question, kind: truth)

    ask(TRUTH)
    return ask


def test_in_a_terminal_a_letter_is_typed_in_a_notebook_a_button_pressed(ask, monkeypatch, capsys):
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


def test_the_answer_says_what_was_chosen_and_why_it_is_wrong(ask):
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
    assert "has no question" in said(predict, "micro_batches-1", " ", "a", "b")
    assert "2 to 5 cho" in said(predict, "micro_batches-1", "Why?", "a")
    for question, kind, words in (
        ("sums-2", Number, "the lesson sums has no sums-2 among its NUMBERS: sums-1"),
        ("sums-1", Prediction, "the lesson sums has no sums-1 among its PREDICTIONS: none"),
        ("letters-1", Number, "the lesson letters asks nothing"),
        (None, Number, "a question is called like 'micro_batches-1', not None"),
    ):
        assert words in said(asked, question, kind, error=UnknownQuestion)
