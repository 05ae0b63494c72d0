"""What lesson 04 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction


def outer_step(gain):
    return "A" if gain > 0.003 else "C" if gain < -0.003 else "B"


PREDICTIONS = {
    "L04-1": Prediction(
        right="B",
        because="Both are linear in the gradient: the mean of the steps is the step of the mean, "
        "and the mean of the momentum buffers is the buffer of the mean. Adam divides by the size "
        "of the gradient, and that isn't linear.",
        wrong={
            "A": "The buffers of the ranks do differ, and nobody averages them. But only their "
            "mean reaches the averaged weights, and it's the buffer that one device would have.",
            "C": "Adam's first step depends on the sign of the gradient alone. The mean of three "
            "signs isn't the sign of the mean.",
        },
    ),
    "L04-2": Prediction(
        right="B",
        because="After the first average all ranks hold the same weights. Averaged gradients move "
        "all of them by the same step, so the differences stay.",
        wrong={
            "A": "All ranks take the same step then, from different places, and end in different "
            "places, as far apart as before.",
            "C": "Averaged gradients never bring the ranks together: the same step is added to all "
            "of them.",
        },
    ),
    "L04-3": Prediction(
        right="B",
        because="While the ranks are alone they drift apart, each towards its own sequences. "
        "Averaging after 16 steps instead of 4 costs {cost:.2f} nats here.",
        wrong={
            "A": "They read the same sequences, but a rank's step no longer knows what the others "
            "have read since the last average.",
            "C": "It saves bytes, not loss: nobody learns more by hearing less from the others.",
        },
    ),
    "L04-4": Prediction(
        right=outer_step,
        because="The mean loss fell by {gain:.3f} nats (a negative number means that it rose). The "
        "outer step goes beyond the mean by momentum, which helps as long as the ranks keep "
        "agreeing on the direction, and hurts when the steps are large already.",
        wrong={
            "A": "With steps that are large already, going further overshoots.",
            "B": "The same bytes were sent, but what the ranks do with them differs: the next "
            "round doesn't start at the mean.",
            "C": "It would be too far if the inner steps were large already. With this learning "
            "rate the mean is a careful step, and momentum speeds it up.",
        },
    ),
    "L04-7": Prediction(
        right="C",
        because="What each model has learned from the accidents of its own text cancels in the "
        "mean. But once the models have drifted too far apart, the place halfway between them is "
        "no good model any more.",
        wrong={
            "A": "The loss isn't linear in the weights, so the loss of the mean is not the mean of "
            "the losses.",
            "B": "That would hold for a bowl-shaped loss. Models that have trained alone for long "
            "lie in different valleys, with a hill between them.",
        },
    ),
}

NUMBERS = {
    "L04-5": Number(
        1000 / 20 * 547_648 * 4 * 2 * 3 / 4 / 1e6,
        unit="MB",
        tolerance=0.5,
        because="50 all-reduces of 2.19 MB, and a rank sends 2 · 3/4 times as much around the "
        "ring.",
        slips={
            1000 / 20 * 547_648 * 4 / 1e6: "that's what a rank puts into the all-reduces; around "
            "a ring of n ranks it sends 2 (n - 1) / n times as much.",
            1000 / 20 * 547_648 * 4 * 2 / 1e6: "the factor is 2 (n - 1) / n, not 2.",
            1000 / 20 * 547_648 * 4 * 3 / 4 / 1e6: "you counted one of the two times around: "
            "first the sums are made, then they are handed on.",
            1000 * 547_648 * 4 * 2 * 3 / 4 / 1e6: "they don't average after every step, but after "
            "every 20.",
            1000 / 20 * 547_648 * 2 * 3 / 4 / 1e6: "each number has 4 bytes.",
        },
    ),
    "L04-6": Number(
        2.75,
        because="(100 · 1 + 100 · 2 + 200 · 4) / 400.",
        slips={
            7 / 3: "that's the plain mean; the third phone has as many stories as the other two "
            "together.",
        },
    ),
}
