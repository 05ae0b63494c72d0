"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "welcome-1": Prediction(
        lambda years: "C" if years > 1e5 else "B" if years > 700 else "A",
        because="3.8e25 FLOPs take {years:,.0f} years at the rate measured here, and that is "
        "before asking where 405 billion parameters would fit.",
        A="A hundred years would need 12 PFLOP/s: about 35 H100s at the 340 TFLOP/s that each of "
        "them averaged over the 30.84 million hours.",
        B="5,000 years would need 240 TFLOP/s: the speed of a data-center GPU, and no laptop's "
        "processor comes near it.",
        C="This machine is one of the fastest that ever ran this lesson.",
    ),
    "welcome-3": Prediction(
        "C",
        A="The three gradients are averaged, not added: the step is as long as before.",
        B="Each rank sees a third of the text, but through the averaged gradients it learns from "
        "all of it.",
        C="Both take the mean over the same six sequences, and the gradient of a mean is the mean "
        "of the gradients. Only the order of the additions differs.",
    ),
}
HOURS = 30.84e6
RATIO = 3.8e25 / (6 * 37e9 * 14.8e12)

NUMBERS = {
    "welcome-2": Number(
        HOURS / 16384 / 24,
        unit="days",
        tolerance=1.0,
        because="30.84 million hours shared by 16,384 GPUs are 1,882 hours. In fact it took "
        "longer, because 16,384 is the most that worked at one time.",
        slips={
            HOURS / 16384: "That's how many hours it is: a day has 24.",
            HOURS / 24 / 365.25: "These are the years that one GPU would need: divide the hours "
            "by the number of GPUs.",
            HOURS / 24: "These are the days that one GPU would need: divide by the number of GPUs.",
        },
    ),
    "welcome-4": Number(
        RATIO,
        unit="times",
        tolerance=0.3,
        because="6 x 37e9 x 14.8e12 = 3.3e24. So 11.6 times fewer FLOPs took 11.6 times fewer GPU "
        "hours, and a GPU hour bought the same FLOPs in both runs, though one multiplied in FP8.",
        slips={
            RATIO * 37 / 671: "You counted all 671 billion parameters: a token uses 37 billion.",
            RATIO * 6: "You forgot the 6.",
            1 / RATIO: "That's DeepSeek-V3's share: we asked for the inverse.",
            405 / 37: "That's the ratio of parameters, but the two read different amounts of text.",
        },
    ),
}
