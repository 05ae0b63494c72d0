"""The right choices and numbers for what the lesson asks."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
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
    "data_parallel_gradients-7": Prediction(
        "C",
        A="Backward takes long because there are many parameters, but each of them also has a "
        "gradient to send. The two grow together, and only the tokens decide.",
        B="That takes F/B tokens for each replica, 19,780 over a network card. How many does each "
        "of 16,384 replicas read?",
        C="16.8 million tokens on 16,384 GPUs are 1,024 for each, and averaging needs 19,780 to "
        "hide. The number of parameters cancels.",
    ),
}

NUMBERS = {
    "data_parallel_gradients-9": Number(
        2 * 2250e12 / 50e9,
        unit="tokens",
        tolerance=500,
        because="backward takes 4Pt / 2,250e12 seconds, and sending 2 x 4P / 50e9: t = 2 F/B.",
        slips={
            2250e12 / 50e9: "That's F/B, the bound for gradients of 2 bytes; here they have 4.",
            2250e12 / 50e9 / 4: "That's with eight cards of a node at once; here it's one ring.",
            2250e12 / 50e9 / 2: "More bytes take longer to send: they need more tokens, not fewer.",
            4 * 2250e12 / 50e9: "An all-reduce sends each gradient twice, 8 bytes for each weight; "
            "set that equal to the 4t FLOPs that backward computes for it.",
        },
    ),
}
