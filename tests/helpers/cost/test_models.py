"""Any config.json: parameters and FLOPs against the models that transformers builds from it."""

import json
import re
import sys
from dataclasses import replace

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from helpers import cost
from helpers.clone import ROOT
from helpers.cost import MODELS, MoE, read_config
from tests.said import said

SMALL = dict(hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2)
SMALL |= dict(num_hidden_layers=3, vocab_size=50, bos_token_id=1, eos_token_id=2, pad_token_id=0)
ROUTED = dict(num_experts_per_tok=2, moe_intermediate_size=24)
LATENT = dict(q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8)
KINDS = {  # what each has beside SMALL
    "llama": dict(attention_bias=True, mlp_bias=True, head_dim=24, tie_word_embeddings=True),
    "qwen2": {},
    "qwen3": dict(head_dim=32),
    "qwen3_moe": ROUTED | dict(num_experts=8, head_dim=16, mlp_only_layers=[0]),
    "gpt_oss": dict(num_experts_per_tok=2, num_local_experts=4, head_dim=16),
    "gemma2": dict(head_dim=32),
    "mistral": dict(num_key_value_heads=1),
    "olmo2": {},
    "gpt_neox": {},
    "mixtral": dict(num_local_experts=4, num_experts_per_tok=2),
    "deepseek_v3": ROUTED
    | LATENT
    | dict(num_key_value_heads=4, n_routed_experts=8, n_shared_experts=1, first_k_dense_replace=1)
    | dict(n_group=1, topk_group=1),
    "gemma3": {"text_config": SMALL | dict(model_type="gemma3_text", head_dim=16)},
    "gpt2": dict(n_embd=64, n_head=4, n_layer=3, n_positions=32, n_inner=100),
    "phi": {},
}
PUBLISHED = {  # weights in the files on the hub, and those that a token uses
    "LLaMA-7B": (MODELS["LLaMA-7B"], 6_738_415_616, None),
    "Llama 3 8B": (MODELS["Llama 3 8B"], 8_030_261_248, None),
    "Mixtral 8x7B": ("mixtral_8x7b", 46_702_792_704, 12_879_925_248),
    "DeepSeek-V3": ("deepseek_v3", 671_026_404_352, 37_552_282_624),
}


def fields_of(kind):
    return {"model_type": kind} | (SMALL if "text_config" not in KINDS[kind] else {}) | KINDS[kind]


def count(run):
    with FlopCounterMode(display=False) as counter:
        result = run()
    return counter.get_total_flops(), result


def build_on_meta(fields):
    """The model that transformers builds, with products that torch's counter sees."""
    sizes = {name: value for name, value in fields.items() if name != "model_type"}
    config = transformers.AutoConfig.for_model(fields["model_type"], **sizes)
    ways = {"attn_implementation": "eager", "experts_implementation": "batched_mm"}
    text = config.get_text_config(decoder=True)
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(text, **ways)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_and_flops_are_those_of_the_built_model(kind):
    fields = fields_of(kind)
    net, model = build_on_meta(fields), read_config(fields)
    counted = cost.parameters(model)
    assert not model.note and counted.total == sum(p.numel() for p in net.parameters())
    routed = sum(p.numel() for name, p in net.named_parameters() if ".experts." in name)
    idle = routed - routed * model.moe.chosen // model.moe.experts if model.moe else 0
    assert counted.active == counted.total - idle
    tied = net.get_output_embeddings().weight is net.get_input_embeddings().weight
    assert counted.head == (0 if tied else 64 * 50)
    ids = torch.zeros(2, 16, dtype=torch.long, device="meta")
    forward, out = count(lambda: net(ids, attention_mask=torch.ones_like(ids), use_cache=False))
    backward, _ = count(lambda: out.logits.float().sum().backward())
    ours = cost.flops(model, 2, 16)
    assert (forward, backward) == (ours.forward, ours.model - ours.forward)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name):
    model, total, active = PUBLISHED[name]
    if isinstance(model, str):
        model = read_config(ROOT / f"EP/configs/{model}.json")
    counted = cost.parameters(model)
    assert counted.total == total and counted.active == (active or total)
    assert f"{total:,}" in str(counted) and ("used by a token" in str(counted)) == bool(active)


