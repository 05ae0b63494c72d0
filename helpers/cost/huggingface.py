"""The sizes of a model from a Hugging Face config.json."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from helpers.cost.config import Latent, ModelConfig, MoE
from helpers.files import read_whole
from helpers.words import listed

KNOWN = ("llama", "gpt2", "mixtral", "deepseek_v3")


def read_config(source: str | Path | Mapping) -> ModelConfig:
    """Read the sizes from a Hugging Face config.json.

    source: the path of the file, or its content as a mapping.

    Raises:
        ValueError: if it is not a config.json, the architecture is unknown, or a field is missing
            or not a number.
    """
    where = "the config" if isinstance(source, Mapping) else str(source)
    fields = source if isinstance(source, Mapping) else _load(Path(source))
    family = fields.get("model_type")
    if not isinstance(family, str):
        raise ValueError(
            f"{where} has no field 'model_type', so it is no config.json of a model: give the "
            "file that lies beside the weights of a model on the Hugging Face hub"
        )
    if family not in KNOWN:
        raise ValueError(
            f"{where}: model_type is {family!r}, and the architectures known here are "
            f"{listed(map(repr, KNOWN))}"
        )
    if family == "gpt2":
        return _gpt2(fields, where)
    model = _llama(fields, where)
    if family == "mixtral":
        return replace(model, moe=_mixtral(fields, where, model.intermediate))
    return _deepseek(model, fields, where) if family == "deepseek_v3" else model


def _load(path: Path) -> Mapping:
    try:
        fields = json.loads(read_whole(path))
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): check the path") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is not JSON: give a model's config.json") from None
    if not isinstance(fields, dict):
        raise ValueError(f"{path} holds no JSON object: give a model's config.json")
    return fields


def _number(fields: Mapping, where: str, *names: str, default: int | None = None) -> int:
    """Return the first field that is present and not null; some files use another name."""
    for name in names:
        value = fields.get(name)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{where}: {name} is {value!r}: a whole number, 1 or more, is due")
            return value
    if default is None:
        raise ValueError(f"{where} lacks the field {names[0]!r}: add it, as the model has it")
    return default


def _width_of_head(hidden: int, heads: int, where: str) -> int:
    if hidden % heads:
        raise ValueError(f"{where}: hidden size {hidden} cannot be cut into {heads} heads")
    return hidden // heads


def _llama(fields: Mapping, where: str) -> ModelConfig:
    hidden = _number(fields, where, "hidden_size")
    heads = _number(fields, where, "num_attention_heads")
    given = fields.get("head_dim")
    return ModelConfig(
        family="llama",
        hidden=hidden,
        layers=_number(fields, where, "num_hidden_layers"),
        heads=heads,
        kv_heads=_number(fields, where, "num_key_value_heads", default=heads),
        head_size=_number(fields, where, "head_dim")
        if given is not None
        else _width_of_head(hidden, heads, where),
        intermediate=_number(fields, where, "intermediate_size"),
        vocabulary=_number(fields, where, "vocab_size"),
        positions=_number(
            fields, where, "max_position_embeddings", "max_sequence_length", default=2048
        ),
        tied=bool(fields.get("tie_word_embeddings", False)),
        attention_bias=bool(fields.get("attention_bias", False)),
        mlp_bias=bool(fields.get("mlp_bias", False)),
    )


def _mixtral(fields: Mapping, where: str, intermediate: int) -> MoE:
    """EP/configs/mixtral_8x7b.json has the sizes of its paper (arXiv 2401.04088, table 1)."""
    experts = _number(fields, where, "num_local_experts")
    return MoE(experts, _number(fields, where, "num_experts_per_tok"), intermediate)


def _deepseek(model: ModelConfig, fields: Mapping, where: str) -> ModelConfig:
    """Return the model with its experts and its latent attention, without the prediction module.

    EP/configs/deepseek_v3.json has the sizes of the paper (arXiv 2412.19437, section 4.2); what the
    paper leaves out (18,432 for a dense layer, the vocabulary) is from transformers'
    `DeepseekV3Config`, whose defaults are this model.
    """

    def number(name: str) -> int:  # these may be 0, or null
        return _number(fields, where, name) if fields.get(name) else 0

    moe = MoE(
        experts=_number(fields, where, "n_routed_experts"),
        chosen=_number(fields, where, "num_experts_per_tok"),
        intermediate=_number(fields, where, "moe_intermediate_size"),
        shared=number("n_shared_experts"),
        dense=number("first_k_dense_replace"),
        nodes=number("topk_group"),
    )
    latent = Latent(
        number("q_lora_rank"),
        *(
            _number(fields, where, name)
            for name in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        ),
    )
    return replace(model, moe=moe, latent=latent)


def _gpt2(fields: Mapping, where: str) -> ModelConfig:
    hidden = _number(fields, where, "n_embd", "hidden_size")
    heads = _number(fields, where, "n_head", "num_attention_heads")
    return ModelConfig(
        family="gpt2",
        hidden=hidden,
        layers=_number(fields, where, "n_layer", "num_hidden_layers"),
        heads=heads,
        kv_heads=heads,
        head_size=_width_of_head(hidden, heads, where),
        intermediate=_number(fields, where, "n_inner", default=4 * hidden),
        vocabulary=_number(fields, where, "vocab_size"),
        positions=_number(fields, where, "n_positions", "max_position_embeddings"),
        tied=bool(fields.get("tie_word_embeddings", True)),
    )
