from helpers.lesson.asked import Prediction

PREDICTIONS = {
    "sharding-3": Prediction(
        """
        the weights are gathered twice, for forward and for backward, and the gradients are
        reduce-scattered once: {ratio:.2f} times as much.
        A) That holds for stages 1 and 2, which gather the weights once. Stage 3 has freed them
        by the time backward needs them.
        B) Count the calls of your run: two gathers and a reduce-scatter are expected.
        C) Two gathers and an all-reduce would be four against two. But each rank needs only its
        part of the gradient, so the second half of the all-reduce isn't needed.
        """,
        lambda ratio: "B" if 1.3 < ratio < 1.7 else "A",
    ),
    "sharding-4": Prediction("""
        A) That's what is kept between two steps. But a unit can't compute with an eighth of its
        weights.
        B* each rank keeps an eighth of 16 bytes, which is 2. While the largest unit goes backward,
        its whole weights are there, its gradients, and their flat copy: 3 x 4 bytes for a sixth of
        the parameters, which is 2 more ({found:.1f} in all).
        C) Only one unit is whole at a time.
    """),
    "sharding-6": Prediction("""
        A) The 1.5 compares 3 with 2 for one micro-batch. ZeRO-1's 2 is for a whole step, and
        ZeRO-3's 3 comes again with every micro-batch.
        B) Close to what remains if whole gradients are kept until the end: 2 x 8 + 1 = 17 against
        2, which is 8.5. With gradients freed too it's 24 against 2, which is 12.
        C* each micro-batch needs two gathers and a reduce-scatter, 3 x 8 = 24 times the model,
        where ZeRO-1 sends 2 for the whole step.
    """),
}
