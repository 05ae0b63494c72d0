"""What lesson 09 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L09-1": Prediction(
        right="B",
        because="Backward applies the chain rule from the loss to the input, so it passes the last "
        "layer first.",
        wrong={
            "A": "That's the order of the forward. Backward needs the gradient at a layer's output "
            "before it can compute anything there, and that comes from the layer behind it.",
            "C": "backward() returns once, but it works layer by layer, and a gradient that has "
            "been passed doesn't change any more.",
        },
    ),
    "L09-2": Prediction(
        right="C",
        because="57 messages of two ring steps each pay 57 ms of latency, on top of 44 ms for the "
        "bytes.",
        wrong={
            "A": "Bandwidth isn't the only price: every message waits for its latency, however "
            "small it is.",
            "B": "One latency would be right for one message. Each of the 57 has its own.",
            "D": "Each message is only a 57th of the bytes, so the bytes don't count 57 times.",
        },
    ),
    "L09-3": Prediction(
        right=lambda ratio: "A" if ratio < 1.15 else "B" if ratio < 1.8 else "C",
        because="The best step takes {ratio:.2f} T here. Sending can begin only when backward has "
        "completed its first bucket, so the forward, about a third of T, hides nothing; and the "
        "last bucket leaves when backward is over.",
        wrong={
            "A": "During the forward there's no gradient to send yet.",
            "B": "On this machine the ranks have too few cores of their own: who sends takes time "
            "from who computes.",
            "C": "That's the flat average: only there does sending begin after backward.",
        },
    ),
    "L09-4": Prediction(
        right="B",
        because="The embedding's part of the gradient comes last of all, so the tied weight is "
        "complete last, and the buckets behind it have to keep the order.",
        wrong={
            "A": "The hook of a parameter fires once, when all parts of its gradient have been "
            "added.",
            "C": "Then the ranks would have to agree on who skips what. They avoid that by keeping "
            "one order on all ranks.",
        },
    ),
    "L09-5": Prediction(
        right=lambda kept, dropped, full: "B" if dropped > kept else "A",
        because="After the same steps the loss is {full:.2f} with everything, {dropped:.2f} with "
        "the largest 1 % alone, and {kept:.2f} with error feedback: what wasn't sent adds up "
        "until it's large enough to be sent.",
        wrong={
            "A": "The small gradients are 99 % of the directions, and dropping them for ever means "
            "that most weights never learn.",
            "B": "In this run error feedback did not pay.",
            "C": "The largest entries still point downhill: progress is slower, not reversed.",
        },
    ),
}
NUMBERS = {
    "L09-6": Number(
        3,
        unit="buckets",
        because="The last layer has a bucket of its own, although it's larger than 25 MB, and the "
        "other 40 MB fill two.",
        slips={
            4: "100 / 25, but a parameter isn't cut: the 60 MB layer is one bucket.",
            5: "The layer of 60 MB isn't cut into three: a larger parameter gets one bucket of its "
            "own.",
            2: "40 MB don't fit into one bucket of 25 MB.",
        },
    ),
    "L09-7": Number(
        32,
        unit="all-reduces",
        because="Each of the 8 backwards sends all 4 buckets; with no_sync only the last one does.",
        slips={
            4: "That's with no_sync. Without it every backward averages.",
            8: "Each backward sends 4 buckets, not one.",
        },
    ),
}
