"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "data_parallel_gradients-1": Prediction(
        "C",
        A="The sum would be three times as large. The ranks divided it by three.",
        B="They don't have to see each other's text: a token's contribution to the gradient "
        "depends on its own sequence and on the weights, which are the same everywhere.",
        C="the loss of the batch is the mean of the three losses, and the gradient of a mean is "
        "the mean of the gradients. Only the order of the additions differs.",
    ),
    "data_parallel_gradients-3": Prediction(
        "B",
        A="That would be true if both used the gradient as it is. Adam rescales it first.",
        B="Adam divides each gradient by a running average of its own size, so a constant factor "
        "cancels. SGD takes a step that is three times too long.",
        C="It's the other way round: SGD uses the gradient as it is, Adam rescales it.",
    ),
    "data_parallel_gradients-4": Prediction(
        "A",
        A="in a ring every rank sends one quarter in each step. After three steps of adding, each "
        "holds one finished quarter, and three steps of passing them on bring all four to "
        "everybody: 6 messages of 1 MB.",
        B="That's rank 0 in the star. It does all the adding and sends all the results, while the "
        "links of the others lie idle.",
        C="After sending its tensor once, a rank hasn't helped to distribute the result yet, and "
        "every finished part still has to reach every rank.",
    ),
    "data_parallel_gradients-6": Prediction(
        "C",
        A="Bytes don't matter for 400 bytes: each of the ring's 14 steps costs a latency of 50 ms, "
        "however little it carries.",
        B="The star has as many messages in a row as the ring, 14, because rank 0 handles them one "
        "after the other. And at 1 MB the tree moves whole tensors in each of its steps.",
        C="at 400 bytes only the number of messages in a row counts, and the tree has the fewest. "
        "At 1 MB the bytes count: the ring sends only parts, star and tree whole tensors.",
    ),
}

NUMBERS = {
    "data_parallel_gradients-2": Number(
        4 * 2 * 128 * 8,
        unit="tokens",
        because="4 ranks, 2 sequences, 128 tokens, 8 micro-batches.",
        slips={
            4 * 2 * 128: "That's one micro-batch; the optimizer steps after eight of them.",
            2 * 128 * 8: "That's what one rank reads; there are four.",
        },
    ),
    "data_parallel_gradients-5": Number(
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
    "data_parallel_gradients-8": Number(
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
