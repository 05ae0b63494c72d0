"""What the lessons need: show a picture or a diff, ask for a prediction, check an answer."""

from helpers.lesson.answers import answer
from helpers.lesson.changes import show_diff, show_orders
from helpers.lesson.pictures import show
from helpers.lesson.questions import predict
from helpers.lesson.shown import static

__all__ = ["answer", "predict", "show", "show_diff", "show_orders", "static"]
