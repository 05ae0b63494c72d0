"""Every gradient is a number of times what it should be: sums for means, and divisions too many."""

from helpers.oracle.case import Case
from helpers.oracle.tensors import combine, scaled


def micro_batches_summed(case: Case) -> str | None:
    count = case.n_micro
    if not case.wrong or count == 1:
        return None
    alike = [scaled(g, count) for g in case.over_ranks(case.own_unweighted)]
    if not case.is_times(count) and not case.everywhere(alike):
        return None
    return (
        f"every gradient is {count} times too large: the gradients of {count} micro-batches were "
        "summed, not averaged; divide each micro-batch's loss by their number before backward()"
    )


def ranks_summed(case: Case) -> str | None:
    count = case.n_ranks
    if not case.wrong or count == 1:
        return None
    each = [case.own, case.own_unweighted] if case.shares else []
    if not case.is_times(count) and not case.everywhere(combine(g, [1.0] * count) for g in each):
        return None
    return (
        f"every gradient is {count} times too large: the gradients of {count} ranks were summed, "
        "not averaged; divide by world_size after the all_reduce"
    )


def both_summed(case: Case) -> str | None:
    ranks, micro = case.n_ranks, case.n_micro
    if not case.wrong or ranks == 1 or micro == 1:
        return None
    parts = [part.gradients for part in case.expected.parts]
    if not case.is_times(ranks * micro) and not case.everywhere(
        [combine(parts, [1.0] * len(parts))]
    ):
        return None
    return (
        f"every gradient is {ranks * micro} times too large: those of {micro} micro-batches were "
        f"summed, and those of {ranks} ranks too; divide the loss of each micro-batch by {micro}, "
        "and the all_reduce's result by world_size"
    )


def tokens_summed(case: Case) -> str | None:
    total = sum(case.tokens)
    if total <= len(case.tokens):
        return None
    divisors = {1, case.n_ranks, case.n_micro, len(case.tokens)}
    if not case.is_times(*(total / divisor for divisor in divisors)):
        return None
    return (
        f"every gradient is {case.times:.4g} times too large: the loss is a sum over tokens "
        f"({total} in all), not their mean; look at the reduction of the loss, or divide by the "
        "number of tokens"
    )


def divided_twice(case: Case) -> str | None:
    causes = {
        case.n_ranks: f"the {case.n_ranks} ranks: divide by world_size once, before the "
        "all_reduce or after it",
        case.n_micro: f"the {case.n_micro} micro-batches: divide the loss of each by their number, "
        "and the gradient no more",
        case.n_ranks * case.n_micro: f"the {case.n_ranks} ranks and the {case.n_micro} "
        "micro-batches: divide once for each",
    }
    for count, words in causes.items():
        if count > 1 and case.is_times(1 / count):
            return f"every gradient is {count} times too small: it was divided twice for {words}"
    return None


def any_factor(case: Case) -> str | None:
    if case.times is None:
        return None
    return (
        f"every gradient is {case.times:.4g} times what it should be, with {case.n_ranks} ranks "
        f"and {case.n_micro} micro-batches each: look at every number that the loss and the "
        "gradients are divided by"
    )
