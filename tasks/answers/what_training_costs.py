"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "what_training_costs-6": Prediction(
        "B",
        A="The tokens are the same, but the weights aren't gathered once for all of them: each "
        "micro-batch gathers them again.",
        B="each micro-batch gathers every layer anew, with a quarter of the computing to hide it "
        "behind. A micro-batch of 7,417 tokens is below the bound.",
        C="Memory has room, but the link has not: four micro-batches gather four times as many "
        "bytes for the same computing.",
    ),
}
NUMBERS = {
    "what_training_costs-8": Number(
        1.5 * 400e12 / 50e9,
        unit="tokens",
        tolerance=50,
        because="it gathers 2P bytes and scatters 4P, against 4Pt FLOPs: t = 1.5 F/B.",
        slips={
            400e12 / 50e9: "That's F/B, for gradients of 2 bytes; here they have 4.",
            2 * 400e12 / 50e9: "Only the gradients have 4 bytes. The gathered weights have 2.",
            1.5 * 989e12 / 50e9: "That's at the peak. These reach 400 TFLOP/s.",
        },
    ),
}
