"""PP-3: 1F1B: one forward, one backward, in turn."""

from tasks import _stages

HINTS = (
    "The last rank can go backward as soon as it went forward. How many more must the rank before "
    "it have sent by then? What if one sends forward while its neighbor sends back?",
    "forward(k) and backward(k) of GPipe, with dist.isend, and each message kept with its tensor. "
    "First forward(k) for k < ahead = min(last - rank, micro_batches). Then for each k: forward(k "
    "+ ahead) if there is one, and backward(k). wait() for a message when its answer has come, "
    "and for the last ones at the end.",
)
LESSON, MINUTES, RANKS = "micro_batches", 45, 4


def observe(module, case):
    seen = _stages.observe(module.forward_backward, case)
    for one in seen.values():
        one["order"] = " ".join(one["_seen"]["order"])
        one["outputs kept"], one["graphs kept"] = one["_seen"]["kept"], one["_seen"]["graphs"]
        one["messages not waited for"] = len(one["_seen"]["late"])
    return seen


def cases():
    """More micro-batches than stages, then fewer; nothing is thrown away between the two calls."""
    return _stages.cases(calls=((6, 2, 6), (2, 3, 5)))


AHEAD = "min(last - rank, micro_batches)"
IN_1F1B = "a rank with d ranks after it goes forward d times before its first pair of F and B"
MUTANTS = {
    (AHEAD, "micro_batches"): "this is GPipe's order, which keeps all micro-batches; in 1F1B a "
    "rank goes backward as soon as it can",
    (AHEAD, "0"): "this is the naive order: each micro-batch comes back before the next goes "
    "forward, and the others wait; let last - rank micro-batches go ahead",
    (AHEAD, "min(last - rank + 1, micro_batches)"): "one micro-batch too many goes ahead: "
    f"{IN_1F1B}",
    (AHEAD, "min(max(last - rank - 1, 0), micro_batches)"): "one micro-batch too few goes ahead: "
    f"{IN_1F1B}",
    (" / micro_batches", ""): "every gradient is as many times too large as there are "
    "micro-batches: divide the loss of each by micro_batches",
    (("outputs.pop(k)", "outputs[k]"), ("gradient)", "gradient, retain_graph=True)")): "the order "
    "is right, and still the activations of all micro-batches are kept: let backward() free them "
    "(no retain_graph), and keep no other tensor of a micro-batch that has come back",
    ("outputs.pop(k)", "outputs[k]"): "the order is right, and still each y is kept until the end: "
    "after its backward let go of a micro-batch's x and y",
}


def explain(case, seen):
    if sentence := _stages.explain(case, seen):
        return sentence
    for rank, calls in enumerate(seen):
        for name, peer, line in (late for one in calls.values() for late in one["_seen"]["late"]):
            return (
                f"nobody waits for the {name} of rank {rank} {'to' if name == 'isend' else 'from'} "
                f"rank {peer} in line {line}: keep what it returns and call its wait(); before "
                "that its tensor must neither change nor go"
            )


STOPPED, stuck = _stages.STOPPED, _stages.stuck
