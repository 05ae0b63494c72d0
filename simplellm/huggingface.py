"""A LLaMA in Hugging Face's files: what `transformers.LlamaForCausalLM` loads, and back.

This doesn't need the library transformers.
"""

import json
from pathlib import Path

import torch

from simplellm.checkpoint import check_same, own_tensors, read_tensors, save_model, write_whole
from simplellm.config import Config
from simplellm.devices import pick
from simplellm.llama import CausalLLama, LLama

# What every LLaMA of this package is, and what a model that is read must be.
FIXED = {
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
}


def to_hf(model: LLama, folder: str | Path) -> None:
    """Write `config.json` and `model.safetensors` into `folder`.

    `transformers.LlamaForCausalLM.from_pretrained(folder)` then loads the same model: the same
    logits, loss and gradients.

    Raises:
        TypeError: not a whole model.
        ValueError: sizes that transformers refuses.
        OSError: the files could not be written.
    """
    if not isinstance(model, LLama):
        raise TypeError(f"to_hf writes a whole LLama, not a {type(model).__name__}.")
    config = describe(model.config, model.lm_head.weight.dtype)
    save_model(model, Path(folder) / "model.safetensors")
    write_whole(Path(folder) / "config.json", json.dumps(config, indent=2).encode())


def from_hf(folder: str | Path, device: str | torch.device = "auto") -> LLama:
    """Return the model that `to_hf` or transformers' `save_pretrained` wrote, with its dtype.

    Raises:
        FileNotFoundError: `config.json` or `model.safetensors` is missing.
        ValueError: another architecture, or files that do not belong together.
    """
    file = Path(folder) / "config.json"
    given = _read_config(file)
    for name, value in FIXED.items():
        if given.get(name, value) != value:
            raise ValueError(f"{file} has {name} = {given[name]!r}: only {value!r} is supported.")
    weights = Path(folder) / "model.safetensors"
    if not weights.is_file():
        raise FileNotFoundError(
            f"there is no {weights}: the weights must be in that one file, which to_hf writes, and "
            "save_pretrained(folder, max_shard_size='1TB')."
        )
    tensors = read_tensors(weights)
    model = LLama(CausalLLama, device="meta", **_arguments(given, file))
    if model.config.shared:
        tensors.pop("lm_head.weight", None)  # some writers store the tied tensor twice
    check_same(own_tensors(model), tensors, weights)
    model.load_state_dict(tensors, strict=False, assign=True)
    if model.config.shared:
        model.tie()
    return model.to(pick(device))


def describe(config: Config, dtype: torch.dtype) -> dict:
    """Return `config.json` as a dict; transformers 5 reads `rope_parameters`, 4 the rest."""
    if config.dmodel % config.num_heads:
        raise ValueError(
            f"transformers needs heads that divide the model, and {config.num_heads} heads do not "
            f"divide dmodel = {config.dmodel}."
        )
    return FIXED | {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": config.vocab_size,
        "hidden_size": config.dmodel,
        "intermediate_size": config.hidden_dim,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "max_position_embeddings": config.ctx_size,
        "rms_norm_eps": config.norm_eps,
        "attention_dropout": config.dropout_prob,
        "initializer_range": 0.02,
        "pad_token_id": config.padding_idx,
        "bos_token_id": None,
        "eos_token_id": None,
        "tie_word_embeddings": config.shared,
        "rope_parameters": config.rope,
        "rope_theta": config.rope["rope_theta"],
        "rope_scaling": None if config.rope["rope_type"] == "default" else config.rope,
        "dtype": str(dtype).removeprefix("torch."),
    }


def _arguments(given: dict, file: Path) -> dict:
    """Return the arguments of `LLama` for a config.json, with the defaults of transformers."""
    rope = given.get("rope_parameters") or given.get("rope_scaling") or {}
    try:
        return dict(
            vocab_size=given["vocab_size"],
            dmodel=given["hidden_size"],
            num_heads=given["num_attention_heads"],
            hidden_dim=given["intermediate_size"],
            n_layers=given["num_hidden_layers"],
            norm_eps=given.get("rms_norm_eps", 1e-6),
            dropout_prob=given.get("attention_dropout", 0.0),
            head_dim=given.get("head_dim"),
            ctx_size=given.get("max_position_embeddings", 2048),
            num_kv_heads=given.get("num_key_value_heads"),
            padding_idx=given.get("pad_token_id"),
            shared=given.get("tie_word_embeddings", False),
            rope_parameters={"rope_theta": given.get("rope_theta")} | rope,
        )
    except KeyError as missing:
        raise ValueError(f"{file} does not describe a LLaMA: {missing} is missing.") from None


def _read_config(file: Path) -> dict:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no {file}: give the folder that to_hf or save_pretrained wrote."
        ) from None
    except ValueError:
        raise ValueError(f"{file} is not JSON: write the model again with to_hf.") from None
