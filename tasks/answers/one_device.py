"""The right choices and numbers for what the lesson asks."""

import math

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "one_device-2": Prediction(
        "B",
        A="Lily is left, and in these stories Lily is always a girl.",
        B="the name tells it too, and other heads look there. Only with both hidden does the model "
        "go wrong.",
        C="That's what it says with girl and Lily hidden. With one of them it still knows.",
    ),
    "one_device-4": Prediction(
        "C",
        A="That holds while the rate is too small, from 0.001 to 0.01 for example. Beyond the best "
        "rate, more is worse.",
        B="Adam makes the steps of all weights alike in size, and the learning rate is that size: "
        "ten times the rate is ten times the step.",
        C="Adam divides by the size of the gradient, so the rate itself says how far each weight "
        "moves: 0.1 in the first step, five times the typical size of a fresh weight. The loss "
        "jumps up, and after 40 steps it hasn't made up for that.",
    ),
    "one_device-6": Prediction(
        "A",
        A="Most tokens follow from those before, and only now and then does the grammar make a "
        "choice. Perplexity 1.3 is a mean over many that are certain and a few that are not.",
        B="Even where the grammar chooses a name or a color, it has six to choose from at most, "
        "and such places are rare.",
        C="With 130 it would hardly know more than which pieces are frequent.",
    ),
}

BLOCK = 4 * 64 * 64 + 3 * 64 * 256 + 2 * 64
REST = 2 * 1200 * 64 + 64

NUMBERS = {
    "one_device-1": Number(
        REST + 3 * BLOCK,
        unit="parameters",
        because="Three blocks of 65,664 have gone; embedding, head and last norm have stayed.",
        slips={
            (REST + 6 * BLOCK) // 2: "You halved the whole model; embedding, norm and head don't "
            "belong to any block.",
            3 * BLOCK: "These are the three blocks alone: embedding, norm and head are missing.",
            REST + 3 * BLOCK - 64: "The last norm, between the blocks and the head, is missing.",
            REST + 3 * BLOCK - 1200 * 64: "The vocabulary has two tables, the embedding and the "
            "head, and both count.",
        },
    ),
    "one_device-3": Number(
        math.log(128256),
        unit="nats per token",
        tolerance=0.06,
        because="ln 128,256: more pieces, more surprise.",
        slips={
            math.log2(128256): "That's in bits: take the natural logarithm.",
            math.log10(128256): "That's the logarithm to base 10: take the natural one.",
        },
    ),
}
