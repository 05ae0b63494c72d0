import math

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "one_device-2": Prediction("""
        A) Lily is left, and in these stories Lily is always a girl.
        B* the name tells it too, and other heads look there. Only with both hidden does the model
        go wrong.
        C) That's what it says with girl and Lily hidden. With one of them it still knows.
    """),
    "one_device-4": Prediction("""
        A) That holds while the rate is too small, from 0.001 to 0.01 for example. Beyond the best
        rate, more is worse.
        B) Adam makes the steps of all weights alike in size, and the learning rate is that size:
        ten times the rate is ten times the step.
        C* Adam divides by the size of the gradient, so the rate itself says how far each weight
        moves: 0.1 in the first step, five times the typical size of a fresh weight. The loss jumps
        up, and after 40 steps it hasn't made up for that.
    """),
    "one_device-6": Prediction("""
        A* Most tokens follow from those before, and only now and then does the grammar make a
        choice. Perplexity 1.3 is a mean over many that are certain and a few that are not.
        B) Even where the grammar chooses a name or a color, it has six to choose from at most, and
        such places are rare.
        C) With 130 it would hardly know more than which pieces are frequent.
    """),
}


NUMBERS = {
    "one_device-3": Number(
        math.log(128256),
        unit="nats per token",
        tolerance=0.06,
        because="ln 128,256: more pieces, more surprise.",
        slips={
            math.log2(128256): "That's in bits: take the natural logarithm.",
            math.log10(128256): "That's the logarithm to base 10: take the natural one.",
        },
    )
}
