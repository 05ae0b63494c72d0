"""The mistakes that the oracle knows, in the order in which they are tried.

Each is one function: it gets a `Case` and gives one sentence, or None where the facts are not what
the mistake would give. To add one, write the function and put it into its list.
"""

from collections.abc import Callable

from helpers.oracle.case import Case
from helpers.oracle.mistakes.averages import (
    nothing_communicated,
    one_micro_batch,
    stale,
    token_counts_ignored,
    weights_averaged,
    zero_grad_forgotten,
)
from helpers.oracle.mistakes.factors import (
    any_factor,
    both_summed,
    divided_twice,
    micro_batches_summed,
    ranks_summed,
    tokens_summed,
)
from helpers.oracle.mistakes.foundations import (
    broken_numbers,
    no_gradient_at_all,
    other_names,
    other_shapes,
    other_start,
)
from helpers.oracle.mistakes.some import (
    counted_differently,
    frozen,
    layer_without_gradient,
    rounded,
    some_ranks,
    wrong_group,
)
from helpers.oracle.mistakes.tied import tied_not_added, tied_twice
from helpers.oracle.mistakes.unknown import span, unknown
from helpers.oracle.mistakes.weights import (
    moved_by_a_factor,
    never_stepped,
    some_weights,
    stepped_first,
)

Find = Callable[[Case], str | None]

# Where one of these holds, nothing else can be asked.
FOUNDATIONS: tuple[Find, ...] = (
    other_names,
    other_shapes,
    other_start,
    no_gradient_at_all,
    broken_numbers,
)
# The simplest first. All are tried: where several explain the facts, all are said.
MISTAKES: tuple[Find, ...] = (
    frozen,
    micro_batches_summed,
    ranks_summed,
    both_summed,
    tokens_summed,
    divided_twice,
    weights_averaged,
    nothing_communicated,
    one_micro_batch,
    zero_grad_forgotten,
    stale,
    token_counts_ignored,
    tied_not_added,
    tied_twice,
    layer_without_gradient,
    never_stepped,
    stepped_first,
)
# What is seen, where no mistake above explains it. The first that holds is said.
OTHERWISE: tuple[Find, ...] = (
    some_ranks,
    any_factor,
    wrong_group,
    counted_differently,
    rounded,
    moved_by_a_factor,
    some_weights,
    unknown,
)
# What may also have happened to the gradients of some layers alone. Where one of these happened to
# all gradients, any two of them show it.
ON_A_PART: tuple[Find, ...] = (
    micro_batches_summed,
    ranks_summed,
    both_summed,
    divided_twice,
    nothing_communicated,
    one_micro_batch,
    zero_grad_forgotten,
    stale,
    token_counts_ignored,
    any_factor,
)


def name_mistakes(case: Case) -> list[str]:
    """The sentences that explain what differs, the simplest first; [] where nothing differs."""
    for find in FOUNDATIONS:
        if sentence := find(case):
            return [sentence]
    found = _tried(MISTAKES, case)
    if found or (found := _on_a_part(case)):
        return found
    return next(([sentence] for find in OTHERWISE if (sentence := find(case))), [])


def _on_a_part(case: Case) -> list[str]:
    """The mistakes that explain the wrong tensors, where all others are right on every rank."""
    names = [name for name in case.names if name in case.wrong_names]
    if not names or len(names) == len(case.names):
        return []
    found = _tried(ON_A_PART, case.only(names))
    return [f"only in {span(case.names, names)}, and all else is right: {s}" for s in found]


def _tried(mistakes: tuple[Find, ...], case: Case) -> list[str]:
    """The sentences of those that hold. A large model is looked at whole only where it may help."""
    likely = [find for find in mistakes if find not in ON_A_PART or find(case.probe)]
    return [sentence for find in likely if (sentence := find(case))]
