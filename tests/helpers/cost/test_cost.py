"""Parameters and FLOPs of a config.json are those of transformers' model, the rest is papers'."""

import json
import math
import re
import sys
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from helpers import cost
from helpers.clone import ROOT
from helpers.cost import MODELS, MoE, all_reduce_bytes, bill, flops, gpt, read_config, states
from helpers.cost.goodput import Failures, restarting
from helpers.cost.rates import H100
from helpers.cost.rooflines import data_parallel_tokens, expert_width, fsdp_tokens, layer_weights
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
    ours = flops(model, 2, 16)
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
        (SIZES | {"num_key_value_heads": 3, "model_type": "qwen3"}, "4 heads cannot share 3"),
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
    assert read_config(fields_of("mixtral") | {"max_sequence_length": 512}).positions == 512
    assert "isn't installed: pip install transformers" in said(read_config, fields_of("qwen3"))


LLAMA = MODELS["LLaMA-7B"]


@pytest.mark.parametrize("h, layers, heads, batch", [(2304, 24, 24, 512), (25600, 128, 160, 64)])
def test_the_papers_formula_counts_full_recomputation(h, layers, heads, batch):
    """arXiv 2104.04473, equation 3."""
    s, v = 2048, 51200
    formula = 96 * batch * s * layers * h**2 * (1 + s / (6 * h) + v / (16 * layers * h))
    found = flops(gpt(h, layers, heads), batch)
    assert found.hardware("full") == pytest.approx(formula, rel=1e-12)
    assert found.model == pytest.approx(found.hardware("full") - layers * found.layer)
    assert found.hardware("selective") == pytest.approx(found.model + layers * found.scores)
    for attention, giga in (("full", 8976), ("causal", 8633), ("weights", 8289)):
        assert round(flops(LLAMA, attention=attention).layer / 1e8) == giga  # 0.8976 TFLOP


# arXiv 1910.02054, table 1: GB a device, 7.5B parameters, N = 1, 4, 16, 64, 256, 1024
ZEROS = {
    1: "120 52.5 35.6 31.4 30.4 30.1",
    2: "120 41.3 21.6 16.6 15.4 15.1",
    3: "120 30 7.5 1.88 .47 .12",
}


@pytest.mark.parametrize("zero", ZEROS)
def test_zeros_table(zero):
    for n, text in zip((1, 4, 16, 64, 256, 1024), ZEROS[zero].split(), strict=True):
        digits = len(text.partition(".")[2])
        exact = Decimal(states(7.5e9, zero=zero, ranks=n).total) / Decimal(10**9)
        rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
        assert rounded == Decimal(text), (zero, n)


def test_what_zero_cuts_and_other_precisions():
    one, two = (states(1e9, zero=zero, ranks=64) for zero in (1, 2))
    assert (one.weights, one.gradients, one.optimizer) == (2e9, 2e9, 12e9 / 64)
    assert (two.weights, two.gradients) == (2e9, 2e9 / 64)
    assert one.convention == "mixed: 2 + 2 + 12 bytes a parameter; ZeRO stage 1 over 64 ranks"
    totals = {"mixed, fp32 gradients": 18e9, "fp32": 16e9, "fp32 SGD": 8e9}
    assert {name: states(1e9, name).total for name in totals} == totals


@pytest.mark.parametrize("h, a, b, s, t", [(6144, 64, 4, 2048, 8), (1024, 16, 2, 512, 4)])
def test_the_formulas_of_table_2(h, a, b, s, t):
    """arXiv 2205.05198."""
    scores = 5 * a * s / h

    def found(*how):
        return cost.layer_activations(gpt(h, 4, a), b, s, *how) / (s * b * h)

    assert found() == pytest.approx(34 + scores, rel=1e-12)
    assert found(t) == pytest.approx(10 + 24 / t + scores / t, rel=1e-12)
    assert found(t, True) == pytest.approx((34 + scores) / t, rel=1e-12)
    assert found(t, True, "selective") == pytest.approx(34 / t, rel=1e-12)
    assert found(t, False, "selective") == pytest.approx(10 + 24 / t, rel=1e-12)
    assert found(t, False, "full") == 2 and found(t, True, "full") == 2 / t
    assert found(t, True, "none", 4) == pytest.approx(found(t, True) / 4, rel=1e-12)


