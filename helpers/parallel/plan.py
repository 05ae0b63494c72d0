"""How each module of a model is cut, by its name; and the whole tensors back from the parts."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import torch

Plan = Mapping[str, str]
# A LLaMA with the names of Hugging Face's, or a stage of it: attention by heads, feed-forward by
# hidden features, embedding and head by the vocabulary.
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
# Of each way the dimension of torch's weight that is cut, and that of the bias (None: whole).
DIMENSIONS = {"column": (0, 0), "row": (1, None), "vocabulary": (0, None)}


class PlanError(ValueError):
    """The plan does not fit the model; one sentence says which name, and what to do."""


def way_of(name: str, plan: Plan) -> str | None:
    """How the module `name` is cut, by the first pattern that fits it; None: not at all.

    Patterns are those of a shell: "*.q_proj" fits "layers.0.self_attn.q_proj".
    """
    way = next((way for pattern, way in plan.items() if fnmatchcase(name, pattern)), None)
    if way is not None and way not in DIMENSIONS:
        raise PlanError(
            f"the plan cuts {name!r} by {way!r}: choose one of {', '.join(map(repr, DIMENSIONS))}"
        )
    return way


def cut_dimension(name: str, plan: Plan) -> int | None:
    """The dimension along which the tensor `name` ("lm_head.weight") is cut; None: it is whole."""
    module, _, kind = name.rpartition(".")
    way = way_of(module, plan)
    if way is None or kind not in ("weight", "bias"):
        return None
    return DIMENSIONS[way][kind == "bias"]


def join(
    parts: Sequence[Mapping[str, torch.Tensor | None]], plan: Plan
) -> dict[str, torch.Tensor | None]:
    """The whole model's tensors from those of all ranks of a group, in the order of the ranks.

    parts: of each rank its tensors by name: a state dict, gradients. A tensor that is not cut is
    taken from rank 0. Raises ValueError where the ranks have different names.
    """
    if len({frozenset(part) for part in parts}) != 1:
        raise ValueError("the ranks hold different names: give the parts of one model")
    whole = {}
    for name, first in parts[0].items():
        dim = cut_dimension(name, plan)
        if dim is None or first is None:
            whole[name] = first
        else:
            whole[name] = torch.cat([part[name] for part in parts], dim)
    return whole
