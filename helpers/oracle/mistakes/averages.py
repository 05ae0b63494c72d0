"""An average that was not taken, taken over the wrong things, or taken too early or too late."""

from helpers.oracle.case import Case
from helpers.oracle.tensors import combine, mean_of


def weights_averaged(case: Case) -> str | None:
    if not _weights_averaged(case):
        return None
    alike = "" if case.wrong_weights else " (as it did here)"
    return (
        "the weights were averaged where the gradients were meant: every rank stepped with its own "
        "gradients, and then took the mean of the weights; average p.grad before optimizer.step(). "
        f"Only plain SGD gives the same weights both ways{alike}"
    )


def _weights_averaged(case: Case) -> bool:
    if not case.wrong or not case.shares or case.n_ranks == 1 or not case.knows_weights:
        return False
    if not case.expected.make_optimizer:
        return False
    for own in case.owns:
        if case.each(own):
            each = [case.expected.update(gradients)[0] for gradients in own]
            return any(case.after_is([mean] * case.n_ranks) for mean in case.over_ranks(each))
    return False


def nothing_communicated(case: Case) -> str | None:
    if not case.wrong or not case.shares or case.n_ranks == 1 or _weights_averaged(case):
        return None
    if any(case.each(own) for own in case.owns):
        return (
            "every rank still has its own gradients: the average was never taken, or never written "
            "back into p.grad (assigning to a loop variable changes no tensor; use copy_, or "
            "divide in place)"
        )
    for own in case.owns:
        factor = case.factor(own)
        if factor is None:
            continue
        of = " divided by world_size" if abs(factor * case.n_ranks - 1) < 1e-4 else ""
        of = of or f" times {factor:.4g}"
        return (
            f"every rank has its own gradients{of}: nothing was communicated, or the result of the "
            "all_reduce was never written back into p.grad"
        )
    return None


def one_micro_batch(case: Case) -> str | None:
    if not case.wrong or not case.shares or min(map(len, case.shares)) < 2:
        return None
    for which, place in (("last", -1), ("first", 0)):
        one = [case.parts(rank)[place] for rank in range(case.n_ranks)]
        tokens = [case.weights(rank)[place] for rank in range(case.n_ranks)]
        for mean in (mean_of(one, tokens), mean_of(one)):
            if case.factor([mean] * case.n_ranks) is None:
                continue
            where = (
                "zero_grad() stands inside the loop over the micro-batches; call it once, before"
                if which == "last"
                else "the loop ends too early, or the later ones never reach backward()"
            )
            return f"only the {which} micro-batch of each rank counts: look whether {where}"
    return None


def zero_grad_forgotten(case: Case) -> str | None:
    if not case.wrong or case.previous is None:
        return None
    if not case.everywhere([combine([case.previous, case.expected.gradients], [1.0, 1.0])]):
        return None
    return (
        "every gradient is the sum of this step's and the step's before: zero_grad() was "
        "forgotten; call it once for each step, before the first backward()"
    )


def stale(case: Case) -> str | None:
    if not case.wrong or case.previous is None or not case.everywhere([case.previous]):
        return None
    return (
        "the gradients are those of the step before: a buffer is stale; wait for the message "
        "(work.wait()) and fill the buffer again before it is read"
    )


def token_counts_ignored(case: Case) -> str | None:
    if not case.wrong or not case.shares:
        return None
    micro = [mean_of([part.gradients for part in case.expected.parts])]
    micro += case.over_ranks(case.own_unweighted)
    ranks = case.over_ranks(case.own)[1:]
    if case.everywhere(ranks):
        what, counts = "ranks", [sum(case.weights(rank)) for rank in range(case.n_ranks)]
    elif case.everywhere(micro):
        what, counts = "micro-batches", case.tokens
    else:
        return None
    shown = ", ".join(map(str, counts[:6])) + (", …" if len(counts) > 6 else "")
    return (
        f"a mean of means: the {what} count alike, though they have {shown} tokens; weight each by "
        "its tokens: add up the losses of all tokens, and divide by the number of all tokens"
    )
