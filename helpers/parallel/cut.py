"""Turn a model, identical on every rank, into this rank's part of it."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from helpers.parallel.layers import (
    ColumnParallelLinear,
    RowParallelLinear,
    VocabularyParallelEmbedding,
)
from helpers.parallel.operators import size_of
from helpers.parallel.plan import Plan, PlanError, way_of

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
    """Replace, in place, every module that the plan names by this rank's part; return the model.

    plan: {pattern of names: "column", "row" or "vocabulary"}; what it does not name stays whole.
    sequence: cut the activations between rows and columns along the sequence; then call
        `sequence_parallel` too.
    heads: numbers that the number of ranks must divide, such as those of query and key heads,
        because each rank holds whole heads.

    Parameter names stay, and tied weights that are cut alike stay tied. Create the optimizer
    afterwards. Attention must derive its number of heads from the shapes, because a rank holds
    only some of the heads.

    Dropout: ranks of one seed draw one mask. That is right for what all of them have, and wrong for
    parts, of heads or of the sequence: Megatron-LM gives each rank a generator of its own there.

    Raises:
        PlanError: if the plan matches no module, or one of another kind.
        ValueError: if the number of ranks does not divide a dimension, or if a module of which
            parts are cut has a `dropout_prob` above 0.
    """
    ranks = size_of(group)
    require_heads(heads, ranks)
    ways = {name: way_of(name, plan) for name, _ in model.named_modules()}
    chosen = {name: way for name, way in ways.items() if way}
    if not chosen:
        raise PlanError(f"the plan names {', '.join(plan)}, and no module of this model fits")
    for name in chosen if ranks > 1 else ():
        owner = name.rpartition(".")[0]
        if dropped := getattr(model.get_submodule(owner), "dropout_prob", 0):
            raise ValueError(
                f"{owner} has dropout_prob={dropped}, and ranks of one seed would draw the same "
                "mask for different heads: cut a model with dropout_prob=0"
            )
    made: dict[int, nn.Parameter] = {}
    for name, way in chosen.items():
        whole, (kind, part) = model.get_submodule(name), KINDS[way]
        if not isinstance(whole, kind):
            raise PlanError(
                f"the plan cuts {name!r} by {way!r}, which is for {kind.__name__}, not "
                f"for {type(whole).__name__}"
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
    """Raise ValueError unless every rank can hold the same number of whole attention heads."""
    for number in heads:
        if number % ranks:
            raise ValueError(
                f"{number} heads cannot be divided among {ranks} ranks: each has whole heads, so "
                f"choose a number of ranks that divides {number}"
            )
