from helpers.lesson.asked import Number, Prediction


def _lost_with_less_ahead() -> float:
    """How much longer interleaved 1F1B takes if ranks go ahead by as many as in 1F1B, and a round,
    in seconds."""
    from helpers.schedules import interleaved, parse
    from helpers.simulate import Costs, simulate

    whole, costs, lines = interleaved(4, 8, 2), Costs(1, 1, 1, latency=0.5), []
    for rank, row in enumerate(whole.ranks):
        words = list(map(str, row))
        down, up = ([w for w in words if kind in w] for kind in "FB")
        ahead, rest = down[: 3 - rank + 4], down[3 - rank + 4 :]
        mixed = [w for n, b in enumerate(up) for w in [*rest[n : n + 1], b]]
        lines.append(f"rank {rank}: {' '.join(ahead + mixed)}")
    less = simulate(parse("\n".join(lines)), costs)
    return less.step_time - simulate(whole, costs).step_time


PREDICTIONS = {
    "beyond_1f1b-2": Prediction("""
        A) A rank does keep more chunks with each further cut. But each of them is a smaller part of
        a stage, and that wins.
        B* rank 0 keeps p + (p - 1) / v stages' worth from v = 2 on: the jump comes with the second
        chunk, and finer chunks make it smaller.
        C) It holds as many weights as before. Activations are another matter: they depend on how
        far a rank runs ahead before its first backward.
    """),
    "beyond_1f1b-6": Prediction("""
        A) That's right for a single step with free messages. But a training run has thousands of
        steps, back to back.
        B* rank 0 begins first and also ends first, so the next step fits behind this one without a
        gap: 24 s for each further step in place of 27.
        C) Both send one activation and one gradient per micro-batch across each border.
    """),
    "beyond_1f1b-7": Prediction("""
        A) The message is small, but it can't leave before the last gradient of the last rank is
        there. The waiting for it is what costs.
        B* no rank can begin its second step before the slowest has ended its first, so each step
        takes its full 27 s again.
        C) Within a step ZB-H2 still beats 1F1B: 27 s against 33. Only the sliding of one step into
        the next is lost.
    """),
}

NUMBERS = {
    "beyond_1f1b-9": Number(
        _lost_with_less_ahead,
        unit="s",
        tolerance=0.25,
        because="72 s against 64: with so little ahead each pair waits for a message to come and "
        "one to go. The second half of the warm-up buys tolerance of latency, and costs memory.",
        slips={
            0.0: "That's with free messages.",
            15.0: "That's against free messages, with which the full warm-up loses 7 s, too.",
            7.0: "That's what messages cost the longer warm-up.",
        },
    )
}
