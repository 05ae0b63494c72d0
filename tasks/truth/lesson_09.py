"""What lesson 09 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L09-1": Prediction(
        right="B",
        because="Backward applies the chain rule from the loss to the input, so it reaches the "
        "last layer first.",
        wrong={
            "A": "That's the order of the forward. Backward needs the gradient at a layer's output "
            "before it can compute anything there, and that comes from the layer after it.",
            "C": "backward() returns once, but it works layer by layer, and once it's past a "
            "layer, that layer's gradients don't change anymore.",
        },
    ),
    "L09-2": Prediction(
        right="C",
        because="57 messages of two ring steps each pay 57 ms of latency, on top of 44 ms for the "
        "bytes.",
        wrong={
            "A": "Bandwidth isn't the only price: every message waits for its latency, however "
            "small it is.",
            "B": "That's what a single message takes. Each of the 57 pays a latency of its own.",
            "D": "Each message carries only a 57th of the bytes, so the bytes don't count 57 "
            "times.",
        },
    ),
    "L09-3": Prediction(
        right=lambda ratio: "A" if ratio < 1.15 else "B" if ratio < 1.8 else "C",
        because="The best step takes {ratio:.2f} T here. Sending can't begin before backward has "
        "completed its first bucket, so nothing is hidden behind the forward, and the last bucket "
        "leaves only when backward is over. Where cores are scarce, sending also slows computing.",
        wrong={
            "A": "During the forward there's no gradient to send yet.",
            "B": "With a core to spare for sending, that's about what you'd see. On this machine "
            "the sending takes time from the computing.",
            "C": "That's the flat average, where sending begins after backward. Buckets leave "
            "earlier.",
        },
    ),
    "L09-4": Prediction(
        right="B",
        because="The embedding's part of the gradient comes last of all, so the tied weight is "
        "complete last, and the buckets behind it have to keep the order.",
        wrong={
            "A": "The hook of a parameter fires once, when all parts of its gradient have been "
            "added.",
            "C": "Then the ranks would have to agree on what to skip. They avoid that by keeping "
            "one order on all ranks.",
        },
    ),
    "L09-5": Prediction(
        right=lambda kept, dropped, full: (
            "A" if dropped - full < 0.1 else "B" if dropped - kept > (dropped - full) / 2 else "C"
        ),
        because="After the same number of steps the loss is {full:.2f} with everything, "
        "{dropped:.2f} with the largest 1 % alone, and {kept:.2f} with error feedback.",
        wrong={
            "A": "The small ones are 99 % of the numbers, and without them most weights learn late "
            "or never.",
            "B": "What wasn't sent does add up until it's large enough to be sent, but that takes "
            "a hundred steps on average, and Adam expects gradients of a steady size.",
            "C": "In this run it made a difference: what wasn't sent adds up until it's large "
            "enough to be sent.",
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
            4: "That's 100 / 25, but a parameter isn't cut: the 60 MB layer is one bucket.",
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
