"""`predict`: the question, lettered choices, and the advice, in a box and in plain text."""

import pytest

from helpers.lesson import predict
from helpers.lesson.questions import ADVICE, prediction


def test_choices_get_letters():
    assert repr(prediction("Is 1 < 2?", "yes", "no")).splitlines() == [
        "Predict: Is 1 < 2?",
        "  A) yes",
        "  B) no",
        ADVICE,
    ]


def test_the_box_holds_the_same_words_and_text_stays_text():
    html = prediction("Is 1 < 2?", "yes", "<b>no</b>").html
    for words in ("Is 1 &lt; 2?", "<b>A</b>", "&lt;b&gt;no&lt;/b&gt;", ADVICE):
        assert words in html


def test_a_question_without_choices_is_open(capsys):
    predict("What will the loss be?")
    assert capsys.readouterr().out == f"Predict: What will the loss be?\n{ADVICE}\n"


@pytest.mark.parametrize(
    "arguments, said",
    [((" ",), r"predict\(\) needs a question"), (("Why?", "so"), "was given one choice only")],
)
def test_no_question_or_one_choice_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        predict(*arguments)
