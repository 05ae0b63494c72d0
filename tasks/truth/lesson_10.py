"""What lesson 10 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L10-1": Prediction(
        right=lambda honest, peeking: "C" if peeking > 1.1 * honest else "B",
        because="Its error is {peeking:.2f} when it has to predict, against {honest:.2f}. It has "
        "learned to copy, and now there is nothing to copy from.",
        wrong={
            "A": "Its low error came from reading the answer. That isn't possible anymore.",
            "B": "Both saw the same data, but they learned different things from it.",
            "C": "In so few steps neither has learned enough to tell them apart.",
        },
    ),
    "L10-2": Prediction(
        right=lambda second: second,
        because="These are the shares of this run. On two cores that compute, send and wait for "
        "each other, communication usually comes second, and most of it is waiting.",
        wrong={
            "A": "In this run the ranks reached their all-reduces at about the same time, and "
            "backward hid most of the communication.",
            "B": "The batches are in memory here, and cost next to nothing.",
            "C": "The Python between the operators takes little time compared with the rest.",
        },
    ),
    "L10-4": Prediction(
        right=lambda ratio: "A" if ratio < 1.75 else "B" if ratio < 4.5 else "C",
        because="It took {ratio:.1f} times as long. For every item HDF5 looks up the data set by "
        "its name, and copies the numbers through its own buffers.",
        wrong={
            "A": "The disk isn't involved, but the library's own work for each item is.",
            "B": "It depends on the size of an item: HDF5 costs about as much for each, however "
            "small it is.",
            "C": "With larger items most of the time goes into copying, and that's fast from a "
            "file too.",
        },
    ),
    "L10-6": Prediction(
        right=lambda calls: "A" if calls < 2 else "B" if calls < 1e7 else "C",
        because="About {calls:,.0f} calls: the first call, which compiles, costs seconds, and each "
        "later one saves milliseconds.",
        wrong={
            "A": "The first call compiles, and that takes far longer than the operators "
            "themselves.",
            "B": "There was no compiler, or nothing to gain, in this run.",
            "C": "Small operators are memory-bound: they move bytes, and fusing them moves fewer.",
        },
    ),
}
NUMBERS = {
    "L10-3": Number(
        4 * 44_140_544,
        unit="bytes",
        because="4 bytes for each of 44,140,544 parameters, about 177 MB.",
        slips={
            44_140_544: "That's the number of parameters. Each float32 has 4 bytes.",
            2 * 44_140_544: "Two bytes would be a half type; float32 has 4.",
            8 * 44_140_544: "8 bytes would be float64; float32 has 4.",
        },
    ),
    "L10-5": Number(
        3,
        unit="workers",
        because="Two workers finish a batch every 60 ms, which is too slow for steps of 50 ms; "
        "three finish one every 40 ms.",
        slips={
            2: "Two workers finish a batch every 60 ms, and the rank wants one every 50.",
            2.4: "That's 120 / 50, but there are only whole workers.",
        },
    ),
}
