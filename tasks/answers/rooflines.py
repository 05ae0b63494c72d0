from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "rooflines-1": Prediction("""
        A) Backward takes long because there are many parameters, but each of them also has a
        gradient to send. The two grow together, and only the tokens decide.
        B) That takes F/B tokens for each replica, 19,780 over a network card. How many does each of
        16,384 replicas read?
        C* 16.8 million tokens on 16,384 GPUs are 1,024 for each, and averaging needs 19,780 to
        hide. The number of parameters cancels.
    """),
    "rooflines-2": Prediction("""
        A) The tokens are the same, but the weights aren't gathered once for all of them: each
        micro-batch gathers them again.
        B* each micro-batch gathers every layer anew, with a quarter of the computing to hide it
        behind. A micro-batch of 7,417 tokens is below the bound.
        C) Memory has room, but the link has not: four micro-batches gather four times as many bytes
        for the same computing.
    """),
}
NUMBERS = {
    "rooflines-3": Number(
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
    "rooflines-4": Number(
        2 * 2250e12 / 50e9,
        unit="tokens",
        tolerance=100,
        because="F/B is 45,000, and gradients of 4 bytes double the bytes to send.",
        slips={
            2250e12 / 50e9: "That's F/B, for gradients of 2 bytes; here they have 4.",
            4 * 2250e12 / 50e9: "An all-reduce sends 2 x 4P bytes against 4Pt FLOPs: divide again.",
        },
    ),
}
