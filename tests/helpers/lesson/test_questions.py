"""`predict` and `reveal`: choices, what is remembered, what the answer says."""

from collections import Counter

import pytest
import traitlets

from helpers.check.task import ROOT, part_of_tasks
from helpers.lesson import predict, questions, reveal
from helpers.lesson.asked import Number, Prediction, UnknownQuestion, asked
from helpers.lesson.buttons import Choices
from helpers.lesson.questions import keys_in_order, listed, revealed
from helpers.record import note, noted
from tests.terminal import Terminal

TRUTH = Prediction(
    lambda ratio: "B" if ratio > 2 else "A",
    because="It was {ratio:.1f} times.",
    A="Only {ratio:.0f}?",
    B="So many?",
    C="No.",
)


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(questions, "asked", lambda question, kind: TRUTH)
    orders = {2: "BA", 3: "CAB"}  # the first one that is shown is the last of the source
    monkeypatch.setattr(questions, "keys_in_order", lambda question, count: orders[count])


def test_choices_get_letters_and_text_stays_text():
    shown = listed("micro_batches-1", "Is 1 < 2?", ("yes", "<b>no</b>"))
    assert repr(shown).splitlines() == ["Predict: Is 1 < 2?", "  A) yes", "  B) <b>no</b>"]
    for words in ("Is 1 &lt; 2?", "<b>A</b>", "&lt;b&gt;no&lt;/b&gt;"):
        assert words in shown.html


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("L6", "Why?", "a", "b"), "a question is called like 'micro_batches-1', not 'L6'"),
        (("micro_batches-1", " ", "a", "b"), r"predict\('micro_batches-1', …\) has no question"),
        (("micro_batches-1", "Why?", "so"), "needs 2 to 5 choices, not 1"),
        (("micro_batches-1", "Why?", *"abcdef"), "needs 2 to 5 choices, not 6"),
    ],
)
def test_what_is_no_question(arguments, said):
    with pytest.raises(ValueError, match=said):
        predict(*arguments)


def test_in_a_terminal_a_letter_is_typed(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Terminal("b\n"))
    predict("sums-1", "Why?", "so", "or so")
    assert "  A) or so\n  B) so" in capsys.readouterr().out
    assert noted("predictions")["sums-1"]["chosen"] == "A"
    monkeypatch.setattr("sys.stdin", Terminal("x\n"))
    predict("sums-2", "Why?", "so", "or so")
    assert "sums-2" not in noted("predictions")


def test_the_answer_says_what_was_chosen_and_why_it_is_wrong():
    note("predictions", "sums-3", {"chosen": "A"})
    words = repr(revealed("sums-3", {"ratio": 3.14}))
    assert words == "You said B; it's C: It was 3.1 times. Why not B? Only 3?"
    assert noted("predictions")["sums-3"] == {"chosen": "A", "right": False}
    note("predictions", "sums-3", {"chosen": "B"})
    assert repr(revealed("sums-3", {"ratio": 3.14})) == "You said C, and C it is: It was 3.1 times."
    assert noted("predictions")["sums-3"]["right"]


def test_without_a_prediction_the_answer_is_folded():
    shown = revealed("sums-4", {"ratio": 1.0})
    assert repr(shown) == "The answer: It's B: It was 1.0 times."
    assert shown.html.startswith("<details") and "<summary>" in shown.html
    assert "sums-4" not in noted("predictions")


def test_a_click_is_remembered_and_shown_again():
    box = Choices("sums-5", "Why?", ("so", "or so"), "BA")
    assert box.choices == [["A", "or so"], ["B", "so"]] and box.chosen == ""
    box.chosen = "B"
    assert noted("predictions")["sums-5"]["chosen"] == "A"  # the key
    assert Choices("sums-5", "Why?", ("so", "or so"), "BA").chosen == "B"
    assert Choices("sums-5", "Why?", ("so", "or so"), "AB").chosen == "A"
    box.chosen = "Z"  # nothing that can be clicked
    assert noted("predictions")["sums-5"]["chosen"] == "A"
    with pytest.raises(traitlets.TraitError):
        box.chosen = 3


