"""Turn one model, the same on every rank, into this rank's part of it."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from helpers.parallel.collectives import size_of
from helpers.parallel.linear import ColumnParallelLinear, RowParallelLinear
from helpers.parallel.plan import Plan, PlanError, way_of
from helpers.parallel.vocabulary import VocabularyParallelEmbedding

KINDS = {
    "column": (nn.Linear, ColumnParallelLinear),
    "row": (nn.Linear, RowParallelLinear),
    "vocabulary": (nn.Embedding, VocabularyParallelEmbedding),
}


def cut(
    model: nn.Module,
    plan: Plan,
    group: Any = None,
    sequence: bool = False,
    heads: Sequence[int] = (),
) -> nn.Module:
    """Keep, in place, this rank's part of every module that the plan names; give the model.

    plan: {pattern of names: "column", "row" or "vocabulary"}; what it does not name stays whole.
    sequence: what lies between rows and columns is cut along the sequence: see
        `sequence_parallel`, which must be called after this.

    heads: numbers that the ranks must divide, such as the heads of attention (queries; keys), of
        which each rank has whole ones.

    Names of parameters stay. Tied weights that are cut alike stay tied. Make the optimizer after.
    Attention must find out its number of heads from the shapes: a rank has its part of the heads.

    Raises PlanError for a plan that fits no module, or one of another kind, and ValueError where
    the ranks do not divide a dimension.
    """
    ranks = size_of(group)
    require_heads(heads, ranks)
    ways = {name: way_of(name, plan) for name, _ in model.named_modules()}
    chosen = {name: way for name, way in ways.items() if way}
    if not chosen:
        raise PlanError(f"the plan names {', '.join(plan)}, and no module of this model fits")
    made: dict[int, nn.Parameter] = {}
    for name, way in chosen.items():
        whole, (kind, part) = model.get_submodule(name), KINDS[way]
        if not isinstance(whole, kind):
            raise PlanError(
                f"the plan cuts {name!r} by {way!r}, which is for {kind.__name__}, and it is a "
                f"{type(whole).__name__}"
            )
        original = id(whole.weight)
        try:
            module = part(whole, group) if way == "vocabulary" else part(whole, group, sequence)
        except ValueError as error:
            sizes = "x".join(map(str, whole.weight.shape))
            raise ValueError(
                f"{name} ({sizes}) cannot be cut among {ranks} ranks: {error}"
            ) from None
        module.weight = made.setdefault(original, module.weight)  # tied before, tied after
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, module)
    return model


def require_heads(heads: Sequence[int], ranks: int) -> None:
    """Raise ValueError unless each rank can have as many whole heads of attention as the others."""
    for number in heads:
        if number % ranks:
            raise ValueError(
                f"{number} heads cannot be divided among {ranks} ranks: each has whole heads, so "
                f"take a number of ranks that divides {number}"
            )
