"""How each module of a model is cut, by its name, and how to join the parts again."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import torch

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
# For each way, the dimension in which torch's weight is cut, and the bias (None: whole).
DIMENSIONS = {"column": (0, 0), "row": (1, None), "vocabulary": (0, None)}


class PlanError(ValueError):
    """The plan does not fit the model; the message says which name, and what to do."""


def way_of(name: str, plan: Plan) -> str | None:
    """Return how the module `name` is cut, by the first matching pattern; None: not at all.

    Patterns are those of a shell: "*.q_proj" matches "layers.0.self_attn.q_proj".
    """
    way = next((way for pattern, way in plan.items() if fnmatchcase(name, pattern)), None)
    if way is not None and way not in DIMENSIONS:
        raise PlanError(
            f"the plan cuts {name!r} by {way!r}: choose one of {', '.join(map(repr, DIMENSIONS))}"
        )
    return way


def cut_dimension(name: str, plan: Plan) -> int | None:
    """Return the dimension in which the tensor `name` ("lm_head.weight") is cut; None: whole."""
    module, _, kind = name.rpartition(".")
    way = way_of(module, plan)
    if way is None or kind not in ("weight", "bias"):
        return None
    return DIMENSIONS[way][kind == "bias"]


def join(parts: Sequence[Mapping[str, torch.Tensor | None]], plan: Plan) -> dict:
    """Return the whole model's tensors, joined from those of all ranks of a group.

    parts: each rank's tensors by name (a state dict, or gradients), in the order of the ranks. A
    tensor that is not cut is taken from rank 0. Raises ValueError for ranks with different names.
    """
    if len({frozenset(part) for part in parts}) != 1:
        raise ValueError("the ranks hold different names: give the parts of one model")
    whole = {}
    for name, first in parts[0].items():
        dim = cut_dimension(name, plan)
        cut = dim is not None and first is not None
        whole[name] = torch.cat([part[name] for part in parts], dim) if cut else first
    return whole
