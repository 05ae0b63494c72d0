"""PF-2: what the shapes of the data change, and what they do not."""

import random

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PF-2",
    title="count the parameters of torch.nn.Transformer",
    file="DP/ddp/transformer.py",
    function="count_parameters",
    notebook="13",
    points=10,
    minutes=25,
    hints=(
        "Count one attention, one feed-forward part and one norm first, biases too. Which of the "
        "three dimensions of src and tgt is in none of your formulas?",
        "An attention: four times a square matrix and its bias. A feed-forward part: there and "
        "back, and two biases of different length. A norm: two vectors. Then put the layers "
        "together, and mind that the decoder's have one attention and one norm more.",
        "With a, f, n for the three: an encoder's layer is a + f + 2 n, a decoder's 2 a + f + 3 n. "
        "All layers of both, and 2 n for the two last norms. width 512, layers 6, hidden 2048 "
        "must give 44,140,544.",
    ),
)


def cases_of(seed):
    """(width, layers, hidden): the lab's, and drawn ones."""
    draw = random.Random(seed)
    drawn = [(8 * draw.randint(2, 9), draw.randint(2, 4), draw.randint(20, 99)) for _ in range(3)]
    return [(512, 6, 2048), (16, 1, 24), *drawn]


def work(module, cases):
    """The student's counts."""
    return [module.count_parameters(*case) for case in cases]


def count(width, layers, hidden):
    """The count of a real model, without memory for its numbers."""
    import torch

    with torch.device("meta"):
        net = torch.nn.Transformer(width, 4, layers, layers, hidden, batch_first=True)
    return sum(p.numel() for p in net.parameters())


def verify(submission: Submission) -> None:
    """Raises Mistake, which names what is missing where that shows, or WorkFailed."""
    cases = cases_of(submission.seed)
    (answers,) = submission.on_ranks(work, 1, cases)
    for (w, layers, h), given in zip(cases, answers, strict=True):
        right = count(w, layers, h)
        if given == right and not isinstance(given, bool):
            continue
        here = f"width {w}, layers {layers}, hidden {h}"
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise Mistake(f"{given!r} is no number ({here})")
        said = known(w, layers, h, right).get(given, "count each part again")
        raise Mistake(f"{given:,} parameters, and there are {right:,}: {said} ({here})")


def known(w, layers, h, right):
    """{wrong count: what was forgotten}."""
    attention, ffn, norm = 4 * (w * w + w), 2 * w * h + h + w, 2 * w
    return {
        right - 2 * norm: "each of the two stacks has one more norm at its end",
        right - norm: "each of the two stacks has one more norm at its end, and one is missing",
        right - layers * attention: "a layer of the decoder has two attentions: to itself, and to "
        "what the encoder gave",
        right
        - layers * norm: "a norm is missing in each layer: 2 in the encoder, 3 in the decoder",
        right - layers * (5 * norm) - 2 * norm: "the norms are missing",
        right - (5 * layers + 2) * w: "a norm has a scale and a shift: two vectors",
        right - layers * (3 * 4 * w + 2 * (h + w)): "every matrix has a bias",
        right - layers * 3 * 4 * w: "the matrices of the attention have biases too",
        right - layers * 3 * (w * w + w): "an attention has four matrices: queries, keys, values "
        "and the output",
        right - layers * 2 * (w * h + w): "a feed-forward part goes to hidden and back: two "
        "matrices",
        right - layers * 2 * h - layers * 2 * w: "the feed-forward part has biases too",
        right - layers * (2 * attention + ffn + 3 * norm) - norm: "the decoder is missing",
        right - (layers - 1) * (3 * attention + 2 * ffn + 5 * norm): "only one layer is counted",
        4 * right: "these are bytes in float32, and parameters are asked for",
    }
