"""A written exam from a seed: ninety minutes, a hundred points, numbers and cards drawn anew.

Two cards are read, three questions are worked out, two are argued. The solutions say what earns
part of the points.
"""

from dataclasses import dataclass
from html import escape
from random import Random

from helpers.cards.dealing import deal, random_of
from helpers.cards.sheet import STYLE, html_page, page_of

# Each program has two mistakes; both let the loss fall.
PROGRAMS = (
    (
        "The model is split over two data-parallel ranks. Every rank runs this after backward():",
        "for p in model.parameters():\n    if p.grad is not None:\n        dist.all_reduce(p.grad)",
        "The model has experts, and a rank's tokens may choose only some of them.",
        "The sum isn't divided by the number of ranks (3). A parameter that has a gradient on one "
        "rank and none on another is skipped by one of them (3): calls no longer match, and the "
        "ranks hang or add up different tensors (4). The first is invisible in Adam's loss, which "
        "divides a common factor away: compare one step under SGD with one device (5).",
    ),
    (
        "Two ranks train a pipeline of two stages. Rank 0 runs this in each step:",
        "for x in micro_batches:\n    losses.append(forward_and_send(x))\n"
        "for g in receive_gradients():\n    backward(g)\n    optimizer.step()\n"
        "optimizer.zero_grad()",
        "Micro-batches have different numbers of tokens, and each one's loss is its mean.",
        "The optimizer steps after each micro-batch (3): later gradients belong to weights that "
        "are gone (4). Means of micro-batches of different sizes are added up unweighted (3). The "
        "loss falls all the same; one step under SGD, weights compared with one device, shows it, "
        "with micro-batches of unequal length (5).",
    ),
    (
        "Four data-parallel ranks clip gradients. Each rank runs this after backward():",
        "nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nfor p in model.parameters():\n"
        "    dist.all_reduce(p.grad)\n    p.grad /= 4\noptimizer.step()",
        "Each rank shuffles the data with torch.randperm and no seed, and takes its quarter.",
        "Each rank clips its own gradient before the mean (3): the mean of clipped gradients isn't "
        "the clipped mean (4). Without a common seed the quarters overlap (3): some samples count "
        "twice and others never. Compare the gradients with one device that reads the same batch, "
        "and count the samples of an epoch (5).",
    ),
)


@dataclass(frozen=True)
class Part:
    """A question of the exam, in HTML: what is asked, and its solution."""

    title: str
    points: int
    text: str
    solution: str


def parts(seed: str, secret: str = "") -> list[Part]:
    """Draw the questions of a variant."""
    rng = random_of(seed, 0, secret)
    drawn = [_all_reduce(rng), _overlap(rng), _memory(rng), _pipeline(rng), _program(rng)]
    cards = [deal(f"exam {seed}", number, secret) for number in (1, 2)]
    for card in cards:
        drawn.append(
            Part("Read a step", card.points, page_of(card, key=False), page_of(card, key=True))
        )
    return drawn


def exam(seed: str, key: bool, secret: str = "") -> str:
    """Return one HTML file: a variant of the exam, or its solutions."""
    found = parts(seed, secret)
    total = sum(part.points for part in found)
    sections = "".join(
        f"<article><h2>{n}. {part.title} ({part.points})</h2>{part.solution if key else part.text}"
        "</article>"
        for n, part in enumerate(found, 1)
    )
    title = f"Exam {seed}" + (": solutions" if key else "")
    intro = (
        f"Ninety minutes, {total} points. On paper, with a calculator; every answer needs a reason."
    )
    body = f"<h1>{escape(title)}</h1><p>{intro}</p>{sections}"
    return html_page(title, body, STYLE + "article { break-after: auto; break-inside: avoid; }")


def _list(*rows: str) -> str:
    return "<ol type=a>" + "".join(f"<li>{row}</li>" for row in rows) + "</ol>"


def _all_reduce(rng: Random) -> Part:
    n, size = rng.choice((4, 8, 16)), rng.choice((200, 350, 480, 640))
    rate, alpha = rng.choice((5, 10, 25)), rng.choice((10, 20, 40))
    sent = 2 * (n - 1) / n * size
    steps = 2 * (n - 1)
    latency, wire = steps * alpha / 1e3, sent / rate
    equal = steps * alpha * 1e-6 * rate * 1e9 / (2 * (n - 1) / n) / 1e6
    return Part(
        "All-reduce",
        15,
        f"<p>{n} ranks average {size} MB of gradients in a ring. Each link carries {rate} GB/s, "
        f"and a message has a latency of {alpha} µs.</p>"
        + _list(
            "How many bytes does each rank send? (4)",
            "How long does it take, in the alpha-beta model? (5)",
            "At which size do latency and bandwidth cost the same? (6)",
        ),
        _list(
            f"2 · {n - 1}/{n} · {size} MB = {sent:.4g} MB. (2 for {n - 1}/{n} · {size}: only one "
            "of the two halves.)",
            f"{steps} · {alpha} µs + {sent:.4g} MB / {rate} GB/s = {latency:.3g} + {wire:.4g} = "
            f"{latency + wire:.4g} ms. (3 without the latency, 2 for one latency only.)",
            f"{steps} · {alpha} µs = 2 · {n - 1}/{n} · S / {rate} GB/s: S = n · α · B = "
            f"{equal:.3g} MB. (3 for the equation.)",
        ),
    )


