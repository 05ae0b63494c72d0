from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "hiding_messages-1": Prediction("""
        A) A piece of the gather is a third of it, because a rank's own rows don't travel; a piece
        of the product is a quarter. So the messages are a little too long.
        B* a piece takes C/4 and each of the three messages C/3, so every product but the first
        waits for a message that is longer than it: C/4 + 3 C/3.
        C) Three of four products have a message beside them, and three of three messages have a
        product.
    """),
    "hiding_messages-5": Prediction("""
        A) The latency didn't become shorter.
        B* a product now takes 5 ms and a message 2.5 + 5 = 7.5 ms: hidden is c/m, {share:.0%}.
        C) There are still 5 ms of computing beside each message.
    """),
}

NUMBERS = {
    "hiding_messages-7": Number(
        truth=9 * 1.18,
        unit="ms",
        tolerance=0.1,
        because="computing takes 9 x 1.18 = 10.6 ms, and 6 ms of messages disappear in it.",
        slips={
            9.0: "the messages are hidden, and they slow down the computing.",
            15.0: "that's what it takes without hiding.",
            16.62: "the messages run beside the computing, so they don't add up.",
        },
    )
}