def test_what_a_llama_keeps():
    """Widths of a token: hidden, queries, keys, MLP; with and without what fused kernels leave."""
    model = MODELS["Llama 3 8B"]
    fused = 2 * 8192 * 2 * (4 * 4096 + 2 * 4096 + 2 * 1024 + 3 * 14336)
    assert cost.layer_activations(model, 2, 8192, fused=True) == fused
    more = 2 * 8192 * 2 * (8192 * 32 + 14336)  # probabilities, and the SiLU
    assert cost.layer_activations(model, 2, 8192) == fused + more


def test_the_peak_of_a_forward_pass_of_llama_7b():
    peak = cost.forward_peak(LLAMA)
    one, scores = 2 * 2048 * 4096, 2 * 32 * 2048**2
    assert peak.weights == 2 * 202_383_360 and peak.moment == "softmax"
    assert list(peak.activations.values()) == [one] * 5 + [scores] * 2
    assert peak.total == peak.weights + 5 * one + 2 * scores
    short = cost.forward_peak(replace(LLAMA, positions=128))
    assert short.moment == "second residual" and "scores" not in short.activations
    parts = 10 * 4096 + 32 * 128 + 4 * 11008
    assert sum(short.activations.values()) == 2 * 128 * parts
    assert list(cost.forward_peak(gpt(64, 2, 4, 8)).activations)[-4:-2] == ["up", "activated"]


def test_all_of_a_step():
    values = 2 * 2 * 512 * 1024

    def sent(**how):
        sizes = {"micro_batch": 2, "micro_batches": 6, "sequence": 512}
        return cost.bytes_on_the_wire(gpt(1024, 8, 16), 1e6, **sizes, **how)

    found = sent(dp=4, tp=2, pp=4, chunks=2)
    assert found.data == all_reduce_bytes(2e6, 4) == 2 * 2e6 * 3 / 4
    assert found.tensor == 6 * 2 * 4 * all_reduce_bytes(values, 2)  # four of each layer
    assert found.pipeline == 6 * 2 * 2 * values / 2  # there and back, half on each rank
    assert found.total == found.data + found.tensor + found.pipeline
    assert sent().total == 0
    assert sent(tp=2, recompute="full").tensor == 6 * 8 * 6 * all_reduce_bytes(values, 2)
    for zero, passes in ((0, 2), (1, 2), (2, 6 + 1), (3, 6 * 3)):  # FSDP: each time three
        assert sent(dp=4, zero=zero).data == pytest.approx(passes * 2e6 * 3 / 4)


def test_a_sequence_on_four_ranks_of_two():
    """Per token on a rank: 16 heads of queries and 4 of keys, of 64, halved by tp."""
    model = replace(gpt(1024, 8, 16), kv_heads=4)
    kv = 2 * 3 * 512 / 4 / 2 * 2 * 4 * 64
    assert cost.context_parallel_bytes(model, 3, 512, 4, "ring", 2) == (3 * kv, 7 * kv)
    assert cost.context_parallel_bytes(model, 3, 512, 4, "gather", 2) == (3 * kv, 3 * kv)
    both = 3 / 4 * (2 * 2 * kv + 2 * kv)  # four times as many queries; keys are sent twice
    assert cost.context_parallel_bytes(model, 3, 512, 4, "ulysses", 2) == (both, both)
    assert cost.context_parallel_bytes(model, 3, 512, 1) == (0, 0)


def test_a_bill_says_what_it_counts():
    # Tons by the grid's average: the model cards of Llama 2, 3.1 (two) and 4; arXiv 2307.09288
    cards = (
        (1_720_320, 400, 291.42),
        (7.0e6, 700, 2040),
        (30.84e6, 700, 8930),
        (7.38e6, 700, 1999),
    )
    for hours, watts, tons in cards:
        assert bill(hours, watts=watts).co2 == pytest.approx(tons, rel=0.07)
    # arXiv 2412.19437, table 1: 2,788 thousand H800 hours, 5.576 million dollars
    assert bill(2.788e6).dollars == pytest.approx(5.576e6)
    found = bill(1000, euros=0.2, co2=0.5, pue=1.5, dollars=3)
    assert (found.dollars, found.kwh, found.euros, found.co2) == (3000, 1050, 210, 0.525)
    convention = "3 dollars an hour, 700 W a GPU, PUE 1.5, 0.2 euros and 0.5 kg CO2 a kWh"
    assert found.convention == convention


