from helpers.lesson.asked import Number, Prediction


def _plan_within_two() -> float:
    from helpers.schedules import parse
    from helpers.simulate import simulate

    plan = """
    rank 0: F0 F1 B0 F2 B1 F3 B2 B3
    rank 1: F0 F1 B0 F2 B1 F3 B2 B3
    rank 2: F0 B0 F1 B1 F2 B2 F3 B3
    """
    return simulate(parse(plan)).step_time


PREDICTIONS = {
    "micro_batches-1": Prediction("""
        A) In the naive pipeline only one rank works at a time. Here all four work at once, except
        while the pipeline fills and empties.
        B* a step lasts as long as eight micro-batches and three more, and each rank's idle time
        adds up to those three.
        C) There are eight micro-batches, but what counts is how long the pipeline takes to fill and
        to empty: p - 1 = 3 times a micro-batch, not once.
    """),
    "micro_batches-3": Prediction("""
        A* a rank that runs each backward as soon as it's ready frees memory before it needs more.
        The order of the work changes, and the chain that decides the time doesn't.
        B) That's what happens if the forwards still all come first, in two rounds. But nothing
        forces you to empty the pipeline: mix backwards with forwards.
        C) Rank 0 does have to wait for backwards, but for one at a time, and by then the ranks
        behind it have work for it.
    """),
}

NUMBERS = {
    "micro_batches-2": Number(
        63,
        unit="micro-batches",
        because="7 / (m + 7) is at most 1/10 from m = 63 on.",
        slips={
            70: "You divided by the ideal time, 7 / m. We asked for the share of the total time.",
            72: "You put p = 8 where p - 1 = 7 belongs.",
            80: "You put p = 8 where p - 1 = 7 belongs, and divided by the ideal time.",
            64: "One fewer is enough: at exactly 1/10 the bubble is still at most 1/10.",
        },
    ),
    "micro_batches-5": Number(
        16 * 8 * 8192 * 16384 * 31.75 / 1e9,
        unit="GB",
        tolerance=12,
        because="p - r = 16 micro-batches of 34 GB.",
        slips={
            511.5: "That's the warm-up alone. One more forward comes before the first backward.",
            272.8: "The stage has 8 layers, and they're in the 34 GB. It keeps 16 micro-batches.",
            34.1: "That's one micro-batch. How many are between their forward and their backward?",
        },
    ),
    "micro_batches-6": Number(
        _plan_within_two,
        unit="s",
        because="with F0 F1 B0 F2 B1 F3 B2 B3 the other ranks run out of work while rank 0 waits "
        "for its backwards.",
        slips={
            18: "That's the plan as it stands, and there rank 0 keeps three.",
            36: "That's one micro-batch at a time. Rank 0 may keep two.",
        },
    ),
}
