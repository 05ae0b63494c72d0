"""What makes every other question pointless, and what is seen where no known mistake explains it.

Each function returns one sentence, or None where it doesn't hold. The first that holds is said.
"""

from collections.abc import Collection, Sequence

import torch

from helpers.oracle.compare import (
    TOLERANCES,
    Difference,
    Tensors,
    common_factor,
    is_zero,
    on_ranks,
    same,
)
from helpers.oracle.evidence import Evidence
from helpers.oracle.step import KINDS, Step
from helpers.words import many

SHORTER = {torch.float64: (torch.float32,), torch.float32: (torch.bfloat16, torch.float16)}

# --- names, shapes and weights to begin with -----------------------------------------------------


def other_names(e: Evidence) -> str | None:
    right = list(e.expected.before or e.expected.gradients)
    for rank, step in enumerate(e.ranks):
        held = list(step.before | step.gradients | step.after)
        missing = [name for name in right if name not in held]
        extra = [name for name in held if name not in right]
        if not held:
            return f"rank {rank} says nothing: its step has no weights and no gradients"
        if missing and len(missing) == len(right):
            return (
                f"no name{e.on(rank)} is a name of the one device's model: it says {right[0]!r}, "
                f"and the other side {held[0]!r}; rename the tensors first"
            )
        if missing:
            return (
                f"{missing[0]!r} is nowhere{e.on(rank)} ({len(missing)} of {len(right)} names "
                "missing): gather the parts of a model before they are judged"
            )
        if extra:
            return (
                f"the tensor {extra[0]!r}{e.on(rank)} is not in the one device's model: build both "
                "from the same model, with the same names"
            )
    return None


def other_shapes(e: Evidence) -> str | None:
    cures = {
        "shape": "join the shards of a tensor before it is compared",
        "dtype": "both sides must compute in the same dtype",
    }
    for kind, words in KINDS.items():
        for rank, found in e.differing[kind]:
            if found.kind in cures:
                what = f"the {words} of {found.name!r}{e.on(rank)} {found.text}"
                return f"{what}: {cures[found.kind]}"
    return None


def other_start(e: Evidence) -> str | None:
    found = e.differing["before"]
    if not found:
        return None
    wrong = sorted({rank for rank, _ in found})
    worst = max((d for _, d in found), key=lambda d: d.error)
    return (
        f"{_list(wrong)} {'starts' if len(wrong) == 1 else 'start'} from other weights than the "
        f"one device ({worst}), so nothing can be compared: set the same seed on every rank before "
        "the model is built, or broadcast rank 0's weights"
    )


def no_gradient_at_all(e: Evidence) -> str | None:
    ranks = [r for r, g in enumerate(e.gradients) if g and all(map(is_zero, g.values()))]
    if not ranks or not e.names or all(map(is_zero, e.expected.gradients.values())):
        return None
    where = "" if len(ranks) == e.n_ranks else f" on rank {', '.join(map(str, ranks))}"
    return (
        f"no parameter has a gradient{where}: call backward(), and take the snapshot before "
        "zero_grad() throws the gradients away"
    )


def broken_numbers(e: Evidence) -> str | None:
    for kind, words in KINDS.items():
        for rank, found in e.differing[kind]:
            if found.kind == "not finite":
                return (
                    f"the {words} of {found.name!r}{e.on(rank)} holds NaN or infinity: look for a "
                    "division by zero, or for a buffer that is read before it has arrived"
                )
    return None


PRECONDITIONS = (other_names, other_shapes, other_start, no_gradient_at_all, broken_numbers)

# --- what is seen in wrong gradients -------------------------------------------------------------


def some_ranks(e: Evidence) -> str | None:
    wrong = sorted({rank for rank, _ in e.wrong})
    right = [rank for rank in range(e.n_ranks) if rank not in wrong]
    if not wrong or not right:
        return None
    return (
        f"only some ranks are right: {_list(right)} {'has' if len(right) == 1 else 'have'} the "
        f"gradients of one device, {_list(wrong)} not; take all_reduce, not reduce, and let every "
        "rank do the same"
    )


def any_factor(e: Evidence) -> str | None:
    if e.times is None:
        return None
    ranks, micro = many(e.n_ranks, "rank"), many(e.n_micro, "micro-batch", "es")
    return (
        f"every gradient is {e.times:.4g} times what it should be, with {ranks} and {micro} each: "
        "look at every number that the loss and the gradients are divided by"
    )


def wrong_group(e: Evidence) -> str | None:
    if not e.wrong or not e.shares or e.n_ranks < 3 or e.counts is None:
        return None
    groups = []
    for row in e.counts.abs() > 1e-3:
        group = [r for r, share in enumerate(e.shares) if bool(row[list(share)].all())]
        if int(row.sum()) != sum(len(e.shares[rank]) for rank in group):
            return None
        groups.append(group)
    short = [rank for rank, group in enumerate(groups) if 1 < len(group) < e.n_ranks]
    if not short or not all(rank in group for rank, group in enumerate(groups)):
        return None
    return (
        f"the average goes over the wrong group: rank {short[0]} has that of "
        f"{_list(groups[short[0]])} alone, and {_list(list(range(e.n_ranks)))} hold the same "
        "weights; look at the group that the all_reduce is given"
    )