@pytest.mark.parametrize("between, save, restart", [(11_160, 30, 300), (180, 9, 9)])
def test_a_restarting_job_has_its_closed_form(between, save, restart):
    """Intervals that end before a failure: a geometric series of exp(-(t + C) / M). Llama 3 had 419
    interruptions in 54 days (2407.21783, section 3.3.4)."""
    assert Failures(16_384, 5.8).seconds == pytest.approx(54 * 86_400 / 419, rel=0.01)
    every = math.sqrt(2 * save * between)  # Young's, which loses least
    intervals = math.exp(-restart / between) / (math.exp((every + save) / between) - 1)
    found = restarting(between, every, save, restart, failures=40_000)
    assert found == pytest.approx(every * intervals / between, rel=0.03)


def test_a_loss_by_the_scaling_law():
    right = 406.4 / 1e9**0.34 + 410.7 / 1e10**0.29 + 1.69
    assert cost.EXERCISE.loss(1e9, 1e10) == pytest.approx(right, rel=1e-12)
    for budget in (0, -1, math.inf, math.nan, "much", None, True):
        assert f"{budget} FLOPs trains nothing: give" in said(cost.EXERCISE.checked, budget)


# Rooflines: at a bound, the bytes that are counted take as long as the FLOPs that are counted.
RATES, MANY = {"rate": 989e12, "link": 50e9}, 10**12  # so many ranks send a whole result
DEEPSEEK = read_config(ROOT / "EP/configs/deepseek_v3.json")
DENSE = [MODELS[f"Llama 3 {size}"] for size in ("8B", "405B")]


def equal(computed, sent):
    return math.isclose(sent / RATES["link"], computed / RATES["rate"])


def weights(model, tokens):
    """FLOPs of one layer forward, without scores."""
    return flops(model, 1, 1, "weights").weights * tokens


def sent(model, weights=0.0, tokens=1, **how):
    """By one rank that has `weights`, of a model of one layer."""
    one = replace(model, layers=how.get("pp", 1))
    return cost.bytes_on_the_wire(
        one, weights, micro_batch=1, micro_batches=1, sequence=tokens, **how
    )


@pytest.mark.parametrize("model", DENSE, ids=lambda model: f"{model.hidden}")
def test_a_dense_layer_by_the_formulas(model):
    held, keys = layer_weights(model), model.kv_heads / model.heads
    widths = (2 + 2 * keys) * model.hidden + 3 * model.intermediate
    assert held == model.hidden * widths and layer_weights(gpt(1024, 2, 8)) == 12 * 1024**2
    tokens = data_parallel_tokens(model, **RATES)
    assert equal(2 * weights(model, tokens), sent(model, held, dp=MANY).data)
    tokens = fsdp_tokens(model, **RATES)
    assert equal(3 * weights(model, tokens), sent(model, held, dp=MANY, zero=3).data)
    four = data_parallel_tokens(model, **RATES, gradient=4)
    assert four == pytest.approx(2 * data_parallel_tokens(model, **RATES))
    for weight, gradient, times in ((1, 1, 0.5), (1, 4, 1.25), (2, 4, 1.5), (2, 1, 1.0)):
        found = fsdp_tokens(model, **RATES, weight=weight, gradient=gradient)
        assert found == pytest.approx(times * fsdp_tokens(model, **RATES))


