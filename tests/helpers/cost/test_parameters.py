"""Counts against the library that everybody loads these models with, on the meta device."""

import json

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from helpers.cost import gpt, parameters, read_config
from helpers.grade.task import ROOT

LLAMA_7B = json.loads((ROOT / "TP/llama_7b_config.json").read_text("utf-8"))
LLAMA3_8B = LLAMA_7B | dict(
    intermediate_size=14336,
    num_key_value_heads=8,
    vocab_size=128256,
    max_position_embeddings=8192,
)
LLAMA3_405B = LLAMA3_8B | dict(
    hidden_size=16384,
    intermediate_size=53248,
    num_attention_heads=128,
    num_hidden_layers=126,
    max_position_embeddings=131072,
)
GPT2 = dict(
    model_type="gpt2", n_embd=768, n_head=12, n_layer=12, n_positions=1024, vocab_size=50257
)
ODD = LLAMA_7B | dict(
    num_hidden_layers=3,
    num_key_value_heads=4,
    head_dim=96,
    tie_word_embeddings=True,
    attention_bias=True,
    mlp_bias=True,
)
CONFIGS = {
    "LLaMA-7B": (LLAMA_7B, 6_738_415_616),
    "Llama 3 8B": (LLAMA3_8B, 8_030_261_248),
    "Llama 3 405B": (LLAMA3_405B, 405_853_388_800),
    "GPT-2": (GPT2, 124_439_808),
    "GPT-2 XL": (GPT2 | dict(n_embd=1600, n_head=25, n_layer=48), 1_557_611_200),
    "odd GPT-2": (GPT2 | dict(n_inner=1000, tie_word_embeddings=False), None),
    "odd LLaMA": (ODD, None),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_as_many_as_transformers_counts(name):
    fields, published = CONFIGS[name]
    with torch.device("meta"):
        config = AutoConfig.for_model(**fields)
        model = AutoModelForCausalLM.from_config(config)
    counted = sum(p.numel() for p in model.parameters())
    assert parameters(read_config(config.to_dict())).total == counted
    assert published in (None, counted)


def test_llama_has_no_table_of_positions():
    count = parameters(read_config(LLAMA_7B))
    assert (count.positions, count.layer) == (0, 202_383_360)
    assert "positional embedding                               0" in str(count)


@pytest.mark.parametrize("h, layers, heads, billions", [(6144, 48, 64, 22.1), (12288, 96, 96, 175)])
def test_the_papers_formula_for_a_gpt(h, layers, heads, billions):
    total = parameters(gpt(h, layers, heads)).total
    # arXiv 2104.04473, equation 2: 12 l h^2 (1 + 13/12h + (V + s)/12lh); and the last norm
    formula = 12 * layers * h**2 * (1 + 13 / (12 * h) + (51200 + 2048) / (12 * layers * h))
    assert total == pytest.approx(formula + 2 * h, rel=1e-12)
    assert total / 1e9 == pytest.approx(billions, rel=0.01)
