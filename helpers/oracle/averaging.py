"""Was it the mean over the ranks? If not: which of the well-known mistakes was made?"""

from collections.abc import Mapping, Sequence

import torch

from helpers.oracle.compare import common_factor, differences, explain

Tensors = Mapping[str, torch.Tensor | None]
OPERATIONS = {"MAX": torch.amax, "MIN": torch.amin, "PRODUCT": torch.prod}


def averaging_mistake(
    before: Sequence[Tensors],
    after: Sequence[Tensors],
    what: str = "gradient",
    place: str = "p.grad",
) -> str | None:
    """None if `after` is the mean of `before` on every rank; else one sentence: the mistake.

    before, after: for each rank its tensors by name, in the model's order. A None takes no part;
    it must stay None, or be zeros.
    what, place: the words for one of the tensors, and for where the code keeps it.
    """
    ranks = len(before)
    none = [name for name, tensor in before[0].items() if tensor is None]
    for name in none:
        for tensors in after:
            if tensors.get(name) is not None and bool(tensors[name].any()):
                return (
                    f"the parameter {name!r} takes no part, and has a {what} now: look at how the "
                    "parts of the flat tensor find their way back to their parameters"
                )
    own = [{n: t for n, t in tensors.items() if t is not None} for tensors in before]
    actual = _flat([{n: t for n, t in tensors.items() if n not in none} for tensors in after])
    expected = _flat([_mean(own)] * ranks)
    found = differences(expected, actual)
    if not found:
        return None
    for difference in found:
        if difference.kind != "value":
            return (
                f"{difference}: after the call, {place} must be a tensor like the one before it, "
                "with the mean in it"
            )
    wrong = {difference.name for difference in found}
    return (
        explain(actual, _known(own, what, place))
        or _factor(expected, actual, ranks, what)
        or _some_ranks(own, wrong)
        or _some_tensors(own, wrong, actual, none, before, place)
        or _accuracy(expected, actual, what, place)
        or f"the {what}s are not the mean over the ranks. {found[0]} ({len(found)} of "
        f"{len(expected)} tensors differ)"
    )


def _known(own: Sequence[Tensors], what: str, place: str) -> dict[str, Tensors]:
    """Sentences, each with the tensors that this mistake gives on every rank."""
    ranks = len(own)
    total = {name: sum(tensors[name] for tensors in own) for name in own[0]}
    known = {
        f"the {what}s are the sum over the ranks, {ranks} times too large on {ranks} ranks: "
        "divide by world_size after the all_reduce": _flat([total] * ranks),
        f"the {what}s are divided twice: by world_size before the all_reduce and again after it; "
        "do it once": _flat([total] * ranks, ranks**-2),
        f"every rank still has its own {what}s: the mean was never written back into {place} "
        "(assigning to a loop variable changes no tensor; use copy_, or divide in place)": (
            _flat(own)
        ),
        f"every rank has its own {what}s divided by world_size: nothing was communicated, the "
        "all_reduce is missing": _flat(own, 1 / ranks),
    }
    for operation, reduce in OPERATIONS.items():
        folded = {name: reduce(torch.stack([t[name] for t in own]), 0) for name in own[0]}
        sentence = f"all_reduce took ReduceOp.{operation}: a mean needs ReduceOp.SUM"
        known[sentence] = _flat([folded] * ranks)
        known[f"{sentence}, then a division"] = _flat([folded] * ranks, 1 / ranks)
    return known


def _factor(expected: Tensors, actual: Tensors, ranks: int, what: str) -> str | None:
    factor = common_factor(expected, actual)
    if not factor:
        return None
    sentence = f"every {what} is {factor:.3g} times what it should be"
    if factor > 0:
        sentence += f": it looks divided by {ranks / factor:.3g}, where world_size is {ranks}"
    return sentence


def _some_ranks(own: Sequence[Tensors], wrong: set[str]) -> str | None:
    """Where some ranks are all right, and others are not."""
    right = [r for r, tensors in enumerate(own) if not any(_key(r, n) in wrong for n in tensors)]
    if not right:
        return None
    who = f"rank {right[0]} has" if len(right) == 1 else f"ranks {', '.join(map(str, right))} have"
    return (
        f"only {who} the mean, and every rank needs it: take all_reduce, not reduce, and let "
        "every rank do the same"
    )


def _some_tensors(
    own: Sequence[Tensors],
    wrong: set[str],
    actual: Tensors,
    none: Sequence[str],
    before: Sequence[Tensors],
    place: str,
) -> str | None:
    """Where some tensors are the mean on every rank, and the others were left as they were."""
    ranks = range(len(own))
    right = [name for name in own[0] if not any(_key(r, name) in wrong for r in ranks)]
    left = {_key(r, n): own[r][n] for r in ranks for n in own[0] if n not in right}
    if not right or differences(left, {key: actual[key] for key in left}):
        return None
    names = list(before[0])
    if right == names[:1]:
        return (
            "only the first parameter was averaged, the others were left as they were: look for a "
            "return or a break inside the loop"
        )
    if none and right == names[: names.index(none[0])]:
        return (
            f"the averaging stops at the first parameter whose {place} is None, and those after it "
            "were left as they were: go on with the next one (continue, not break or return)"
        )
    return f"only {', '.join(right)} were averaged, the other parameters were left as they were"


def _accuracy(expected: Tensors, actual: Tensors, what: str, place: str) -> str | None:
    """Where float64 went in, and came back with the digits of float32."""
    if differences(expected, actual, tolerance=1e-5):
        return None
    return f"float64 {what}s come back with float32's accuracy: keep the dtype of {place}"


def _mean(own: Sequence[Tensors]) -> Tensors:
    """As one device computes it."""
    return {
        name: (sum(t[name].double() for t in own) / len(own)).to(own[0][name].dtype)
        for name in own[0]
    }


def _flat(ranks: Sequence[Tensors], factor: float = 1.0) -> dict[str, torch.Tensor]:
    """The tensors of all ranks in one dict, times a factor."""
    return {
        _key(rank, name): tensor if tensor is None or factor == 1.0 else tensor * factor
        for rank, tensors in enumerate(ranks)
        for name, tensor in tensors.items()
    }


def _key(rank: int, name: str) -> str:
    return f"{name} on rank {rank}"