def _overlap(rng: Random) -> Part:
    name, flops, link = rng.choice(
        (
            ("an H100 in its node", 989, 450),
            ("an H100 between nodes", 989, 50),
            ("an A100", 312, 300),
        )
    )
    reached = rng.choice((0.35, 0.4, 0.45))
    tokens = flops * 1e12 / (link * 1e9)
    mine = rng.choice((500, 1000, 4000, 30000))
    slow, fast = reached * tokens, tokens
    hides = "hides" if mine >= tokens else "doesn't hide"
    share = max(0.0, 1 - mine / tokens)
    return Part(
        "When does a message hide?",
        12,
        f"<p>Data parallel, with gradients of 2 bytes. For {name}: {flops} TFLOP/s, "
        f"{link} GB/s.</p>"
        + _list(
            "A backward takes 4 P t FLOPs for P parameters and t tokens; a ring moves about 4 P "
            "bytes a rank. From how many tokens per rank on can all of the all-reduce hide behind "
            "the backward? Derive it. (6)",
            f"In training {reached:.0%} of the peak is reached. Does that raise or lower this "
            "number, and to what? (3)",
            f"A rank has {mine} tokens, at the peak. What share of the messages is left over? (3)",
        ),
        _list(
            f"4 P t / F ≥ 4 P / B gives t ≥ F/B = {tokens:,.0f} tokens. P cancels. (3 for both "
            "times, 3 for the result.)",
            f"Lower: slower computing hides more. {reached:.2g} · {fast:,.0f} = {slow:,.0f}.",
            f"t/(F/B) = {mine / tokens:.3g}: it {hides}, and {share:.0%} of it is left over.",
        ),
    )


def _memory(rng: Random) -> Part:
    billions, gpus = rng.choice((7, 13, 20)), rng.choice((8, 16))
    whole = [2 * billions, 2 * billions, 12 * billions]
    stages = {
        1: whole[0] + whole[1] + whole[2] / gpus,
        2: whole[0] + (whole[1] + whole[2]) / gpus,
        3: sum(whole) / gpus,
    }
    k = rng.choice((4, 8))
    fits = ", ".join(
        f"ZeRO-{s} {size:.4g} GB ({'fits' if size < 80 else 'too much'})"
        for s, size in stages.items()
    )
    return Part(
        "Memory",
        15,
        f"<p>A model with {billions} billion parameters, mixed precision with Adam, on {gpus} GPUs "
        "of 80 GB each.</p>"
        + _list(
            "How many bytes a parameter, and what for? (5)",
            "Weights, gradients and optimizer on each GPU with ZeRO-1, -2 and -3: what fits? (6)",
            f"A step accumulates {k} micro-batches; with ZeRO-3 nothing stays gathered from one "
            "pass to the next. How many times the model do ranks gather weights with ZeRO-3, and "
            "how many times with ZeRO-1? (4)",
        ),
        _list(
            "16: weights 2, gradients 2, and 12 for float32 weights and Adam's two moments. (18, "
            "with gradients kept in float32, is right too if it is said.)",
            f"{fits}. Activations come on top. (2 each.)",
            f"Gathered for the forward and again for the backward of each micro-batch: 2 · {k} = "
            f"{2 * k} models; ZeRO-1 gathers once, after the update. (3 and 1; 1 for {k}: only "
            "one of the two gathers.)",
        ),
    )


def _pipeline(rng: Random) -> Part:
    p, f = rng.choice((3, 4, 5)), rng.choice((5, 10, 15))
    m = p * rng.choice((2, 3))
    step = (m + p - 1) * 3 * f
    share = (p - 1) / (m + p - 1)
    return Part(
        "A pipeline",
        15,
        f"<p>{p} stages, {m} micro-batches; forward {f} ms and backward {2 * f} ms on each stage; "
        "messages take no time.</p>"
        + _list(
            "How long is a step of GPipe, and of 1F1B? Which share of it is the bubble? (5)",
            "Of how many micro-batches does each rank keep activations at most, in both? (4)",
            f"A paper calls this bubble {(p - 1) / m:.1%}. Who is right? (3)",
            "How would you halve the bubble without keeping more activations than GPipe does, and "
            "what does it cost? (3)",
        ),
        _list(
            f"Both ({m} + {p} − 1) · {3 * f} = {step} ms; {p - 1}/{m + p - 1} = {share:.1%}. "
            "(3 and 2.)",
            f"GPipe {m} on every rank; 1F1B {', '.join(str(min(m, p - r)) for r in range(p))}.",
            f"Both: ({p} − 1)/{m} divides by the ideal time, ({p} − 1)/({m} + {p} − 1) by the "
            "step.",
            "Two chunks a rank (interleaved): half the bubble, twice the messages; or twice as "
            "many micro-batches of half the size: smaller kernels, more latency; or a backward "
            "split in two (ZB-H1), which fills it with W. (2, and 1 for what it costs.)",
        ),
    )


def _program(rng: Random) -> Part:
    before, program, more, solution = rng.choice(PROGRAMS)
    return Part(
        "A wrong program",
        15,
        f"<p>{before}</p><pre>{escape(program)}</pre><p>{more} The loss curve under Adam looks "
        "right.</p>"
        + _list(
            "Name the two mistakes. (6)",
            "What does each of them do to a step? (4)",
            "How would you have found them? (5)",
        ),
        f"<p>{solution}</p>",
    )
