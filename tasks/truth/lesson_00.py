"""What lesson 00 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L00-1": Prediction(
        right=lambda years: "C" if years > 3e5 else "B" if years > 1000 else "A",
        because="3.8e25 FLOPs take {years:,.0f} years at the rate measured here, and that is "
        "before asking where 405 billion parameters would fit.",
        wrong={
            "A": "A hundred years would need 12 PFLOP/s: about thirty H100s at the 400 TFLOP/s "
            "that each of them reached in this run.",
            "B": "5,000 years would need 240 TFLOP/s: the speed of a data-center GPU, and no "
            "processor comes near it.",
            "C": "This machine is one of the fastest that ever ran this lesson.",
        },
    ),
    "L00-3": Prediction(
        right="B",
        because="All-reduce adds up what all ranks hold, 0 + 1 + 2, and every rank gets the sum.",
        wrong={
            "A": "There is a collective that does this: it's called reduce, and only one rank gets "
            "its result.",
            "C": "All-reduce knows no neighbors: every rank's number counts, and by default it's "
            "added, not averaged.",
        },
    ),
}
HOURS = 30.84e6

NUMBERS = {
    "L00-2": Number(
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
}
