"""The sizes of a model from a Hugging Face config.json.

The four kinds that the lessons read (LLaMA, GPT-2, Mixtral, DeepSeek-V3) need nothing but the file.
Any other is built by `transformers` on the meta device, where weights take no memory, and counted.
Where its matrices are those of the formulas here, the formulas hold; where they aren't, it has
its counts of parameters, and each formula refuses with one sentence that says why.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.cost.config import Latent, ModelConfig, MoE
from helpers.cost.parameters import parameters
from helpers.files import as_path, read_whole

OURS = ("llama", "gpt2", "mixtral", "deepseek_v3")
LARGEST = 10_000_000  # bytes; a config.json has some thousands
NAMES = {  # of each size, the names that files have for it
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "intermediate": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "vocabulary": ("vocab_size",),
    "positions": ("max_position_embeddings", "max_sequence_length", "n_positions", "n_ctx"),
    "experts": ("num_local_experts", "n_routed_experts", "num_experts"),
    "chosen": ("num_experts_per_tok", "moe_topk"),
}
GPT2 = {"hidden": "n_embd", "layers": "n_layer", "heads": "n_head", "positions": "n_positions"}
GPT2 |= {"intermediate": "n_inner"}


def read_config(source: str | Path | Mapping) -> ModelConfig:
    """Read the sizes of any decoder that the installed transformers can build.

    source: the path of a config.json, or its content as a mapping. Of a model that reads more than
    text, its decoder is counted.

    Raises:
        ValueError: if it is not a config.json of a decoder, or a size is missing or no number.
    """
    where = "the config" if isinstance(source, Mapping) else str(source)
    fields = source if isinstance(source, Mapping) else _load(as_path(source))
    kind = fields.get("model_type")
    if not isinstance(kind, str):
        raise ValueError(
            f"{where} has no field 'model_type', so it is no config.json of a model: give the "
            "file that lies beside the weights of a model on the Hugging Face hub"
        )
    for size, names in NAMES.items():
        if size not in ("experts", "chosen"):  # 0 where there are none
            _number(fields, where, *names, default=1)
    return _sizes(fields, where) if kind in OURS else _counted(fields, kind, where)


def _load(path: Path) -> Mapping:
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            raise ValueError(
                f"{path} has {path.stat().st_size / 1e6:,.0f} MB, and a config.json has a few kB: "
                "give the config, not the weights beside it"
            )
        fields = json.loads(read_whole(path))
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): check the path") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
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


def _sizes(fields: Mapping, where: str) -> ModelConfig:
    """Return what the fields say, of a model whose MLP is gated unless it is a GPT-2's."""
    plain = fields["model_type"] == "gpt2"

    def size(name: str, default: int | None = None) -> int:
        own = (GPT2[name],) if plain and name in GPT2 else ()
        return _number(fields, where, *own, *NAMES[name], default=default)

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
        attention_bias=bool(fields.get("attention_bias", False)),
        mlp_bias=bool(fields.get("mlp_bias", False)),
    )
    mixed = any(fields.get(name) for name in NAMES["experts"])
    if mixed or fields["model_type"] in OURS[2:]:
        model = replace(model, moe=_experts(fields, where, model))
    if fields.get("kv_lora_rank") or fields["model_type"] == "deepseek_v3":
        names = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
        widths = (_number(fields, where, name) for name in names)
        rank = _number(fields, where, "q_lora_rank", default=0) if fields.get("q_lora_rank") else 0
        latent = Latent(rank, *widths)
        model = replace(model, latent=latent, kv_heads=heads, attention_bias=False)
    return model


def _experts(fields: Mapping, where: str, model: ModelConfig) -> MoE:
    """EP/configs has Mixtral's sizes (arXiv 2401.04088, table 1) and DeepSeek-V3's (arXiv
    2412.19437, section 4.2; what that leaves out is from transformers' `DeepseekV3Config`). The
    module that predicts a second token isn't counted."""
    deepseek = fields["model_type"] == "deepseek_v3"
    default = None if deepseek else model.intermediate
    width = _number(fields, where, "moe_intermediate_size", default=default)
    names = NAMES["experts"][1:] if deepseek else NAMES["experts"]
    shared = fields.get("n_shared_experts") or 0
    if wide := fields.get("shared_expert_intermediate_size"):
        shared = wide // width
    plain = fields.get("mlp_only_layers") or []
    return MoE(
        experts=_number(fields, where, *names),
        chosen=_number(fields, where, *NAMES["chosen"]),
        intermediate=width,
        shared=shared,
        dense=fields.get("first_k_dense_replace") or len(plain),
        nodes=(fields.get("topk_group") or 0) if (fields.get("n_group") or 1) > 1 else 0,
    )


# --- any other model, built by transformers ------------------------------------------------------


def _counted(fields: Mapping, kind: str, where: str) -> ModelConfig:
    config = _config(fields, kind, where)
    found = _count(_built(config, where), config)
    filled = {"head_dim": None} | config.to_dict()
    try:
        guess = _sizes(filled | {"tie_word_embeddings": found.head == 0}, where)
        words = f"its {found.matrices:,} weights in the matrices of its layers fit no form here"
    except ValueError as error:  # it has no heads, say
        guess, words = None, str(error)
    for model in _forms(guess, found) if guess else ():
        count = parameters(model)
        if (count.total, count.active) == (found.total, found.active):
            return model
    note = (
        f"{where}: of this {config.model_type} the parameters are counted, {found.total:,} in all "
        f"and {found.active:,} on a token, and nothing else: {words}"
    )
    one = ModelConfig("llama", found.hidden, 1, 1, 1, found.hidden, 1, found.words)
    return replace(guess or one, counted=(found.total, found.active), note=note)


