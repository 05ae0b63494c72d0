"""PP-3: one device's loss and gradients, the order of 1F1B, its memory, and its messages."""

from helpers.schedules import in_flight, one_f_one_b
from tasks.truth import _stages

BESIDE = 2  # micro-batches of which a message may still be on its way


def cases(seed):
    """More micro-batches than stages, then fewer; nothing is thrown away between the two calls."""
    return _stages.cases(seed, calls=((6, 2, 6), (2, 3, 5)))


def explain(case, seen):
    return _stages.mistake(case, seen, rules=(order, _stages.spans, graphs, messages, borders))


def order(call, facts):
    """Whether each rank did what 1F1B does; if not, what it did."""
    m = call.micro_batches
    orders = [_stages.order_of(call, rank, fact) for rank, fact in enumerate(facts)]
    schedule = one_f_one_b(_stages.RANKS, m)
    right = [[(kind, k) for kind, _, k in row] for row in schedule.ranks]
    kinds = {"".join(kind for kind, _ in row) for row in orders}
    if kinds == {m * "F" + m * "B"}:
        return (
            "this is GPipe's order: on every rank all micro-batches go forward, then all go "
            f"backward, and so all {m} are kept; in 1F1B a rank goes backward as soon as it can"
        )
    if kinds == {m * "FB"}:
        return (
            "this is the naive order: on every rank each micro-batch comes back before the next "
            "goes forward, and the others wait; let last - rank micro-batches go ahead"
        )
    for rank, (did, should) in enumerate(zip(orders, right, strict=True)):
        if did == should:
            continue
        shown = (
            f"rank {rank} computes {_stages.in_letters(did)}, and 1F1B is "
            f"{_stages.in_letters(should)}"
        )
        ahead, enough = ([*(kind for kind, _ in row), "B"].index("B") for row in (did, should))
        if ahead == enough:
            return f"this is not the order of 1F1B: {shown}"
        amount = f"{abs(ahead - enough)} too {'many' if ahead > enough else 'few'}"
        return (
            f"rank {rank} goes forward {ahead} times before its first backward, which is {amount} "
            f"with {_stages.RANKS} stages: {shown}"
        )
    return None


def graphs(call, facts):
    """Whether backward() frees what forward kept for it."""
    for rank, (fact, right) in enumerate(zip(facts, _in_flight(call), strict=True)):
        if fact["kept"] > right:
            return (
                f"the order is right, and still rank {rank} keeps the activations of "
                f"{fact['kept']} of {call.micro_batches} micro-batches at one time, where {right} "
                "would do: let backward() free them (no retain_graph), and keep no other tensor of "
                "a micro-batch that has come back"
            )
    return None


def messages(call, facts):
    """Whether somebody waits for each message that was started."""
    for rank, fact in enumerate(facts):
        for name, peer, line in fact["not waited for"]:
            way = "to" if name == "isend" else "from"
            return (
                f"nobody waits for the {name} of rank {rank} {way} rank {peer} in line {line}: "
                "keep what it returns and call its wait(); before that the message may not have "
                "left, and its tensor must neither change nor go"
            )
    return None


def borders(call, facts):
    """Whether what was received, computed for the next stage, or sent is let go in time."""
    for rank, (fact, right) in enumerate(zip(facts, _in_flight(call), strict=True)):
        for kind, alive in fact["alive"].items():
            if round(alive) > right + BESIDE:  # small messages may go with the large ones
                what = {
                    "x": f"what came from rank {rank - 1} (x)",
                    "y": "the outputs of its stage (y)",
                    "gradient": f"the gradients that came from rank {rank + 1}",
                }.get(kind, f"what it has {kind.replace('sent to', 'sent to rank')}")
                return (
                    f"the order is right, and still rank {rank} keeps {what} of {alive:.0f} of "
                    f"{call.micro_batches} micro-batches at one time, where {right} are on their "
                    "way: after its backward let go of a micro-batch's x and y, and of a message "
                    "and its tensor as soon as it must have arrived (wait() for it then, not for "
                    "all of them at the end)"
                )
    return None


def _in_flight(call):
    return in_flight(one_f_one_b(_stages.RANKS, call.micro_batches))


stopped, stuck = _stages.stopped, _stages.stuck
