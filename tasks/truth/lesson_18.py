"""What lesson 18 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L18-1": Prediction(
        right="B",
        because="Each process thinks that it's rank 0 of 1 and trains alone. Nothing fails, since "
        "no other rank is there to disagree. You get four models that overwrite each other's file, "
        "and none of the speed.",
        wrong={
            "A": "No process notices that there are four ranks 0, because they never talk to each "
            "other.",
            "C": "They would wait if one of them knew of the others. But each has a world of one.",
        },
    ),
    "L18-2": Prediction(
        right=lambda megabits: "A" if megabits < 20 else "B" if megabits < 2000 else "C",
        because="The gradients are 17.5 megabits, and each of two ranks sends them once. Divided "
        "by the time of a backward, that is about {megabits:.0f} megabits a second.",
        wrong={
            "A": "At that rate the 17.5 megabits of gradients need nearly nine seconds.",
            "B": "This time the measurement says something else.",
            "C": "At that rate the 17.5 megabits of gradients need a millisecond. This model is "
            "small: for a large one on GPUs you would be right.",
        },
    ),
    "L18-3": Prediction(
        right="B",
        because="With forward 1, backward 2 and sending 2, flat takes 5. Overlap hides sending "
        "behind backward, which leaves 1 + 2 = 3: 40 % less.",
        wrong={
            "A": "That would hide half of the sending. Perfect overlap hides all of it.",
            "C": "Only backward can hide it. During forward there are no gradients to send.",
        },
    ),
    "L18-4": Prediction(
        right="A",
        because="The failure rates of independent machines add up, so the time until one of them "
        "fails is 51,000 hours divided by 16,384.",
        wrong={
            "B": "Divide by all 16,384: any one of them stops the job.",
            "C": "With two dozen GPUs it would. But any one of the 16,384 stops the job.",
        },
    ),
}
NUMBERS = {
    "L18-5": Number(
        13.64,
        unit="minutes",
        tolerance=0.1,
        because="sqrt(2 x 30 s x 11,160 s) = 818 s.",
        slips={
            9.64: "You left out the 2: a failure costs half an interval on average.",
            818: "That is in seconds.",
            1.76: "Put both times into the same unit: 3.1 hours are 11,160 seconds.",
        },
    ),
}