def test_experts_by_the_formulas():
    model = read_config(ROOT / "EP/configs/mixtral_8x7b.json")
    width = expert_width(model, **RATES)
    used = 3 * model.hidden * width * model.moe.chosen
    token = 2 * model.moe.chosen * model.hidden  # bytes that go to its experts
    assert equal(3 * 2 * used * 100, 4 * 100 * token)
    expert = 3 * model.hidden * model.moe.intermediate
    for ep in (1, 8):  # a rank holds more than a token passes, and averages all of it
        held = layer_weights(model) + (8 / ep - 2) * expert
        tokens = data_parallel_tokens(model, **RATES, ep=ep)
        assert equal(2 * weights(model, tokens), sent(model, held, dp=MANY).data)
    one = 3 * 7168 * 2048 * 58 / 61  # of DeepSeek's 61 layers 58 have experts
    assert layer_weights(DEEPSEEK) - layer_weights(DEEPSEEK, 64) == pytest.approx(4 * one)


def ranks(model, rate, link):
    """At which tensor parallelism sends for as long as it computes: lesson 10 derives it."""
    return 1 + 3 / 8 * layer_weights(model) / model.hidden * link / rate


def test_the_page_has_the_bounds_of_the_code():
    """Of docs/rooflines.md, the row of Llama 3 405B in each table, at peak and reached."""
    page = (ROOT / "docs/rooflines.md").read_text(encoding="utf-8")
    for bound, digits in (
        (data_parallel_tokens, 0),
        (fsdp_tokens, 0),
        (ranks, 1),
        (lambda m, rate, link: 2 * m.kv_heads / m.heads * rate / link, 0),  # of a causal ring
        (lambda m, rate, link: m.hidden / layer_weights(m) * rate / link, 2),  # layers of a stage
    ):
        cells = []
        for link in (H100.inside, H100.between):
            both = (bound(DENSE[-1], rate, link) for rate in (H100.peak, H100.reached))
            cells.append(" / ".join(f"{value:,.{digits}f}" for value in both))
        assert f"| Llama 3 405B | {cells[0]} | {cells[1]} |" in page
    width = expert_width(DEEPSEEK, H100.peak, H100.between, copies=4, dispatch=1)
    assert f" {width:,.0f} / " in page


WRONG = [
    (lambda: gpt(64, 2, 5), "hidden 64 cannot be cut into 5 heads"),
    (lambda: cost.ModelConfig("bert", *[1] * 7), "family='bert': choose one of"),
    (lambda: cost.ModelConfig("llama", *[1] * 5, 0, 1), "intermediate=0"),
    (lambda: replace(LLAMA, kv_heads=5), "32 heads cannot share 5"),
    (lambda: MoE(2, 3, 8), "a token chooses 3 of 2 experts"),
    (lambda: MoE(2, 1, 0), "experts of width 0"),
    (lambda: replace(LLAMA, moe=MoE(4, 2, 8, dense=33)), "33 dense layers of 32"),
    (lambda: MODELS["GPT-3, 175B"].require("llama"), "of a gpt2, and a llama is asked for"),
    (lambda: flops(LLAMA, attention="half"), "attention='half': choose one of full, causal"),
    (lambda: flops(LLAMA).hardware("some"), "recompute='some': choose one of none, selective"),
    (lambda: flops(LLAMA, 0, 1), "a batch of 0 x 1 tokens: both must be 1 or more"),
    (lambda: states(1e9, "fp8"), "precision='fp8': choose one of mixed"),
    (lambda: states(1e9, zero=4), "zero=4: choose one of 0, 1, 2, 3"),
    (lambda: states(1000, ranks=0), "1000 parameters on 0 ranks"),
    (lambda: cost.context_parallel_bytes(LLAMA, 1, 8, 2, "star"), "way='star': choose one"),
    (lambda: bill(-1), "bill(gpu_hours=-1): give 0 or more"),
    (lambda: bill(1, watts=math.nan), "bill(watts=nan): give 0 or more"),
    (lambda: bill(1, pue=0.9), "bill(pue=0.9): a data center draws at least"),
    (lambda: fsdp_tokens(LLAMA, 0, 50e9), "rate=0 FLOP/s and link=50000000000.0 bytes/s: both"),
    (lambda: fsdp_tokens(LLAMA, 1, 0), "link=0 bytes/s: both must be"),
    (lambda: expert_width(LLAMA, **RATES), "no experts"),
]


@pytest.mark.parametrize("make, words", WRONG)
def test_wrong_input(make, words):
    assert words in said(make)
