"""What lesson 11 asks: the right choices and the numbers."""

from helpers.cost import states
from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L11-1": Prediction(
        right="B",
        because="weights and gradients stay whole, 2 + 2 bytes, and of the optimizer's 12 bytes a "
        "rank keeps a quarter, 3.",
        wrong={
            "A": "16 / 4 is what you get if everything is cut; that is stage 3.",
            "C": "13 is what you get if only the weights and gradients are cut, and they are the "
            "small part.",
        },
    ),
    "L11-3": Prediction(
        right=lambda ratio: "B" if 1.3 < ratio < 1.7 else "A",
        because="the weights are gathered twice, for forward and for backward, and the gradients "
        "are reduce-scattered once: {ratio:.2f} times as much.",
        wrong={
            "A": "That holds for stages 1 and 2, which gather the weights once. Stage 3 has freed "
            "them by the time backward needs them.",
            "B": "Count the calls of your run: two gathers and a reduce-scatter are expected.",
            "C": "Two gathers and an all-reduce would be four against two. But each rank needs "
            "only its part of the gradient, so the second half of the all-reduce isn't needed.",
        },
    ),
    "L11-4": Prediction(
        right="C",
        because="each micro-batch needs two gathers and a reduce-scatter, 3 x 8 = 24 times the "
        "model, where ZeRO-1 sends 2 for the whole step.",
        wrong={
            "A": "The 1.5 compares 3 with 2 for one micro-batch. ZeRO-1's 2 is for a whole step, "
            "and ZeRO-3's 3 comes again with every micro-batch.",
            "B": "Close to what remains if whole gradients are kept until the end: 2 x 8 + 1 = 17 "
            "against 2, which is 8.5. With gradients freed too it's 24 against 2, which is 12.",
        },
    ),
    "L11-5": Prediction(
        right="B",
        because="the norm that counts is that of the whole gradient, 5. The parts have the norms "
        "3, 4 and 0.1, so each is scaled by a different factor.",
        wrong={
            "A": "With 1/3 the parts would still be scaled by different factors.",
            "C": "It may be clipped in shards, as long as all of them use the same factor.",
        },
    ),
    "L11-6": Prediction(
        right=lambda kept, freed: "B" if kept < freed else "A",
        because="there is no second gather, so {kept:.1f} instead of {freed:.1f} times the model "
        "is sent, and in exchange all weights are in memory at the end of forward.",
        wrong={
            "B": "Compare the first two lines.",
            "A": "It is the other way round: what isn't freed needn't be gathered again.",
            "C": "They are freed after backward in either case. But the peak of memory comes "
            "earlier, at the end of forward, and there it matters whether they are kept.",
        },
    ),
}
NUMBERS = {
    "L11-2": Number(
        lambda: states(1e9, "mixed", 2, 16).total / 1e9,
        unit="GB",
        tolerance=0.01,
        because="2 bytes for the weights, which stay whole, and 14 / 16 for what is cut.",
        slips={
            4.75: "that is ZeRO-1: stage 2 cuts the gradients too.",
            1.0: "that is ZeRO-3: stage 2 keeps the weights whole.",
            0.875: "you have counted only what is cut; the weights are whole.",
        },
    ),
}
