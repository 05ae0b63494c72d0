"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "gpt2_two_ways-1": Prediction(
        "B",
        A="That's true only if both have the same number of tokens.",
        B="Each sentence counts for one half, so a token of the short one has a larger share.",
        C="A long sentence's half is divided among more tokens, so each counts less.",
    ),
}
