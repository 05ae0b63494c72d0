"""What lesson 13 asks: the right choices and the numbers."""

from helpers.lesson.asked import Number, Prediction

PREDICTIONS = {
    "L13-2": Prediction(
        right="C",
        because="each was divided by its own sum. How much of the whole sum a half has is in l and "
        "m, and the division has lost it.",
        wrong={
            "A": "That would be right if both halves had the same sum of exponentials.",
            "B": "The weights of each half add up to 1 already, so together they'd add up to 2.",
        },
    ),
    "L13-3": Prediction(
        right="B",
        because="every query still meets every key: s x s scores are computed, and none is kept.",
        wrong={
            "A": "That's the memory. The computing is the same as before, only in pieces.",
            "C": "Blocks save memory, and traffic to it. They save no products.",
        },
    ),
    "L13-5": Prediction(
        right="C",
        because="it computes half a block, the triangle of its own keys, while the last rank needs "
        "three blocks and a half.",
        wrong={
            "A": "That would be so without a mask. What comes later, its queries may not see.",
            "B": "A half is the mean over all ranks: 8 of 14 half blocks, to be exact.",
        },
    ),
    "L13-6": Prediction(
        right=lambda ratio: "B" if ratio > 1.15 else "A",
        because="the ring is as fast as its slowest rank: 3.5 blocks before, 2 blocks in a zigzag. "
        "Here it was {ratio:.2f} times.",
        wrong={
            "A": "The sum of the work is the same, but the time is that of the rank that has the "
            "most.",
            "B": "On a busy machine a short sleep takes long.",
            "C": "Four ranks are at best twice as fast as before, since half of the pairs are "
            "visible: the bound is 2 - 1/P.",
        },
    ),
    "L13-7": Prediction(
        right="A",
        because="only the scores are computed again: five products for four.",
        wrong={
            "B": "The product with V needn't be repeated, because the attention itself is kept: it "
            "has s x d numbers only.",
            "C": "That is what it costs to run a whole layer's forward again.",
        },
    ),
    "L13-8": Prediction(
        right="C",
        because="a ring shows every key to every rank, while an all-to-all sends each number to "
        "one rank: with as many key heads as query heads the ratio is P/2, so 8.",
        wrong={
            "A": "The ring sends keys and values only, and Ulysses queries and results too. But "
            "the ring sends them 15 times.",
            "B": "Ring and gather are the same. Compare them with the last column.",
        },
    ),
    "L13-9": Prediction(
        right=lambda wrong, right: "C" if wrong > right else "A",
        because="distances within a rank are right, and between ranks they are off by multiples of "
        "its length: {wrong:.2f} nats a token in place of {right:.2f}.",
        wrong={
            "A": "True, and the distance between tokens of two ranks is what became wrong.",
            "B": "The tables have the size of what the rank sees, so all shapes fit.",
            "C": "Compare the two numbers again.",
        },
    ),
    "L13-10": Prediction(
        right="B",
        because="Adam divides each gradient by its own size, so a factor on all of them falls out.",
        wrong={
            "A": "With SGD it would be so: half the gradient is half the step.",
            "C": "Smaller gradients don't make a training diverge.",
        },
    ),
}
NUMBERS = {
    "L13-1": Number(
        131072**2 * 2 / 1e9,
        unit="GB",
        tolerance=0.5,
        because="131,072 x 131,072 scores of 2 bytes.",
        slips={
            17.18: "that's one byte a score, or half of the matrix: the masked half is stored too.",
            68.72: "that's 4 bytes a score: 16 bits are 2 bytes.",
            32.0: "those are GiB, of 2 to the power of 30 bytes: in GB it's a little more.",
            0.0336: "that's Q of one head: s x d numbers. Scores are s x s.",
        },
    ),
    "L13-4": Number(
        8000,
        unit="tokens",
        tolerance=1,
        because="F / B = 400e12 / 50e9, and g / h is 1.",
        slips={
            4000: "did you count K alone? Both tensors travel, and both products are computed.",
            16000: "did you count one of the two products only?",
            8: "mind the units: TFLOP/s are 10 to the power of 12, GB/s 10 to the power of 9.",
        },
    ),
}
