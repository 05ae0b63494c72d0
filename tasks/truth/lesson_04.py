"""What lesson 04 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction


def outer_step(gain, distance):
    return "A" if gain > distance else "C" if gain < -distance else "B"


def drifted(worse):
    return "C" if worse > 0 else "B"


PREDICTIONS = {
    "L04-1": Prediction(
        right="B",
        because="Both are linear in the gradient: the mean of the steps is the step of the mean, "
        "and the mean of the momentum buffers is the buffer of the mean. Adam divides by the size "
        "of the gradient, and that isn't linear.",
        wrong={
            "A": "The buffers of the ranks do differ, and they aren't averaged. But only their "
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
        "Averaging after 64 steps instead of 4 costs {cost:.3f} nats here.",
        wrong={
            "A": "They read the same sequences, but a rank's step no longer knows what the others "
            "have read since the last average.",
            "C": "It saves bytes, not loss: a rank doesn't learn more by hearing less from the "
            "others.",
        },
    ),
    "L04-4": Prediction(
        right=outer_step,
        because="The mean loss fell by {gain:.3f} nats, and two seeds of one method differ by up "
        "to {distance:.2f}. A single run of each could have shown anything. But it fell with every "
        "seed, so it's no accident either.",
        wrong={
            "A": "It fell, but by less than that: with eight outer steps the velocity has hardly "
            "begun to build up.",
            "B": "Here the outer steps did matter: the next round doesn't start at the mean.",
            "C": "The outer step goes beyond the mean, but with these careful inner steps that is "
            "not too far.",
        },
    ),
    "L04-7": Prediction(
        right=drifted,
        because="What each model has learned from the accidents of its own text cancels in the "
        "mean. But once the models have drifted too far apart, the place halfway between them is "
        "no good model any more.",
        wrong={
            "A": "The loss isn't linear in the weights, so the loss of the mean is not the mean of "
            "the losses.",
            "B": "That would hold for a bowl-shaped loss. Models that have trained alone for long "
            "lie in different valleys, with a hill between them.",
            "C": "That comes, but these models haven't been alone for long enough.",
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
        tolerance=0.005,
        because="(100 · 1 + 100 · 2 + 200 · 4) / 400.",
        slips={
            7 / 3: "that's the plain mean; the third phone has as many stories as the other two "
            "together.",
        },
    ),
}
