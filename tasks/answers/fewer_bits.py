from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "fewer_bits-2": Prediction(
        """
        the mean over 131,072 tokens makes every gradient that much smaller, and {zeros:.0%} of
        them lie below half of 2^-24.
        A) That's what one might see with a small batch. The factor of one over all tokens moves
        the whole histogram to the left.
        B) The histogram is wide, but nearly all of it lies to the left of 2^-24.
        C) It was less here: look at how much of the histogram lies to the left of 2^-24.
        """,
        lambda zeros: "C" if zeros > 0.7 else "B" if zeros > 0.1 else "A",
    ),
    "fewer_bits-3": Prediction("""
        A) In float32 it is. In bf16, each sum is rounded before the next update comes.
        B) It doesn't get away from 1 at all: already the first step is less than half of the
        distance to the next number.
        C* the next number above 1 is 1 + 2^-7, and 1.002 is nearer to 1. So the first update rounds
        back to 1, and all others do the same.
    """),
    "fewer_bits-4": Prediction(
        """
        a number 1,000 times smaller than the largest is about 0.45 after scaling, still a
        normal number with three bits of mantissa: the others are {error:.1%} away, as before.
        A) Compare with the error that was measured here.
        B) A smaller exponent costs no precision as long as the number is normal: E4M3's normal
        numbers reach from 448 down to 1/64.
        C) That's what happens in eight-bit integers, whose steps are equally wide everywhere.
        Here it takes an outlier of some 300,000.
        """,
        lambda error: "A" if error < 0.03 else "B",
    ),
    "fewer_bits-7": Prediction("""
        A) That's one rounding. A ring of 1,024 ranks makes 1,023 more.
        B* every hop rounds a sum that keeps growing: c times the square root of 512, and here it
        was {error:.1%}.
        C) Each rounding is off by 0.17 % of the sum so far, up or down, and most of these errors
        cancel.
    """),
    "fewer_bits-8": Prediction("""
        A) There are fewer bits in the products, but none fewer on the wire.
        B) The messages are the same, but the computing that hides them is over in half of the time.
        C* the bound is (b/2) F/B, and F has doubled: there's half as much time to hide the same
        messages in.
    """),
}

NUMBERS = {
    "fewer_bits-9": Number(
        truth=1 / (0.30 + 0.70 / 2 + 0.05),
        unit="times as fast",
        tolerance=0.006,
        because="the new step takes 0.30 + 0.70/2 + 0.05 = 0.70 of the old one.",
        slips={
            1.54: "that leaves out the rounding and the scales, 5 % of the old step.",
            2.0: "that's true for the products alone; 30 % of the step is something else.",
            1.33: "did the rounding take 10 %? It takes 5 % of the old step.",
        },
    )
}
