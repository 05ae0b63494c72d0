"""How each module of a model is cut, by its name: cut one model into parts, and join them again."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from helpers.parallel.layers import (
    ColumnParallelLinear,
    RowParallelLinear,
    VocabularyParallelEmbedding,
)
from helpers.parallel.operators import size_of

Plan = Mapping[str, str]
# A LLaMA with Hugging Face's names, or a stage of one: attention is cut by heads, the feed-forward
# network by hidden features, embedding and head by the vocabulary.
LLAMA = {
    "*.[qkv]_proj": "column",
    "*.o_proj": "row",
    "*.gate_proj": "column",
    "*.up_proj": "column",
    "*.down_proj": "row",
    "*embed_tokens": "vocabulary",
    "*_embedding": "vocabulary",
    "*lm_head": "column",
}
# For each way: what it cuts, into what, and the dimension of torch's weight and bias (None: whole).
WAYS = {
    "column": (nn.Linear, ColumnParallelLinear, {"weight": 0, "bias": 0}),
    "row": (nn.Linear, RowParallelLinear, {"weight": 1}),
    "vocabulary": (nn.Embedding, VocabularyParallelEmbedding, {"weight": 0}),
}


class PlanError(ValueError):
    """The plan does not fit the model; the message says which name, and what to do."""


def way_of(name: str, plan: Plan) -> str | None:
    """Return how the module `name` is cut, by the first matching pattern; None: not at all.

    Patterns are those of a shell: "*.q_proj" matches "layers.0.self_attn.q_proj".
    """
    way = next((way for pattern, way in plan.items() if fnmatchcase(name, pattern)), None)
    if way is not None and way not in WAYS:
        raise PlanError(f"the plan cuts {name!r} by {way!r}: choose one of {', '.join(WAYS)}")
    return way


def cut_dimension(name: str, plan: Plan) -> int | None:
    """Return the dimension in which the tensor `name` ("lm_head.weight") is cut; None: whole."""
    module, _, kind = name.rpartition(".")
    way = way_of(module, plan)
    return WAYS[way][2].get(kind) if way else None


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
    made: dict[int, nn.Parameter] = {}
    for name, way in chosen.items():
        owner, _, last = name.rpartition(".")
        parent, (kind, part, _) = model.get_submodule(owner), WAYS[way]
        whole = getattr(parent, last)
        if dropped := getattr(parent, "dropout_prob", 0) if ranks > 1 else 0:
            raise ValueError(
                f"{owner} has dropout_prob={dropped}, and ranks of one seed would draw the same "
                "mask for different heads: cut a model with dropout_prob=0"
            )
        if not isinstance(whole, kind):
            raise PlanError(
                f"the plan cuts {name!r} by {way!r}, which is for {kind.__name__}, not "
                f"for {type(whole).__name__}"
            )
        try:
            module = part(whole, group) if way == "vocabulary" else part(whole, group, sequence)
        except ValueError as error:
            sizes = "x".join(map(str, whole.weight.shape))
            raise ValueError(
                f"{name} ({sizes}) cannot be cut among {ranks} ranks: {error}"
            ) from None
        module.weight = made.setdefault(id(whole.weight), module.weight)  # tied before, tied after
        setattr(parent, last, module)
    return model


def require_heads(heads: Sequence[int], ranks: int) -> None:
    """Raise ValueError unless every rank can hold the same number of whole attention heads."""
    for number in heads:
        if number % ranks:
            raise ValueError(
                f"{number} heads cannot be divided among {ranks} ranks: each has whole heads, so "
                f"choose a number of ranks that divides {number}"
            )


def join(parts: Sequence[Mapping[str, torch.Tensor | None]], plan: Plan) -> dict:
    """Return the whole model's tensors, joined from those of all ranks of a group.

    parts: each rank's tensors by name (a state dict, or gradients), in the order of the ranks. A
    tensor that is not cut is taken from rank 0.
    """
    whole = {}
    for name, first in parts[0].items():
        dim = cut_dimension(name, plan)
        cut = dim is not None and first is not None
        whole[name] = torch.cat([part[name] for part in parts], dim) if cut else first
    return whole