def build_on_meta(fields: Mapping):
    """Return the decoder of a config as a torch.nn.Module on the meta device."""
    return _built(_config(fields, fields["model_type"], "the config"), "the config")


def _config(fields: Mapping, kind: str, where: str):
    """Return transformers' config, of the decoder inside it if it has one."""
    try:
        import transformers
        from transformers.models.auto import modeling_auto as auto
    except ImportError:
        raise ValueError(
            f"{where}: a {kind} is counted by transformers, which isn't installed: "
            "pip install transformers"
        ) from None
    unwanted = ("model_type", "auto_map", "quantization_config", "torch_dtype", "dtype")
    given = {name: value for name, value in fields.items() if name not in unwanted}
    if kind not in transformers.CONFIG_MAPPING:
        raise ValueError(
            f"{where}: model_type is {kind!r}, which the installed transformers "
            f"{transformers.__version__} cannot build: update it, or give another model's config"
        )
    with _quiet():
        try:
            config = transformers.AutoConfig.for_model(kind, **given)
            config = config.get_text_config(decoder=True)
        except Exception as error:  # of whatever kind: its fields fit no model
            raise ValueError(_unfit(where, kind, error)) from None
    masked = config.model_type in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if config.is_encoder_decoder or (masked and not getattr(config, "is_decoder", False)):
        raise ValueError(
            f"{where}: a {kind} has an encoder, and costs are worked out for decoders, which "
            "predict the next token: give the config of one"
        )
    if config.model_type not in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise ValueError(
            f"{where}: a {kind} doesn't predict the next token, by the installed transformers "
            f"{transformers.__version__}: give the config of a decoder"
        )
    return config


def _built(config, where: str):
    import torch
    from transformers import AutoModelForCausalLM

    ways = {"attn_implementation": "eager", "experts_implementation": "batched_mm"}
    with _quiet(), torch.device("meta"):
        for how in (ways, {"attn_implementation": "eager"}, {}):
            try:
                return AutoModelForCausalLM.from_config(config, **how)
            except Exception as error:  # not all know both ways
                failed = error
    raise ValueError(_unfit(where, config.model_type, failed))


def _unfit(where: str, kind: str, error: Exception) -> str:
    said = re.sub(r"\s+", " ", str(error)).strip()[:200] or type(error).__name__
    return f"{where}: transformers cannot build this {kind}: {said}"


@contextmanager
def _quiet():
    """Without transformers' warnings, which are about running a model."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(before)


@dataclass(frozen=True)
class Found:
    """Parameters of a built model. tables: embeddings other than that of words. matrices, vectors:
    of all layers; the latter are norms and biases. last: vectors outside of them. biases: of all
    experts. hidden, words: the sizes of the word embedding."""

    total: int
    active: int
    head: int
    tables: int
    matrices: int
    vectors: int
    last: int
    biases: int
    hidden: int
    words: int


def _count(net, config) -> Found:
    """An expert's parameters are in a module `experts`; a token passes its share of them."""
    fields, found = config.to_dict(), dict.fromkeys(("matrices", "vectors", "last", "biases"), 0)
    chosen, experts = (
        next((fields[n] for n in NAMES[size] if fields.get(n)), 1) for size in ("chosen", "experts")
    )
    words = net.get_input_embeddings().weight
    head = net.get_output_embeddings()
    head = 0 if head is None or head.weight is words else head.weight.numel()
    total = active = outside = 0
    for name, parameter in net.named_parameters():
        size, routed = parameter.numel(), ".experts." in name
        total += size
        active += size * chosen // experts if routed else size
        vector = name.endswith("bias") or parameter.ndim < 2
        if not re.search(r"\.\d+\.", name):
            found["last"] += size * vector
            outside += size * (not vector)
        elif vector and routed:
            found["biases"] += size
        else:
            found["vectors" if vector else "matrices"] += size
    tables = outside - words.numel() - head
    return Found(total, active, head, tables, hidden=words.shape[1], words=words.shape[0], **found)


def _forms(guess: ModelConfig, found: Found) -> Iterator[ModelConfig]:
    """The forms that a model of these sizes may have: gated or not, with a table or without."""
    layers, moe = guess.layers, guess.moe
    if found.vectors % layers:
        return
    if moe and guess.expert_layers:
        biases = found.biases // (guess.expert_layers * moe.experts)
        moe = replace(moe, biases=biases)
    rest = {"vectors": found.vectors // layers, "last": found.last, "moe": moe}
    rest |= {"vocabulary": found.words, "rotary": not found.tables}
    if found.tables:
        rest["positions"] = max(1, found.tables // guess.hidden)
    for family in ("llama", "gpt2"):
        for kv_heads in dict.fromkeys((guess.kv_heads, guess.heads)):  # some know no shared ones
            yield replace(guess, family=family, kv_heads=kv_heads, **rest)
