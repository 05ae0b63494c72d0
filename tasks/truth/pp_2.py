"""PP-2: one device's loss and gradients, and GPipe's order."""

from tasks.truth import _stages


def cases(seed):
    """More micro-batches than stages, then fewer; nothing is thrown away between the two calls."""
    return _stages.cases(seed, calls=((6, 2, 6), (2, 3, 5)))


def explain(case, seen):
    return _stages.mistake(case, seen, rules=(order, _stages.spans))


def order(call, facts):
    """All forward, then all backward, in whatever order each."""
    m = call.micro_batches
    for rank, fact in enumerate(facts):
        passes = _stages.order_of(call, rank, fact)
        kinds = "".join(kind for kind, _ in passes)
        does = f"rank {rank} computes {_stages.in_letters(passes)}"
        if kinds == m * "FB":
            return (
                f"{does}: each micro-batch comes back before the next goes forward, as if there "
                "were one rank at work; all go forward first, then all backward"
            )
        if kinds != m * "F" + m * "B":
            return (
                f"{does}, and this is not GPipe's order: all micro-batches go forward, then all go "
                "backward"
            )
    return None


stopped, stuck = _stages.stopped, _stages.stuck