def test_choices_are_shuffled_for_each_student_and_stay_so(monkeypatch):
    def orders(name):
        monkeypatch.setenv("LAB_PROGRESS", name)
        return [keys_in_order(f"sums-{number}", 3) for number in range(30)]

    assert orders("/one/progress.json") == orders("/one/progress.json")
    assert orders("/one/progress.json") != orders("/another/progress.json")
    assert len(set(orders("/one/progress.json"))) == 6
    monkeypatch.setenv("LAB_STATIC", "1")  # a page that everybody reads has one order
    assert orders("/one/progress.json") == orders("/another/progress.json")


def test_no_letter_is_right_more_often_than_the_others(monkeypatch):
    """On the pages without a kernel; B was right 55 times in 110 before choices were shuffled."""
    monkeypatch.setenv("LAB_STATIC", "1")
    right = Counter()
    for path in sorted((ROOT / "tasks" / "answers").glob("[a-z]*.py")):
        predictions = part_of_tasks(f"answers/{path.stem}").PREDICTIONS
        for question, found in predictions.items():
            if isinstance(found.right, str):
                keys = keys_in_order(question, len(found.wrong) + 1)
                right["ABCDE"[keys.index(found.right)]] += 1
    assert right.total() > 80 and max(right.values()) < 0.45 * right.total()


def test_where_no_record_is_kept_the_kernel_remembers(monkeypatch):
    monkeypatch.setenv("LAB_PROGRESS", "off")
    note("predictions", "sums-6", {"chosen": "C"})
    assert noted("predictions")["sums-6"]["chosen"] == "C"
    monkeypatch.setenv("LAB_STATIC", "1")
    note("predictions", "sums-6", {"chosen": "A"})
    assert noted("predictions") == {}


def test_a_clock_that_disagrees_is_told_and_the_argument_counts(monkeypatch):
    """What a busy machine measures doesn't make a good argument wrong."""
    truth = Prediction(
        "B", A="No.", B="Two are twice one.", C="No.",
        here=lambda ratio: "B" if ratio > 1.5 else "A", unless="Here it was {ratio:.1f}.",
    )  # fmt: skip
    assert truth.wrong == {"A": "No.", "C": "No."}
    monkeypatch.setattr(questions, "asked", lambda question, kind: truth)
    note("predictions", "sums-1", {"chosen": "B"})
    calm, busy = (repr(revealed("sums-1", {"ratio": ratio})) for ratio in (2.0, 1.2))
    assert calm == "You said C, and C it is: Two are twice one."
    assert busy == f"{calm} Here it was 1.2." and noted("predictions")["sums-1"]["right"]


def test_questions_that_are_not_there(tmp_path, monkeypatch):
    for folder in ("tasks/answers", "helpers/check"):
        (tmp_path / folder).mkdir(parents=True)
    text = "from helpers.lesson.asked import Number\nNUMBERS = {'sums-1': Number(3)}\n"
    (tmp_path / "tasks" / "answers" / "sums.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert asked("sums-1", Number).truth == 3
    with pytest.raises(
        UnknownQuestion, match="the lesson sums has no sums-2 among its NUMBERS: sums-1"
    ):
        asked("sums-2", Number)
    with pytest.raises(
        UnknownQuestion, match="the lesson sums has no sums-1 among its PREDICTIONS: none"
    ):
        asked("sums-1", Prediction)
    with pytest.raises(UnknownQuestion, match="the lesson letters asks nothing"):
        asked("letters-1", Number)
    with pytest.raises(
        UnknownQuestion, match="a question is called like 'micro_batches-1', not None"
    ):
        asked(None, Number)


def test_reveal_shows(capsys):
    reveal("sums-7", ratio=1)
    assert "The answer: It's B" in capsys.readouterr().out
