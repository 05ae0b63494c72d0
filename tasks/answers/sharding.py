"""The right choices and numbers for what the lesson asks."""

from helpers.cost import states
from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "sharding-1": Prediction(
        "B",
        A="16 / 4 is what you get if everything is cut; that is stage 3.",
        B="weights and gradients stay whole, 2 + 2 bytes, and of the optimizer's 12 bytes a rank "
        "keeps a quarter, 3.",
        C="13 is what you get if only the weights and gradients are cut, and they are the small "
        "part.",
    ),
    "sharding-3": Prediction(
        lambda ratio: "B" if 1.3 < ratio < 1.7 else "A",
        because="the weights are gathered twice, for forward and for backward, and the gradients "
        "are reduce-scattered once: {ratio:.2f} times as much.",
        A="That holds for stages 1 and 2, which gather the weights once. Stage 3 has freed them by "
        "the time backward needs them.",
        B="Count the calls of your run: two gathers and a reduce-scatter are expected.",
        C="Two gathers and an all-reduce would be four against two. But each rank needs only its "
        "part of the gradient, so the second half of the all-reduce isn't needed.",
    ),
    "sharding-4": Prediction(
        "B",
        A="That's what is kept between two steps. But a unit can't compute with an eighth of its "
        "weights.",
        B="each rank keeps an eighth of 16 bytes, which is 2. While the largest unit goes "
        "backward, its whole weights are there, its gradients, and their flat copy: 3 x 4 bytes "
        "for a sixth of the parameters, which is 2 more ({found:.1f} in all).",
        C="Only one unit is whole at a time.",
    ),
    "sharding-6": Prediction(
        "C",
        A="The 1.5 compares 3 with 2 for one micro-batch. ZeRO-1's 2 is for a whole step, and "
        "ZeRO-3's 3 comes again with every micro-batch.",
        B="Close to what remains if whole gradients are kept until the end: 2 x 8 + 1 = 17 against "
        "2, which is 8.5. With gradients freed too it's 24 against 2, which is 12.",
        C="each micro-batch needs two gathers and a reduce-scatter, 3 x 8 = 24 times the model, "
        "where ZeRO-1 sends 2 for the whole step.",
    ),
    "sharding-7": Prediction(
        "B",
        A="With 1/3 the parts would still be scaled by different factors.",
        B="the norm that counts is that of the whole gradient, 5. The parts have the norms 3, 4 "
        "and 0.1, so each is scaled by a different factor.",
        C="It may be clipped in shards, as long as all of them use the same factor.",
    ),
    "sharding-8": Prediction(
        "A",
        A="each micro-batch gathers once and reduce-scatters once: {kept:.1f} times the model. "
        "After its backward the weights are freed, and the next micro-batch gathers them again.",
        B="That takes one more call, set_reshard_after_backward(False), which keeps them until the "
        "last micro-batch: {two:.1f} times.",
        C="Gradients are reduce-scattered after each micro-batch, and weights are freed after each "
        "backward.",
    ),
}
NUMBERS = {
    "sharding-2": Number(
        lambda: states(1e9, "mixed", 2, 16).total / 1e9,
        unit="GB",
        tolerance=0.01,
        because="2 bytes for the weights, which stay whole, and 14 / 16 for what is cut.",
        slips={
            4.75: "that is ZeRO-1: stage 2 cuts the gradients too.",
            1.0: "that is ZeRO-3: stage 2 keeps the weights whole.",
            0.875: "you have counted only what is cut; the weights are whole.",
        },
    )
}
