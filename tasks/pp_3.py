"""PP-3: 1F1B, one forward and one backward in turn."""

from helpers.grade import Task
from tasks import _stages

BESIDE = 2  # micro-batches of which a message may still be on its way
TASK = Task(
    title="1F1B: one forward, one backward, in turn",
    file="PP/1F1B/intro_PP_1F1B.py",
    function="forward_backward",
    lesson="micro_batches",
    kind="evidence",
    minutes=45,
    ranks=4,  # the lessons use three: a 2 or a 3 that is written into the code shows
    libraries=("torch.fx.experimental.symbolic_shapes",),  # hooks on saved tensors need it
    done_by=("pipeline",),
    hints=(
        "The work on one micro-batch is that of GPipe. The last rank can go backward with a "
        "micro-batch as soon as it went forward with it. How many more must the rank before it "
        "have sent by then? And what happens where one rank sends an activation while its "
        "neighbor sends a gradient?",
        "A rank with d ranks after it goes forward min(d, micro_batches) times first. From then "
        "on: one forward, if one is left, then one backward. Two neighbors may now send to each "
        "other at the same time: dist.isend returns at once, and gives a message to wait for.",
        "Take forward(k) and backward(k) of GPipe, with dist.isend in place of dist.send, and keep "
        "each message with its tensor under k. First, for each k below ahead = min(last - rank, "
        "micro_batches), forward(k). Then for each k: forward(k + ahead) if there is such a "
        "micro-batch, and backward(k). Once the gradient of k has come, so has its y: wait() for "
        "that message and let go of it. Before you send x.grad of k, wait() for that of k - 1; "
        "and at the end for the last one. (is_completed() won't do: gloo says False until wait().)",
    ),
)


def observe(module, case):
    """On every rank: call the work on one stage, twice, and note what happens at the stage.

    case: the weights of all stages by name, vocab_size, and for each call (micro_batches, ids).
    """
    seen = _stages.run_calls(module.forward_backward, case)
    for one in seen.values():
        facts = one["_seen"]
        one["order"] = " ".join(f"{kind}{n}" for kind, n in facts["order"])
        one["activations kept"] = most = facts["kept"]
        one["kept for longer"] = ", ".join(
            kind for kind, alive in facts["alive"].items() if round(alive) > most + BESIDE
        )
        one["messages not waited for"] = len(facts["not waited for"])
    return seen


def cases(seed):
    """More micro-batches than stages, then fewer; nothing is thrown away between the two calls."""
    return _stages.cases(seed, calls=((6, 2, 6), (2, 3, 5)))


AHEAD = "min(last - rank, micro_batches)"
IN_1F1B = "a rank with d ranks after it goes forward d times before its first pair of F and B"
MUTANTS = {
    (AHEAD, "micro_batches"): "this is GPipe's order: on every rank all micro-batches go forward, "
    "then all go backward, and so all of them are kept; in 1F1B a rank goes backward as soon as it "
    "can",
    (AHEAD, "0"): "this is the naive order: on every rank each micro-batch comes back before the "
    "next goes forward, and the others wait; let last - rank micro-batches go ahead",
    (AHEAD, "min(last - rank + 1, micro_batches)"): "one micro-batch too many goes ahead: "
    f"{IN_1F1B}",
    (AHEAD, "min(max(last - rank - 1, 0), micro_batches)"): "one micro-batch too few goes ahead: "
    f"{IN_1F1B}",
    (" / micro_batches", ""): "every gradient is as many times too large as there are "
    "micro-batches: their losses were summed, and the batch's loss is their mean; divide each by "
    "micro_batches",
    (
        ("outputs.pop(k)", "outputs[k]"),
        ("backward(gradient)", "backward(gradient, retain_graph=True)"),
    ): "the order is right, and still the activations of all micro-batches are kept: let "
    "backward() free them (no retain_graph), and keep no other tensor of a micro-batch that has "
    "come back",
}


def explain(case, seen):
    """Name a wrong tensor, a message that nobody waits for, or what is kept for too long."""
    if sentence := _stages.explain(case, seen):
        return sentence
    for rank, one in ((rank, one) for rank, calls in enumerate(seen) for one in calls.values()):
        for name, peer, line in one["_seen"]["not waited for"]:
            way = "to" if name == "isend" else "from"
            return (
                f"nobody waits for the {name} of rank {rank} {way} rank {peer} in line {line}: "
                "keep what it returns and call its wait(); before that the message may not have "
                "left, and its tensor must neither change nor go"
            )
        if kinds := one["kept for longer"]:
            return (
                f"rank {rank} keeps the activations of {one['activations kept']} micro-batches at "
                f"one time, and other tensors of many more ({kinds}): after its backward let go of "
                "a micro-batch's x and y, and of a message and its tensor as soon as it must have "
                "arrived (wait() for it then, not for all of them at the end)"
            )
    return None


stopped, stuck = _stages.stopped, _stages.stuck
