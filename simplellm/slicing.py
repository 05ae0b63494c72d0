"""One whole model, cut into pipeline stages that compute exactly what it computes."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from torch import nn

from simplellm.devices import pick
from simplellm.llama import LLamaFirstStage, LLamaLastStage, LLamaStage


def layer_counts(n_layers: int, n_stages: int | Sequence[int]) -> list[int]:
    """Return how many blocks each stage holds: layer_counts(7, 3) is [3, 2, 2]. A list is checked.

    Left-over blocks go to the first stages, because the last one also has the head.
    """
    if not isinstance(n_stages, int):
        if sum(n_stages) != n_layers:
            words = f"stages of {n_stages} layers do not add up to"
            raise ValueError(f"{words} the model's {n_layers} layers.")
        return list(n_stages)
    if n_layers < n_stages:
        words = f"{n_layers} layers cannot fill {n_stages} stages"
        raise ValueError(f"{words}: use at most {n_layers} stages, or a model with more layers.")
    share, left_over = divmod(n_layers, n_stages)
    return [share + (stage < left_over) for stage in range(n_stages)]


def slice_stages(model: nn.Module, n_stages: int | Sequence[int]) -> list[nn.Module]:
    count = len(layer_counts(model.config.n_layers, n_stages))
    return [slice_stage(model, stage, n_stages) for stage in range(count)]


def slice_stage(
    model: nn.Module,
    stage: int,
    n_stages: int | Sequence[int],
    device: str | torch.device | None = None,
) -> nn.Module:
    """Return one stage of a whole `LLama`, with copies of its weights: bit-identical logits.

    Args:
        stage: 0 (`LLamaFirstStage`) to the number of stages - 1 (`LLamaLastStage`).
        n_stages: the number of stages, or a list with the number of blocks of each.
        device: where the copy goes; None leaves it where the model is.

    One stage alone is first and last at once: it is a copy of the whole model, ids to logits.

    Tied weights (`shared=True`): the first and the last stage get a copy each. The copies stay
    equal as long as both are updated with the sum of their two gradients, which is the whole
    model's gradient; `stage.config.shared` says that this sum is needed.

    No random number is drawn. `whole_name` finds a stage's weight in the whole model.
    """
    counts = layer_counts(model.config.n_layers, n_stages)
    last = len(counts) - 1
    if not 0 <= stage <= last:
        raise ValueError(f"there is no stage {stage}: {last + 1} stages are numbered 0 to {last}.")
    if last == 0:
        return copy.deepcopy(model).to(pick(device or model.device))
    kind = {0: LLamaFirstStage, last: LLamaLastStage}.get(stage, LLamaStage)
    part = kind(replace(model.config, n_layers=counts[stage]), device="meta")
    part.first_layer = sum(counts[:stage])
    whole = model.state_dict()
    weights = {
        name: whole[whole_name(name, part.first_layer)].clone() for name in part.state_dict()
    }
    part.load_state_dict(weights, assign=True)
    return part.to(pick(device or model.device)).train(model.training)


def whole_name(name: str, first_layer: int = 0) -> str:
    """Return the name of a stage's weight in the whole model; the stage begins at `first_layer`.

    whole_name("layers.0.mlp.up_proj.weight", 2) is "model.layers.2.mlp.up_proj.weight".
    """
    if name.startswith("layers."):
        _, index, rest = name.split(".", 2)
        return f"model.layers.{int(index) + first_layer}.{rest}"
    ends = {"_embedding.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight"}
    return ends.get(name, name)


def whole_weights(stages: nn.Module | Iterable[nn.Module]) -> dict[str, torch.Tensor]:
    """Return the weights of one stage or of several by their names in the whole model."""
    found: dict[str, torch.Tensor] = {}
    for stage in [stages] if isinstance(stages, nn.Module) else stages:
        first = getattr(stage, "first_layer", 0)
        found |= {whole_name(name, first): w for name, w in stage.state_dict().items()}
    return found
