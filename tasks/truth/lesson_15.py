"""What lesson 15 asks: the right choices and the numbers."""

from helpers.cost import flops, gpt, states, utilisation
from helpers.lesson.asked import Number, Prediction


def mfu():
    """Return the MFU, in percent, of the 22B model of arXiv 2205.05198."""
    return 100 * utilisation(flops(gpt(6144, 48, 64), batch=4), 1.42, 8, 312e12).mfu


PREDICTIONS = {
    "L15-1": Prediction(
        right="C",
        because="a LLaMA rotates queries and keys by an angle that depends on the position, and "
        "angles aren't learned. This is called rotary position embedding (RoPE).",
        wrong={
            "A": "That would be GPT-2's way: a table, here of 8.4 million numbers.",
            "B": "One row for all couldn't tell positions apart.",
        },
    ),
    "L15-2": Prediction(
        right="C",
        because="16 bytes per parameter are 108 GB, and three quarters of that is the optimizer's.",
        wrong={
            "A": "The weights alone fit. Gradients and Adam's state take seven times as much.",
            "B": "4 bytes are the weight and the gradient, and Adam adds 12.",
        },
    ),
    "L15-4": Prediction(
        right="B",
        because="forward 1 and backward 2 make 3, and a second forward makes 4: 4/3. Embedding, "
        "head and loss, which aren't repeated, make it a little less.",
        wrong={
            "A": "A block's backward needs what its second forward computes, so it has to wait "
            "for it.",
            "C": "It would take that long if backward were repeated as well.",
        },
    ),
    "L15-6": Prediction(
        right="B",
        because="about 29 TB are needed where 8.8 were counted.",
        wrong={
            "A": "That's only one mistake of three, and the smallest.",
            "C": "Everything that was counted is needed, but much that's needed wasn't counted.",
        },
    ),
    "L15-7": Prediction(
        right="C",
        because="with these constants, it's 30.7 tokens per parameter.",
        wrong={
            "A": "You'd think so, since the law is of the same paper. Read on.",
            "B": "At 10 tokens per parameter, one percent more tokens would still gain more than "
            "one percent more parameters.",
        },
    ),
}
NUMBERS = {
    "L15-3": Number(
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
    "L15-5": Number(
        mfu,
        unit="%",
        tolerance=1,
        because="It's three times the forward pass, over 1.42 s x 8 x 312 TFLOP/s.",
        slips={
            42.6: "did you count a recomputed forward pass? That's HFU.",
            10.7: "backward counts too: three times the forward pass.",
        },
    ),
}
