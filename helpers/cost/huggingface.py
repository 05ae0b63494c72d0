"""The sizes of a model from a Hugging Face config.json.

The four kinds that the lessons read (LLaMA, GPT-2, Mixtral, DeepSeek-V3) need nothing but the file,
unless they have biases of their own. Any other is built by `transformers` on the meta device, where
weights take no memory, and counted. If its matrices are those of the formulas here, they hold; if
not, it has its counts of parameters, and each formula refuses with one sentence that says why.
"""

import json
import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from helpers.cost.model import Latent, ModelConfig, MoE, held, is_size
from helpers.files import as_path, read_whole

OURS = ("llama", "gpt2", "mixtral", "deepseek_v3")
LARGEST = 10_000_000  # bytes; a config.json has some thousands
NAMES = {  # of each size, the names that files have for it; a GPT-2 has those with n_
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "intermediate": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "vocabulary": ("vocab_size",),
    "positions": ("max_position_embeddings", "max_sequence_length", "n_positions", "n_ctx"),
    "experts": ("num_local_experts", "n_routed_experts", "num_experts"),
    "chosen": ("num_experts_per_tok", "moe_topk"),
}


def read_config(source: str | Path | Mapping) -> ModelConfig:
    """Read the sizes of any decoder that the installed transformers can build.

    source: the path of a config.json, or its content as a mapping. Of a model that reads more than
    text, its decoder is counted. Raises ValueError, one sentence, for anything else.
    """
    where = "the config" if isinstance(source, Mapping) else str(source)
    fields = source if isinstance(source, Mapping) else _load(as_path(source))
    kind = fields.get("model_type")
    if not isinstance(kind, str):
        words = f"{where} has no field 'model_type', so it is no config.json of a model"
        cure = "give the file that lies beside the weights of a model on the Hugging Face hub"
        raise ValueError(f"{words}: {cure}")
    for size, names in NAMES.items():
        if size not in ("experts", "chosen"):  # 0 where there are none
            _number(fields, where, *names, default=1)
    kv_heads = _number(fields, where, "num_key_value_heads", default=1)
    if (heads := _number(fields, where, *NAMES["heads"], default=kv_heads)) % kv_heads:
        words = f"{heads} heads cannot share {kv_heads} heads of keys and values evenly"
        raise ValueError(f"{where}: {words}: give a divisor")
    plain = kind in OURS and not any(fields.get(f"{part}_bias") for part in ("attention", "mlp"))
    return _sizes(fields, where) if plain else _counted(fields, kind, where)


def _load(path: Path) -> Mapping:
    try:
        size = path.stat().st_size if path.is_file() else 0
        fields = json.loads(read_whole(path)) if size <= LARGEST else None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): check the path") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise ValueError(f"{path} is not JSON: give a model's config.json") from None
    if size > LARGEST:
        megabytes = f"{path} has {size / 1e6:,.0f} MB, and a config.json has a few kB"
        raise ValueError(f"{megabytes}: give the config, not the weights beside it")
    if not isinstance(fields, dict):
        raise ValueError(f"{path} holds no JSON object: give a model's config.json")
    return fields


def _number(fields: Mapping, where: str, *names: str, default: int | None = None) -> int:
    """Return the first field that is present and not null; some files use another name."""
    for name in names:
        value = fields.get(name)
        if value is not None and not is_size(value):
            raise ValueError(f"{where}: {name} is {value!r}: a whole number, 1 or more, is due")
        if value is not None:
            return value
    if default is None:
        raise ValueError(f"{where} lacks the field {names[0]!r}: add it, as the model has it")
    return default


