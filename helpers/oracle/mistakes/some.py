"""Some tensors, some ranks, some micro-batches or some digits are right, and the others are not."""

import torch

from helpers.oracle.case import Case
from helpers.oracle.compare import TOLERANCES, distance, same
from helpers.oracle.counts import micro_batch_counts
from helpers.oracle.tensors import combine, is_zero

SHORTER = {torch.float64: (torch.float32,), torch.float32: (torch.float16, torch.bfloat16)}


def frozen(case: Case) -> str | None:
    expected = case.expected
    for rank, step in enumerate(case.ranks):
        for name in (n for n, g in expected.gradients.items() if g is None):
            moved = 0.0
            if name in expected.after and step.after.get(name) is not None:
                moved = distance(expected.after[name], step.after[name])[0]
            gradient = not is_zero(step.gradients.get(name))
            if moved == 0.0 and not gradient:
                continue
            did = f"moved by up to {moved:.3g}" if moved else "has a gradient"
            cause = (
                "a gradient was written to it: look at how the parts of a flat tensor find their "
                "way back to their parameters, and set requires_grad to False"
                if gradient
                else "leave it out of the optimizer, and out of every average of weights"
            )
            return f"the frozen parameter {name!r} {did}{case.on(rank)}: {cause}"
    return None


def layer_without_gradient(case: Case) -> str | None:
    names = case.wrong_names
    if not names or not names < set(case.names):
        return None
    if not all(is_zero(g.get(name)) for g in case.gradients for name in names):
        return None
    order = [name for name in case.names if name in names]
    if order == case.names[: len(order)]:
        return (
            f"the backward stops before {case.names[len(order)]!r} is passed on: {order[-1]!r} and "
            "all before it got no gradient; look whether the gradient of the activations is sent "
            "back, and for a detach() or no_grad() there"
        )
    shown = ", ".join(order[:3]) + (", …" if len(order) > 3 else "")
    return (
        f"no gradient for {shown}, and every other is right: look for a detach() or no_grad() "
        "around that layer, or for a parameter that the averaging leaves out"
    )


def some_ranks(case: Case) -> str | None:
    wrong = sorted({rank for rank, _ in case.wrong})
    right = [rank for rank in range(case.n_ranks) if rank not in wrong]
    if not wrong or not right:
        return None
    has = "has" if len(right) == 1 else "have"
    return (
        f"only some ranks are right: {_list(right)} {has} the gradients of one device, "
        f"{_list(wrong)} not; take all_reduce, not reduce, and let every rank do the same"
    )


def wrong_group(case: Case) -> str | None:
    if not case.wrong or not case.shares or case.n_ranks < 3:
        return None
    counts = micro_batch_counts(case)
    if counts is None:
        return None
    groups = []
    for row in counts.abs() > 1e-3:
        group = [r for r, share in enumerate(case.shares) if bool(row[list(share)].all())]
        if int(row.sum()) != sum(len(case.shares[rank]) for rank in group):
            return None
        groups.append(group)
    short = [rank for rank, group in enumerate(groups) if 1 < len(group) < case.n_ranks]
    if not short or not all(rank in group for rank, group in enumerate(groups)):
        return None
    rank = short[0]
    return (
        f"the average goes over the wrong group: rank {rank} has that of {_list(groups[rank])} "
        f"alone, and {_list(list(range(case.n_ranks)))} hold the same weights; look at the group "
        "that the all_reduce is given"
    )


def counted_differently(case: Case) -> str | None:
    """Read off the facts how often each micro-batch counts."""
    every = micro_batch_counts(case) if case.wrong else None
    if every is None:
        return None
    rank = case.wrong[0][0]
    counts = every[rank].tolist()
    alike = not bool((every - every[rank]).abs().gt(1e-3).any())
    usual = float(every[rank].median())
    odd = [number for number, count in enumerate(counts) if abs(count - usual) > 1e-3]
    if alike and len(odd) == 1 and abs(counts[odd[0]]) < 1e-3:
        return (
            f"micro-batch {odd[0]} is left out: its gradient is in no rank's; look at where the "
            "loop over the micro-batches begins and ends"
        )
    shown = ", ".join(f"{0 if abs(count) < 1e-3 else count:.3g}" for count in counts[:12])
    shown += ", …" if len(counts) > 12 else ""
    where = "" if alike else f" in the gradients of rank {rank}"
    return (
        f"the micro-batches count {shown} times{where}, where each should count once: look for "
        "one that is left out or used twice, and at the weight of each"
    )


def rounded(case: Case) -> str | None:
    if not case.wrong:
        return None
    dtype = case.expected.gradients[case.names[0]].dtype
    for shorter in SHORTER.get(dtype, ()):
        if any(
            not same(case.expected.gradients, gradients, 2 * TOLERANCES[shorter])
            for gradients in case.gradients
        ):
            continue
        name = str(shorter).removeprefix("torch.")
        if all(_fits(case, g, shorter) for g in case.gradients) or dtype == torch.float64:
            return (
                f"the gradients have the digits of {name} alone: they went through {name} on the "
                f"way; keep {str(dtype).removeprefix('torch.')} in buffers and messages"
            )
    return None


def _fits(case: Case, gradients: dict, dtype: torch.dtype) -> bool:
    """Whether the gradients, or a whole number of times them, are numbers of the shorter dtype."""
    for count in {1, case.n_ranks, case.n_micro, case.n_ranks * case.n_micro}:
        held = combine([{n: g for n, g in gradients.items() if g is not None}], [count])
        if all(
            bool(
                (
                    (g.to(dtype).to(g.dtype) - g).abs() <= 4 * torch.finfo(g.dtype).eps * g.abs()
                ).all()
            )
            for g in held.values()
        ):
            return True
    return False


def _list(ranks: list[int]) -> str:
    words = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
    return f"rank {words}" if len(ranks) == 1 else f"ranks {words}"
