"""What makes every other question pointless: other names, shapes, or weights to begin with."""

from helpers.oracle.case import Case
from helpers.oracle.tensors import is_zero

KINDS = {
    "before": "weight before the step",
    "gradients": "gradient",
    "after": "weight after the step",
}


def other_names(case: Case) -> str | None:
    for rank, step in enumerate(case.ranks):
        held = [name for name in step.before | step.gradients | step.after]
        right = list(case.expected.before or case.expected.gradients)
        if not held:
            return f"rank {rank} says nothing: its step has no weights and no gradients"
        missing = [name for name in right if name not in held]
        if not missing:
            extra = [name for name in held if name not in right]
            if extra:
                return (
                    f"the tensor {extra[0]!r}{case.on(rank)} is not in the one device's model: "
                    "both must be built from the same model, with the same names"
                )
            continue
        if len(missing) == len(right):
            return (
                f"no name{case.on(rank)} is a name of the one device's model: it says "
                f"{right[0]!r}, and the other side {held[0]!r}; rename the tensors first"
            )
        return (
            f"{missing[0]!r} is nowhere{case.on(rank)} ({len(missing)} of {len(right)} names are "
            "missing): a rank that holds a part of the model must be gathered with the others first"
        )
    return None


def other_shapes(case: Case) -> str | None:
    for kind, words in KINDS.items():
        for rank, found in case.differing(kind):
            if found.kind == "shape":
                return (
                    f"the {words} of {found.name!r}{case.on(rank)} {found.text}: join the shards "
                    "of a tensor before it is compared"
                )
            if found.kind == "dtype":
                return (
                    f"the {words} of {found.name!r}{case.on(rank)} {found.text}: both sides must "
                    "compute in the same dtype"
                )
    return None


def other_start(case: Case) -> str | None:
    found = case.differing("before")
    wrong = sorted({rank for rank, _ in found})
    if not found:
        return None
    worst = max((d for _, d in found), key=lambda d: d.error)
    if len(wrong) == case.n_ranks and not _ranks_disagree(case):
        return (
            f"the step starts from other weights than the one device's ({worst}): nothing can be "
            "compared; build both models with the same seed, or load the same weights into both"
        )
    return (
        f"the ranks start from different weights: {_these(wrong)} not the one device's ({worst}); "
        "set the same seed on every rank before the model is built, or broadcast rank 0's weights"
    )


def no_gradient_at_all(case: Case) -> str | None:
    ranks = [r for r, g in enumerate(case.gradients) if g and all(map(is_zero, g.values()))]
    if not ranks or not case.names or all(is_zero(g) for g in case.expected.gradients.values()):
        return None
    where = "" if len(ranks) == case.n_ranks else f" on rank {', '.join(map(str, ranks))}"
    return (
        f"no parameter has a gradient{where}: call backward(), and take the snapshot before "
        "zero_grad() throws the gradients away"
    )


def broken_numbers(case: Case) -> str | None:
    for kind, words in KINDS.items():
        for rank, found in case.differing(kind):
            if found.kind == "not finite":
                return (
                    f"the {words} of {found.name!r}{case.on(rank)} holds NaN or infinity: look "
                    "for a division by zero, or for a buffer that is read before it has arrived"
                )
    return None


def _ranks_disagree(case: Case) -> bool:
    first, *others = [rank.before for rank in case.ranks if rank.before]
    return any(not bool((first[n] == t).all()) for other in others for n, t in other.items())


def _these(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"those of rank {ranks[0]} are"
    return f"those of ranks {', '.join(map(str, ranks))} are"