def _sizes(fields: Mapping, where: str) -> ModelConfig:
    """Return what the fields say, of a model whose MLP is gated unless it is a GPT-2's."""
    plain = fields["model_type"] == "gpt2"

    def size(name: str, default: int | None = None) -> int:
        names = sorted(NAMES[name], key=lambda each: plain and not each.startswith("n_"))
        return _number(fields, where, *names, default=default)

    hidden, heads = size("hidden"), size("heads")
    if not fields.get("head_dim") and hidden % heads:
        raise ValueError(f"{where}: hidden size {hidden} cannot be cut into {heads} heads")
    model = ModelConfig(
        family="gpt2" if plain else "llama",
        hidden=hidden,
        layers=size("layers"),
        heads=heads,
        kv_heads=heads if plain else _number(fields, where, "num_key_value_heads", default=heads),
        head_size=_number(fields, where, "head_dim", default=max(1, hidden // heads)),
        intermediate=size("intermediate", 4 * hidden if plain else None),
        vocabulary=size("vocabulary"),
        positions=size("positions", None if plain else 2048),
        tied=bool(fields.get("tie_word_embeddings", plain)),
    )
    kind = fields["model_type"]
    if kind in OURS[2:] or any(fields.get(name) for name in NAMES["experts"]):
        model = replace(model, moe=_experts(fields, where, model))
    if kind == "deepseek_v3" or fields.get("kv_lora_rank"):
        names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        rank = _number(fields, where, "q_lora_rank", default=0) if fields.get("q_lora_rank") else 0
        latent = Latent(rank, *(_number(fields, where, name) for name in names))
        model = replace(model, latent=latent, kv_heads=heads)
    return model


def _experts(fields: Mapping, where: str, model: ModelConfig) -> MoE:
    """EP/configs has Mixtral's sizes (arXiv 2401.04088, table 1) and DeepSeek-V3's (arXiv
    2412.19437, section 4.2; what that leaves out is from transformers' `DeepseekV3Config`). The
    module that predicts a second token isn't counted."""
    deepseek = fields["model_type"] == "deepseek_v3"
    default = None if deepseek else model.intermediate
    width = _number(fields, where, "moe_intermediate_size", default=default)
    wide = fields.get("shared_expert_intermediate_size")
    return MoE(
        experts=_number(fields, where, *NAMES["experts"][deepseek:]),
        chosen=_number(fields, where, *NAMES["chosen"]),
        intermediate=width,
        shared=wide // width if wide else fields.get("n_shared_experts") or 0,
        dense=fields.get("first_k_dense_replace") or len(fields.get("mlp_only_layers") or []),
        nodes=(fields.get("topk_group") or 0) if (fields.get("n_group") or 1) > 1 else 0,
    )


# --- any other model, built by transformers ------------------------------------------------------


def _counted(fields: Mapping, kind: str, where: str) -> ModelConfig:
    """Return the model with its counts, and the sizes by which the formulas have its matrices."""
    import torch

    config = _config(fields, kind, where)
    with _telling(where, config.model_type), torch.device("meta"):
        from transformers import AutoModelForCausalLM

        net = AutoModelForCausalLM.from_config(config)
    filled = {"head_dim": None} | config.to_dict()
    words, head = net.get_input_embeddings().weight, net.get_output_embeddings()
    tied = head is None or head.weight is words
    chosen, experts = (
        next((filled[n] for n in NAMES[size] if filled.get(n)), 1) for size in ("chosen", "experts")
    )
    total = active = inside = tables = 0
    for name, parameter in net.named_parameters():
        size = parameter.numel()
        total += size
        active += size * chosen // experts if ".experts." in name else size
        if parameter.ndim > 1 and not name.endswith("bias"):
            layer = re.search(r"\.\d+\.", name)
            inside += size if layer else 0
            tables += 0 if layer else size
    tables -= words.numel() * (1 if tied else 2)
    known = {"counted": (total, active), "vocabulary": words.shape[0], "rotary": not tables}
    if tables > 0:
        known["positions"] = tables // words.shape[1]
    try:
        guess = replace(_sizes(filled | {"tie_word_embeddings": tied}, where), **known)
        why = f"its {inside:,} weights in the matrices of its layers fit no form here"
        for family in ("llama", "gpt2"):  # gated or not; and some know no shared heads
            for kv_heads in (guess.kv_heads, guess.heads):
                model = replace(guess, family=family, kv_heads=kv_heads)
                dense = model.layers - model.expert_layers
                layers = model.layers * held(model.attention()) + dense * held(model.mlp(True))
                if layers + model.expert_layers * held(model.mlp()) == inside:
                    return model
    except ValueError as error:  # it has no heads, say
        why, hidden = str(error), words.shape[1]
        guess = ModelConfig("llama", hidden, 1, 1, 1, hidden, 1, words.shape[0])
    note = f"{where}: of this {config.model_type} the parameters are counted, {total:,} in all"
    note += f" and {active:,} on a token, and nothing else: {why}"
    return replace(guess, counted=(total, active), note=note)


def _config(fields: Mapping, kind: str, where: str):
    """Return transformers' config, of the decoder inside it if it has one."""
    try:
        import transformers
        from transformers.models.auto import modeling_auto as auto
    except ImportError:
        words = f"{where}: a {kind} is counted by transformers, which isn't installed"
        raise ValueError(f"{words}: pip install transformers") from None
    unwanted = ("model_type", "auto_map", "quantization_config", "torch_dtype", "dtype")
    given = {name: value for name, value in fields.items() if name not in unwanted}
    if kind not in transformers.CONFIG_MAPPING:
        words = f"model_type is {kind!r}, which the installed transformers"
        words = f"{where}: {words} {transformers.__version__} cannot build"
        raise ValueError(f"{words}: update it, or give another model's config")
    with _telling(where, kind):
        config = transformers.AutoConfig.for_model(kind, **given).get_text_config(decoder=True)
    masked = config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if config.is_encoder_decoder or (masked and not getattr(config, "is_decoder", False)):
        what = "has an encoder, and costs are worked out for decoders"
    elif config.model_type not in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        what = f"doesn't predict the next token, says transformers {transformers.__version__}"
    else:
        return config
    raise ValueError(f"{where}: a {kind} {what}: give the config of a decoder")


@contextmanager
def _telling(where: str, kind: str):
    """What fails is one sentence, and warnings, which are about running a model, aren't shown."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    except Exception as error:  # of whatever kind: its fields fit no model
        said = re.sub(r"\s+", " ", str(error)).strip()[:200] or type(error).__name__
        raise ValueError(f"{where}: transformers cannot build this {kind}: {said}") from None
    finally:
        logging.set_verbosity(before)
