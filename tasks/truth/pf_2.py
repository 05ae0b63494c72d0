"""PF-2: the parameters of torch.nn.Transformer, and what is missing where one part is forgotten."""

import random


def cases(seed):
    """[width, layers, hidden]: the lab's, and drawn ones."""
    draw = random.Random(seed)
    drawn = [[8 * draw.randint(2, 9), draw.randint(2, 4), draw.randint(20, 99)] for _ in range(3)]
    return [[512, 6, 2048], [16, 1, 24], *drawn]


def name(case):
    return "width {}, layers {}, hidden {}".format(*case)


def truth(
    case,
    squares=4,
    attention_bias=1,
    forth_and_back=2,
    feed_forward_bias=1,
    norm=2,
    attentions=3,
    norms=5,
    last=2,
    decoder=True,
    layers=None,
    size=1,
):
    """The count. The keywords are the parts that can go wrong."""
    w, all_layers, h = case
    attention = squares * (w * w + attention_bias * w)
    feed_forward = forth_and_back * w * h + feed_forward_bias * (h + w)
    if forth_and_back == 1:
        feed_forward -= w  # the second matrix goes with its bias
    layer = attentions * attention + 2 * feed_forward + norms * norm * w
    if not decoder:
        layer, last = attention + feed_forward + 2 * norm * w, 1
    return size * ((layers or all_layers) * layer + last * norm * w)


MISTAKES = {
    "each of the two stacks has one more norm at its end": {"last": 0},
    "each of the two stacks has one more norm at its end, and one is missing": {"last": 1},
    "a layer of the decoder has two attentions: to itself, and to what the encoder gave": {
        "attentions": 2
    },
    "one norm is missing: a layer of the encoder has 2, and one of the decoder 3": {"norms": 4},
    "the norms are missing": {"norm": 0},
    "a norm has a scale and a shift: two vectors": {"norm": 1},
    "every matrix has a bias": {"attention_bias": 0, "feed_forward_bias": 0},
    "the matrices of the attention have biases too": {"attention_bias": 0},
    "an attention has four matrices: queries, keys, values and the output": {"squares": 3},
    "a feed-forward part goes to hidden and back: two matrices": {"forth_and_back": 1},
    "the feed-forward part has biases too": {"feed_forward_bias": 0},
    "the decoder is missing": {"decoder": False},
    "only one layer is counted": {"layers": 1},
    "these are bytes in float32, and parameters are asked for": {"size": 4},
}


def explain(case, seen):
    if isinstance(seen, bool) or not isinstance(seen, int | float):
        return f"{seen!r} is no number"
    return f"{seen:,} parameters, and there are {truth(case):,}: count each part again"