def counted_differently(e: Evidence) -> str | None:
    if not e.wrong or e.counts is None:
        return None
    rank = e.wrong[0][0]
    counts = e.counts[rank].tolist()
    alike = not bool((e.counts - e.counts[rank]).abs().gt(1e-3).any())
    usual = float(e.counts[rank].median())
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


def rounded(e: Evidence) -> str | None:
    if not e.wrong:
        return None
    dtype = e.expected.gradients[e.names[0]].dtype
    counts = {1, e.n_ranks, e.n_micro, e.n_ranks * e.n_micro}
    held = [
        torch.cat([g.flatten() for g in rank.values() if g is not None]) for rank in e.gradients
    ]
    for shorter in SHORTER.get(dtype, ()):
        near = all(same(e.expected.gradients, g, 2 * TOLERANCES[shorter]) for g in e.gradients)
        # The gradients, or a whole number of times them, are numbers of the shorter dtype.
        if near and all(any(_fits(g * n, shorter) for n in counts) for g in held):
            name, kept = (str(d).removeprefix("torch.") for d in (shorter, dtype))
            return (
                f"the gradients have the digits of {name} alone: they went through {name} on the "
                f"way; keep {kept} in buffers and messages"
            )
    return None


def _fits(g: torch.Tensor, dtype: torch.dtype) -> bool:
    allowed = 4 * torch.finfo(g.dtype).eps * g.abs()
    return dtype == torch.float32 or bool(((g.to(dtype).to(g.dtype) - g).abs() <= allowed).all())


# --- right gradients, wrong weights after the step -----------------------------------------------


def moved_by_a_factor(e: Evidence) -> str | None:
    if e.wrong or not e.wrong_weights or not all(rank.before for rank in e.ranks):
        return None
    right = on_ranks([_move(e.expected)] * e.n_ranks)
    factor = common_factor(right, on_ranks([_move(rank) for rank in e.ranks]), tolerance=1e-3)
    if not factor:
        return None
    return (
        f"the gradients are right, and every weight moved {factor:.4g} times as far as it should: "
        "look at the learning rate, and whether optimizer.step() is called once"
    )


def _move(step: Step) -> Tensors:
    names = [name for name in step.before if name in step.after]
    return {name: step.after[name].double() - step.before[name].double() for name in names}


def some_weights(e: Evidence) -> str | None:
    wrong = sorted({rank for rank, _ in e.wrong_weights})
    if e.wrong or not wrong or len(wrong) == e.n_ranks:
        return None
    return (
        "the gradients are right, and the weights after the step are not on rank "
        f"{', '.join(map(str, wrong))}: every rank must step, once, with the same optimizer"
    )


# --- the worst tensor, and where in the model it begins ------------------------------------------


def unknown(e: Evidence) -> str | None:
    """One sentence with the worst tensor's numbers; None where nothing differs."""

    def relative(pair: tuple[int, Difference]) -> float:
        return pair[1].error / pair[1].scale if pair[1].scale else float("inf")

    for names, words, found in (
        (e.names, "gradients", e.wrong),
        (list(e.expected.after), "weights after the step", e.wrong_weights),
    ):
        if found:
            rank, worst = max(found, key=relative)
            wrong = {difference.name for _, difference in found}
            where = f"; all are in {span(names, wrong)}" if len(wrong) < len(names) else ""
            return (
                f"no known mistake explains it: {len(wrong)} of {len(names)} {words} "
                f"differ{'s' if len(wrong) == 1 else ''}, most of all {worst.name!r}{e.on(rank)}, "
                f"which {worst.text}{where}"
            )
    return None


OTHERWISE = (
    some_ranks,
    any_factor,
    wrong_group,
    counted_differently,
    rounded,
    moved_by_a_factor,
    some_weights,
    unknown,
)


def span(names: Sequence[str], chosen: Collection[str]) -> str:
    """Return words for some of the tensors: "layers.0 to layers.3", or their names."""
    layers = list(dict.fromkeys(layer(name) for name in names))
    inside = list(dict.fromkeys(layer(name) for name in names if name in chosen))
    start = layers.index(inside[0])
    whole = all((name in chosen) == (layer(name) in inside) for name in names)
    if whole and layers[start : start + len(inside)] == inside:
        return inside[0] if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"
    shown = [name for name in names if name in chosen]
    return ", ".join(shown[:4]) + (", …" if len(shown) > 4 else "")


def layer(name: str) -> str:
    """Return the layer of a tensor: "layers.0" of "layers.0.weight", "head" of "head.bias"."""
    parts = name.split(".")
    numbers = [place for place, part in enumerate(parts[:-1]) if part.isdigit()]
    return ".".join(parts[: numbers[0] + 1]) if numbers else ".".join(parts[:-1]) or name


def _list(ranks: list[int]) -> str:
    words = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
    return f"rank {words}" if len(ranks) == 1 else f"ranks {words}"
