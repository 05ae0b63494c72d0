"""What lesson 21 asks: the right choices."""

from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "L21-1": Prediction(
        right="C",
        because="{outside} of them leave it. Two seeds differ by more than these mistakes cost in "
        "so short a run, and you don't have the curve of the same seed without the mistake.",
        wrong={
            "A": "A mistake that ruins a training run is found at once. The ones that stay in a "
            "program are those that a curve doesn't show.",
            "B": "A wrong gradient still points roughly downhill, and the optimizer divides its "
            "size away.",
        },
    ),
    "L21-2": Prediction(
        right="C",
        because="A mistake in the messages themselves would have spoiled step 0 as well. What is "
        "right in the first step and wrong later has a past: here, gradients that nobody cleared, "
        "because each replica's optimizer knows only the weights that it owns.",
        wrong={
            "A": "Then step 0 would be wrong too: the groups are the same in every step.",
            "B": "What each backward added was right for each micro-batch, and a wrong count would "
            "show in step 0.",
        },
    ),
    "L21-3": Prediction(
        right="C",
        because="In its first step AdamW moves every weight by about the learning rate, against "
        "the sign of its gradient. A factor cancels.",
        wrong={
            "A": "That's what SGD would do. AdamW divides the gradient by its size, which has "
            "doubled as well.",
            "B": "AdamW divides by the square root of the mean square, which has doubled as well, "
            "so nothing of the factor is left.",
        },
    ),
}
