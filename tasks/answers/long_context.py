from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "long_context-2": Prediction("""
        A) That would be right if both halves had the same sum of exponentials.
        B) The weights of each half add up to 1 already, so together they'd add up to 2.
        C* each was divided by its own sum. Which share of the whole sum a half holds is in its l
        and m, and the division has lost that.
    """),
    "long_context-5": Prediction("""
        A) That would be true without a mask, but its queries may not see what comes later.
        B) About a half is the mean over all ranks: 8 of 14 blocks, to be exact.
        C* it computes half a block, the triangle of its own keys, while the last rank needs three
        blocks and a half.
    """),
    "long_context-9": Prediction(
        """
        in two steps of the ring only two ranks have something to compute, and the others wait:
        it takes {ratio:.2f} times as long. A gather waits once.
        A) It hides all but one of them. But its ranks move in step, and in two steps only two
        of them have anything to compute.
        B) Compare the two durations.
        C) In sum they do. When a rank has to compute, and for whom it waits, is different.
        """,
        lambda ratio: "B" if ratio > 1.05 else "A" if ratio < 0.95 else "C",
    ),
    "long_context-10": Prediction(
        """
        distances within a rank are right, but between ranks they're off by multiples of its
        length: {wrong:.2f} nats per token instead of {right:.2f}.
        A) True, but the distance between tokens on two ranks is exactly what went wrong.
        B) The tables are as long as what the rank sees, so all shapes fit.
        C) Compare the two numbers again.
        """,
        lambda wrong, right: "C" if wrong > right else "A",
    ),
    "long_context-11": Prediction("""
        A) That's SGD, where half the gradient is half the step.
        B* Adam divides each gradient by its own size, so a factor on all of them cancels.
        C) Smaller gradients don't make training diverge.
    """),
}
NUMBERS = {
    "long_context-1": Number(
        131072**2 * 2 / 1e9,
        unit="GB",
        tolerance=0.5,
        because="There are 131,072 x 131,072 scores of 2 bytes.",
        slips={
            17.18: "that's one byte a score, or half of the matrix, but the masked half is stored "
            "too.",
            68.72: "that's 4 bytes a score: 16 bits are 2 bytes.",
            32.0: "those are GiB, of 2 to the power of 30 bytes: in GB it's a little more.",
            0.0336: "that's Q of one head: s x e numbers. Scores are s x s.",
        },
    ),
    "long_context-4": Number(
        8000,
        unit="tokens",
        tolerance=1,
        because="F / B = 400e12 / 50e9, and g / h is 1.",
        slips={
            4000: "did you count K alone? Both tensors travel, and both products are computed.",
            16000: "did you count one of the two products only?",
            8: "mind the units: TFLOP/s are 10 to the power of 12, GB/s 10 to the power of 9.",
        },
    ),
}
