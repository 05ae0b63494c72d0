"""What lesson 15 asks: the right choices and the numbers."""

from helpers.cost import flops, gpt, states, utilisation
from helpers.lesson.asked import Number, Prediction


def mfu():
    """Return the MFU, in percent, of the 22B model of arXiv 2205.05198."""
    return 100 * utilisation(flops(gpt(6144, 48, 64), batch=4), 1.42, 8, 312e12).mfu


PREDICTIONS = {
    "L15-1": Prediction(
        right="C",
        because="a LLaMA turns queries and keys by an angle that depends on the position, and "
        "angles aren't learned. It's called rotary positions.",
        wrong={
            "A": "That would be GPT-2's way, a table of 8.4 million numbers.",
            "B": "One row for all couldn't tell positions apart.",
        },
    ),
    "L15-2": Prediction(
        right="C",
        because="16 bytes a parameter are 108 GB, and three quarters of that is the optimizer's.",
        wrong={
            "A": "The weights alone fit. Gradients and Adam's state take seven times as much.",
            "B": "4 bytes are the weight and the gradient; Adam adds 12.",
        },
    ),
    "L15-4": Prediction(
        right="B",
        because="forward 1 and backward 2 make 3, and a second forward makes 4: 4/3. Embedding, "
        "head and loss, which aren't repeated, make it a little less.",
        wrong={
            "A": "Backward needs what the second forward computes, so it must wait for it.",
            "C": "Twice as long would be if backward were repeated as well.",
        },
    ),
    "L15-6": Prediction(
        right="B",
        because="about 29 TB are needed where 8.8 were counted.",
        wrong={
            "A": "That's one mistake of three, and the smallest.",
            "C": "Everything that was counted is needed; much that is needed wasn't counted.",
        },
    ),
    "L15-7": Prediction(
        right="C",
        because="30.7 tokens a parameter.",
        wrong={
            "A": "One would think so, since it is the same paper. Read on.",
            "B": "With these constants data wins more than parameters: beta is below alpha.",
        },
    ),
}
NUMBERS = {
    "L15-3": Number(
        lambda: states(13e9, zero=2, ranks=32).total / 1e9,
        unit="GB",
        tolerance=0.1,
        because="26 for the weights, and 14 x 13 / 32 for what is cut.",
        slips={
            56.9: "that is ZeRO-1: stage 2 cuts the gradients too.",
            6.5: "that is ZeRO-3: stage 2 keeps the weights whole.",
            208.0: "that is one device alone.",
        },
    ),
    "L15-5": Number(
        mfu,
        unit="%",
        tolerance=1,
        because="three times the forward pass, over 1.42 s x 8 x 312 TFLOP/s.",
        slips={
            42.6: "did you count a recomputed forward? That is HFU.",
            10.7: "backward counts too: three times the forward pass.",
        },
    ),
}
