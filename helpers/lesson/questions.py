"""`predict`: a question that the reader answers on paper before the next cell runs."""

from html import escape
from string import ascii_uppercase

from helpers.lesson.shown import Shown, put

ADVICE = "Write your answer down before you run the next cell."


def predict(question: str, *choices: str) -> None:
    """Show `question` in a box, with lettered `choices` if there are any."""
    put(prediction(question, *choices))


def prediction(question: str, *choices: str) -> Shown:
    """Return the box of `predict`; raise ValueError for an empty question or a single choice."""
    if not question.strip():
        raise ValueError("predict() needs a question: predict('What will the loss be?').")
    if len(choices) == 1:
        raise ValueError("predict() was given one choice only: give two or more, or none.")
    lettered = list(zip(ascii_uppercase, map(str, choices), strict=False))
    plain = [f"Predict: {question}", *(f"  {letter}) {text}" for letter, text in lettered), ADVICE]
    rows = "".join(f"<div><b>{letter}</b>&nbsp; {escape(text)}</div>" for letter, text in lettered)
    box = "border: 1px solid #0072B2; border-left: 6px solid #0072B2; padding: 8px 14px"
    html = (
        f'<div style="{box}"><div><b>Predict.</b> {escape(question)}</div>'
        f'<div style="margin: 6px 0px 6px 18px">{rows}</div><div><i>{ADVICE}</i></div></div>'
    )
    return Shown(html, "\n".join(plain))
