"""The right choices and numbers for what the lesson asks."""

from helpers.cost import flops, gpt, states, utilisation
from helpers.lesson.asked import Number, Prediction


def mfu():
    """Return the MFU, in percent, of the 22B model of arXiv 2205.05198."""
    return 100 * utilisation(flops(gpt(6144, 48, 64), batch=4), 1.42, 8, 312e12).mfu


PREDICTIONS = {
    "what_training_costs-1": Prediction(
        "A",
        A="it's 0.07 of 0.90 TFLOP. For each token the scores take 4 s d FLOPs, 8,192 d, and the "
        "matrices 8 d d + 6 d f, 98,816 d. They'd be equal at about 25,000 tokens.",
        B="They would be half at about 25,000 tokens. At 2,048 the matrices still dominate.",
        C="They do grow with the square, but from very little: a token meets 2,048 others, and "
        "tens of thousands of rows of weights.",
    ),
    "what_training_costs-2": Prediction(
        "C",
        A="The weights alone fit. Gradients and Adam's state take seven times as much.",
        B="4 bytes are the weight and the gradient, and Adam adds 12.",
        C="16 bytes per parameter are 108 GB, and three quarters of that is the optimizer's.",
    ),
    "what_training_costs-4": Prediction(
        "B",
        A="Backward needs what forward computed. If that was kept, nothing is computed twice.",
        B="forward 1 and backward 2 make 3, and a second forward makes 4: 4/3 at most. Torch stops "
        "each second forward before its last matrix, so here it's 5/4 of the FLOPs.",
        C="That many it would be if backward were repeated as well.",
    ),
}
NUMBERS = {
    "what_training_costs-3": Number(
        lambda: states(13e9, zero=2, ranks=32).total / 1e9,
        unit="GB",
        tolerance=0.1,
        because="It's 26 for the weights, and 14 x 13 / 32 for what is sharded.",
        slips={
            56.9: "that's ZeRO-1, but stage 2 shards the gradients, too.",
            6.5: "that's ZeRO-3, but stage 2 keeps the weights whole.",
            208.0: "that's without ZeRO.",
        },
    ),
    "what_training_costs-5": Number(
        mfu,
        unit="%",
        tolerance=1,
        because="It's three times the forward pass, over 1.42 s x 8 x 312 TFLOP/s.",
        slips={
            42.6: "did you count a recomputed forward pass? That's HFU.",
            10.7: "backward counts too: three times the forward pass.",
        },
    ),
    "what_training_costs-9": Number(
        (5 * 4096 + 4 * 11008) / 32,
        unit="tokens",
        tolerance=1,
        because="With h heads it's 5d + 2hs values a token against 10d + hs + 4f: they're equal "
        "at hs = 5d + 4f. Its 2,048 positions are just beyond.",
        slips={
            64512: "Each of the 32 heads has s scores a token: divide by them.",
            1008: "Two tensors of scores are there after the softmax, but one is still there at "
            "the end.",
        },
    ),
}
