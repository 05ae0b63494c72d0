"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "data_parallel_weights-1": Prediction(
        "B",
        A="The buffers of the ranks do differ, and they aren't averaged. But only their mean "
        "reaches the averaged weights, and it's the buffer that one device would have.",
        B="Both are linear in the gradient: the mean of the steps is the step of the mean, and the "
        "mean of the momentum buffers is the buffer of the mean. Adam divides by the size of the "
        "gradient, and that isn't linear.",
        C="Adam's first step depends on the sign of the gradient alone. The mean of three signs "
        "isn't the sign of the mean.",
    ),
    "data_parallel_weights-2": Prediction(
        "B",
        A="That's what becomes of a step that two of three ranks don't take at all, as for a token "
        "that only one of them has read. Most entries get a gradient on all ranks.",
        B="Each rank divides by its own noise, which is the square root of three times the noise "
        "of the mean: 1 / 1.73 = 0.58. Measured: {ratio:.2f}.",
        C="The numerators are equal. But one way divides by the size of the mean gradient, the "
        "other by the size of a single rank's, and that is larger.",
        D="It's the other way round: a single rank's gradient is noisier than the mean, and Adam "
        "divides by the noise.",
    ),
    "data_parallel_weights-4": Prediction(
        "C",
        A="It does have more to tune. But the outer momentum mostly makes steps longer, and a "
        "larger learning rate does that too.",
        B="That would hold if 0.002 were about as good a rate for both. Averaged steps are short, "
        "so the others gain far more from a larger one.",
        C="DiLoCo ends {fair:.2f} nats above averaging the weights after every step. At 0.002 "
        "averaged steps were too short, and the outer momentum made up for that.",
    ),
    "data_parallel_weights-5": Prediction(
        "A",
        A="By {gain:.2f} nats on average. Two seeds of one method differ by {spread:.2f}, but each "
        "seed was its own control: same start, same stories.",
        B="Two seeds differ by {spread:.2f}, true. But both methods ran with the same seeds, so "
        "compare them seed by seed, where the differences agree.",
        C="The next round starts beyond the mean. With a rate that suits it, that's not too far.",
    ),
}

NUMBERS = {
    "data_parallel_weights-3": Number(
        1000 / 20 * 547_648 * 4 * 2 * 3 / 4 / 1e6,
        unit="MB",
        tolerance=0.5,
        because="50 all-reduces of 2.19 MB, and a rank sends 2 · 3/4 times as much around the "
        "ring.",
        slips={
            1000 / 20 * 547_648 * 4 / 1e6: "that's what a rank puts into the all-reduces; around "
            "a ring of n ranks it sends 2 (n - 1) / n times as much.",
            1000 / 20 * 547_648 * 4 * 2 / 1e6: "the factor is 2 (n - 1) / n, not 2.",
            1000 / 20 * 547_648 * 4 * 3 / 4 / 1e6: "you counted one of the two times around: "
            "first the sums are made, then they are handed on.",
            1000 * 547_648 * 4 * 2 * 3 / 4 / 1e6: "they don't average after every step, but after "
            "every 20.",
            1000 / 20 * 547_648 * 2 * 3 / 4 / 1e6: "each number has 4 bytes.",
        },
    )
}
