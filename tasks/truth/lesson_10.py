"""What lesson 10 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L10-1": Prediction(
        right=lambda honest, peeking: "C" if peeking > 1.1 * honest else "B",
        because="Its error is {peeking:.2f} when it has to predict, against {honest:.2f}. It has "
        "learned to copy, and now there is nothing to copy from.",
        wrong={
            "A": "Its low error came from reading the answer. That isn't possible any more.",
            "B": "Both saw the same data, but they learned different things from it.",
            "C": "In so few steps neither has learned enough to tell them apart.",
        },
    ),
    "L10-2": Prediction(
        right=lambda second: second,
        because="These are the shares of this run. On two cores that compute, send and wait for "
        "each other, communication usually comes second, and most of it is waiting.",
        wrong={
            "A": "In this run the ranks met in time, so little of the communication was exposed.",
            "B": "The batches lie in memory and cost next to nothing here.",
            "C": "Python between the operators is short beside the rest.",
        },
    ),
    "L10-4": Prediction(
        right=lambda ratio: "A" if ratio < 1.75 else "B" if ratio < 4.5 else "C",
        because="It took {ratio:.1f} times as long. HDF5 looks up every item in its tree and "
        "copies it through its own buffers.",
        wrong={
            "A": "The disk isn't involved, but the library's own work for each item is.",
            "B": "It depends on the size of an item: what HDF5 costs, it costs for each of them.",
            "C": "With large items the copying would count, and that is fast.",
        },
    ),
    "L10-6": Prediction(
        right=lambda calls: "A" if calls < 2 else "B" if calls < 1e7 else "C",
        because="About {calls:,.0f} calls: the first call, which compiles, costs seconds, and each "
        "later one saves milliseconds.",
        wrong={
            "A": "The first call compiles, and that takes longer than thousands of operators.",
            "B": "There was no compiler, or nothing to gain, in this run.",
            "C": "Small operators are memory-bound: they move bytes, and joining them moves fewer.",
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
        because="Two workers make a batch every 60 ms, which is too slow; three make one every "
        "40 ms.",
        slips={
            2: "Two workers finish a batch every 60 ms, and the rank wants one every 50.",
            2.4: "120 / 50, but workers are whole.",
        },
    ),
}
