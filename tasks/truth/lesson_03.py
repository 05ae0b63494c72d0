"""What lesson 03 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction


def how_fast(speedup: float) -> str:
    return "A" if speedup >= 2.8 else "B" if speedup > 1 else "C"


PREDICTIONS = {
    "L03-1": Prediction(
        right="C",
        because="the loss of the batch is the mean of the three losses, and the gradient of a "
        "mean is the mean of the gradients. Only the order of the additions differs.",
        wrong={
            "A": "The sum would be three times as large. The ranks divided it by three.",
            "B": "They don't have to see each other's text: a token's contribution to the gradient "
            "depends on its own sequence and on the weights, which are the same everywhere.",
        },
    ),
    "L03-3": Prediction(
        right="B",
        because="Adam divides each gradient by a running average of its own size, so a constant "
        "factor cancels. SGD takes a step that is three times too long.",
        wrong={
            "A": "That would be true if both used the gradient as it is. Adam rescales it first.",
            "C": "It's the other way round: SGD uses the gradient as it is, Adam rescales it.",
        },
    ),
    "L03-4": Prediction(
        right="A",
        because="each rank adds up one quarter of the tensor for all. It sends the other three "
        "quarters on to be added up elsewhere, and then its finished quarter has "
        "to get to three others: 6 messages of 1 MB.",
        wrong={
            "B": "That's rank 0 in the star. It does all the adding and sends all the results, "
            "while the links of the others lie idle.",
            "C": "After sending its tensor once, a rank hasn't helped to distribute the result "
            "yet, and every finished part still has to reach every rank.",
        },
    ),
    "L03-6": Prediction(
        right="C",
        because="at 400 bytes only the number of messages in a row counts, and the tree has the "
        "fewest. At 1 MB the bytes count: the ring sends only parts, star and tree whole tensors.",
        wrong={
            "A": "Bytes don't matter for 400 bytes: each of the ring's 14 steps costs a latency of "
            "10 ms, however little it carries.",
            "B": "The star has as many messages in a row as the ring, 14, because rank 0 handles "
            "them one after the other. And at 1 MB the tree moves whole tensors in "
            "each of its steps.",
        },
    ),
    "L03-7": Prediction(
        right=how_fast,
        because="three ranks read {speedup:.2f} times as many tokens per second as one, on "
        "{cores} cores. Ranks that share a core take turns, and each step also pays for the "
        "all-reduce and for waiting.",
        wrong={
            "A": "Three ranks on fewer than three cores take turns, and even with enough cores the "
            "all-reduce comes on top of each step.",
            "B": "Here either the cores were enough and the all-reduce cheap, or communicating "
            "cost more than the other ranks brought.",
            "C": "The all-reduce is expensive, but the computation it saves is larger.",
        },
    ),
}

NUMBERS = {
    "L03-2": Number(
        4 * 2 * 128 * 8,
        unit="tokens",
        because="4 ranks, 2 sequences, 128 tokens, 8 micro-batches.",
        slips={
            4 * 2 * 128: "That's one micro-batch; the optimizer steps after eight of them.",
            2 * 128 * 8: "That's what one rank reads; there are four.",
        },
    ),
    "L03-5": Number(
        175,
        unit="MB",
        tolerance=0.5,
        because="2 times 7/8 of 100 MB.",
        slips={
            87.5: "That's the reduce-scatter alone; the all-gather sends as much again.",
            200: "You forgot the factor (n-1)/n: a rank never sends the part that stays with it.",
            700: "That's what rank 0 sends in a star.",
            1400: "That's what all ranks together send.",
        },
    ),
    "L03-8": Number(
        2 * 7 / 8 * 16e9 / 450e9 * 1e3,
        unit="ms",
        tolerance=0.6,
        because="2 times 7/8 of 16 GB, at 450 GB/s.",
        slips={
            16e9 / 450e9 * 1e3: "A rank sends 2(n-1)/n of the tensor, not the tensor once.",
            2 * 16e9 / 450e9 * 1e3: "You forgot the factor (n-1)/n.",
            2 * 7 / 8 * 32e9 / 450e9 * 1e3: "16-bit gradients have 2 bytes, not 4.",
            2 * 7 / 8 * 8e9 / 450e9 * 1e3: "8 billion gradients of 16 bits are 16 GB, not 8.",
        },
    ),
}
