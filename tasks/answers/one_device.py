import math

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "one_device-2": Prediction("""
        A) Lily is left, and in these stories Lily is always a girl.
        B* the name tells it too. Only with both hidden does the model go wrong.
        C) That's what it says with girl and Lily hidden. With one of them it still knows.
    """),
    "one_device-4": Prediction("""
        A) That holds while the rate is too small. Beyond the best one, more is worse.
        B) Adam makes all steps alike in size, and the rate is that size: ten times as large here.
        C* Adam divides by the size of the gradient, so the rate itself says how far each weight
        moves: 0.1 in the first step, five times the typical size of a fresh weight.
    """),
    "one_device-6": Prediction("""
        A* It's a mean over many tokens that are certain and a few where the grammar chooses.
        B) Where the grammar chooses a name or a color, it has six to choose from at most.
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
