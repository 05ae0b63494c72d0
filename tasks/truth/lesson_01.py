"""What lesson 01 asks: the right choices and the numbers."""

import math

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L01-2": Prediction(
        right="B",
        because="With random weights all 1,200 pieces are about equally likely. Each has the "
        "probability 1/1,200, and minus the logarithm of that is ln 1,200 = 7.09.",
        wrong={
            "A": "A loss of 0.3 is a probability of e^-0.3 = 74 % for the token that comes: the "
            "model would know nearly every word in advance.",
            "C": "1,200 is the perplexity, the number of tokens it wavers between. The loss is the "
            "logarithm of it.",
        },
    ),
    "L01-4": Prediction(
        right="C",
        because="The gradient describes the loss close to where the weights are now. A step "
        "that is ten times as long leaves that neighborhood, and lands where the loss is higher.",
        wrong={
            "A": "That holds while the rate is too small, from 0.001 to 0.01 for example. Beyond "
            "the best rate, more is worse.",
            "B": "Adam makes the steps of all weights alike in size, and the learning rate is that "
            "size: ten times the rate is ten times the step.",
        },
    ),
    "L01-5": Prediction(
        right="B",
        because="The loss of the batch is the mean of three losses, and the gradient of a mean is "
        "the mean of the gradients. What differs is the order in which floats are added.",
        wrong={
            "A": "Attention looks back within its own sequence. No number of one sequence reaches "
            "another before the losses are averaged.",
            "C": "It would be three times too large if we had added them up without dividing: the "
            "loss of the batch is a mean already.",
        },
    ),
    "L01-6": Prediction(
        right="A",
        because="Most tokens follow from those before, and only now and then the grammar makes a "
        "choice. Perplexity 1.3 is a mean over many that are certain and a few that are not.",
        wrong={
            "B": "At a single place where the grammar chooses a name or a color, 13 may be about "
            "right, but such places are rare.",
            "C": "With 130 it would hardly know more than which pieces are frequent.",
        },
    ),
    "L01-7": Prediction(
        right="A",
        because="At temperature 0 nothing is drawn: the likeliest token is taken each time, so the "
        "seed has nothing to decide.",
        wrong={
            "B": "That can happen at a low temperature such as 0.1, where some chance is left.",
            "C": "A seed only matters where something is drawn at random, and near 0 the "
            "probability of the likeliest token goes to 1.",
        },
    ),
    "L01-8": Prediction(
        right=lambda ratio: (
            "A" if ratio < 1.2 else "B" if ratio < 1.8 else "C" if ratio <= 2.2 else "D"
        ),
        because="Here backward took {ratio:.2f} times as long as forward. Twice the FLOPs are "
        "twice the time only where large matrix products take nearly all of it.",
        wrong={
            "A": "Backward computes two products for each one of forward, so it does take longer.",
            "B": "That is what we usually see for this model; here it came out differently.",
            "C": "The FLOPs say 2, and they would be right if large matrix products took nearly "
            "all of the time.",
            "D": "Nothing in backward has more than twice the FLOPs of forward.",
        },
    ),
}

BLOCK = 4 * 64 * 64 + 3 * 64 * 256 + 2 * 64
REST = 2 * 1200 * 64 + 64

NUMBERS = {
    "L01-1": Number(
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
    "L01-3": Number(
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