@pytest.mark.parametrize("kind", ["mamba", "qwen2_moe"])
def test_what_has_no_formula_is_counted_and_says_so(kind):
    fields = SMALL | ROUTED | {"model_type": kind, "num_experts": 4, "num_hidden_layers": 2}
    model = read_config(fields)
    count = cost.parameters(model)
    assert count.total == sum(p.numel() for p in build_on_meta(fields).parameters())
    assert f"{count.total:,} in all" in model.note and f"{count.total:,}" in str(count)
    assert "and nothing else: its" in said(cost.flops, model)


def test_latent_attention_keeps_what_it_compresses():
    """DeepSeek-V2's paper, a token of one head: its queries and keys, values, and their origins."""
    model = read_config(fields_of("deepseek_v3"))
    rows = {row.name: row for row in cost.kept_by_layer(model, 1, 10)}
    one = 2 * 10
    assert rows["compressed queries, keys and values"].size == one * (24 + 16 + 4)
    assert rows["the same behind their norms"].size == one * (24 + 16)
    assert rows["Q and K"].size == one * 2 * 4 * 12 and rows["V"].size == one * 4 * 8
    assert rows["input of the output projection"].size == one * 4 * 8
    assert rows["gate and up"].size == 2 * one * 3 * 24  # two experts and the shared one
    assert "the peak of the forward pass of a model with latent" in said(cost.forward_peak, model)


# --- files as they should not be -----------------------------------------------------------------

SIZES = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}
SIZES |= {"num_hidden_layers": 2, "intermediate_size": 160}
GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 32}
GPT2 |= {"vocab_size": 100}
MIXTRAL = SIZES | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        ("", "is not JSON: give a model's config.json"),
        ("[1, 2]", "holds no JSON object"),
        ({}, "has no field 'model_type', so it is no config.json"),
        ({"model_type": "bert"}, "a bert has an encoder, and costs are worked out for decoders"),
        ({"model_type": "vit"}, "a vit doesn't predict the next token"),
        ({"model_type": "gpt9"}, "which the installed transformers .* cannot build: update it"),
        ({"model_type": "qwen3", "head_dim": [2]}, "transformers cannot build this qwen3: "),
        ({"model_type": "qwen3", "hidden_size": "64"}, "hidden_size is '64': a whole number"),
        (SIZES | {"hidden_size": True}, "hidden_size is True: a whole number, 1 or more"),
        (MIXTRAL | {"num_experts_per_tok": 2.5}, "num_experts_per_tok is 2.5"),
        (SIZES | {"num_attention_heads": 5}, "hidden size 64 cannot be cut into 5 heads"),
        (SIZES | {"num_key_value_heads": 3}, "4 heads cannot share 3"),
        (10**10, "has 10,000 MB, and a config.json has a few kB"),
    ],
)
def test_what_is_no_config_file(tmp_path, content, words):
    path = tmp_path / "config.json"
    if isinstance(content, int):
        with path.open("wb") as file:
            file.truncate(content)
    elif content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    assert re.search(words, said(read_config, path))


@pytest.mark.parametrize("fields", [SIZES, GPT2, MIXTRAL], ids=lambda fields: fields["model_type"])
def test_each_field_that_is_missing_is_named(fields, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(fields))
    assert read_config(tmp_path / "config.json") == read_config(fields)
    for name in [name for name in fields if name != "model_type"]:
        rest = {key: value for key, value in fields.items() if key != name}
        assert f"lacks the field '{name}'" in said(read_config, rest)


def test_without_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert read_config(fields_of("mixtral")).hidden == 64
    assert "isn't installed: pip install transformers" in said(read_config, fields_of("qwen3"))


def test_sizes_that_fit_no_transformer():
    assert read_config(SIZES | {"max_sequence_length": 512}).positions == 512  # its older name
    llama = MODELS["LLaMA-7B"]
    for make, words in (
        (lambda: cost.gpt(64, 2, 5), "hidden 64 cannot be cut into 5 heads"),
        (lambda: cost.ModelConfig("bert", *[1] * 7), "family='bert': choose one of"),
        (lambda: cost.ModelConfig("llama", *[1] * 5, 0, 1), "intermediate=0"),
        (lambda: MoE(2, 3, 8), "a token chooses 3 of 2 experts"),
        (lambda: MoE(2, 1, 0), "experts of width 0"),
        (lambda: replace(llama, moe=MoE(4, 2, 8, dense=33)), "33 dense layers of 32"),
        (lambda: MODELS["GPT-3, 175B"].require("llama"), "of a gpt2, and a llama is asked for"),
    ):
        assert words in said(make)
    assert llama.require("llama") is llama and MoE(2, 1, 1).intermediate == 1
