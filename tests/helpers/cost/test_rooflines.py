"""At a bound, counted bytes take as long as counted FLOPs: by the formulas and on real ranks."""

import math
import sys

import pytest

from bench.rooflines import page
from helpers.cost import (
    ModelConfig,
    MoE,
    all_gather_bytes,
    context_parallel_bytes,
    data_parallel_bytes,
    flops,
    gpt,
    pipeline_bytes,
    tensor_parallel_bytes,
)
from helpers.cost.rooflines import (
    data_parallel_tokens,
    expert_width,
    fsdp_tokens,
    layer_weights,
    pipeline_layers,
    ring_attention_tokens,
    tensor_parallel_ranks,
)
from helpers.grade.task import ROOT
from helpers.ranks import launch

pytestmark = pytest.mark.ranks

RATES = {"rate": 989e12, "link": 50e9}
MODELS = page.MODELS
DENSE = [model for model in MODELS.values() if model.moe is None]


def equal(computed, sent):
    return math.isclose(sent / RATES["link"], computed / RATES["rate"])


def weights(model, tokens):
    """FLOPs of one layer forward, without scores."""
    return flops(model, 1, 1, "weights").weights * tokens


@pytest.mark.parametrize("model", DENSE, ids=lambda model: f"{model.hidden}")
def test_a_dense_layer_by_the_formulas(model):
    held = layer_weights(model)
    for ranks in (2, 64):
        tokens = data_parallel_tokens(model, **RATES, ranks=ranks)
        assert equal(2 * weights(model, tokens), data_parallel_bytes(held, ranks))
        tokens = fsdp_tokens(model, **RATES, ranks=ranks)
        assert equal(3 * weights(model, tokens), data_parallel_bytes(held, ranks, zero=3))
    tp = tensor_parallel_ranks(model, **RATES)
    for tokens in (1, 8192):  # the length of the sequence cancels
        assert equal(3 * weights(model, tokens) / tp, tensor_parallel_bytes(model, 1, tokens, tp))
    layers = pipeline_layers(model, **RATES)
    assert equal(layers * weights(model, 10), pipeline_bytes(model, 1, 10))


def test_gradients_of_four_bytes():
    model = DENSE[0]
    assert data_parallel_tokens(model, **RATES, gradient=4) == pytest.approx(
        2 * data_parallel_tokens(model, **RATES)
    )
    tokens = data_parallel_tokens(model, **RATES, gradient=4, sharded=True, ranks=8)
    scattered, gathered = (all_gather_bytes(b * layer_weights(model), 8) for b in (4, 2))
    assert equal(2 * weights(model, tokens), scattered)  # behind backward
    assert equal(weights(model, tokens), gathered)  # behind the next forward pass
    assert data_parallel_tokens(model, **RATES, sharded=True, ranks=8) == tokens
    assert fsdp_tokens(model, **RATES, weight=1, gradient=1) == pytest.approx(
        fsdp_tokens(model, **RATES) / 2
    )
    assert fsdp_tokens(model, **RATES, weight=1, gradient=4) == pytest.approx(
        1.25 * fsdp_tokens(model, **RATES)
    )
    assert fsdp_tokens(model, **RATES, gradient=4) == pytest.approx(
        1.5 * fsdp_tokens(model, **RATES)
    )


@pytest.mark.parametrize("model", DENSE, ids=lambda model: f"{model.hidden}")
@pytest.mark.parametrize("causal", [True, False])
def test_a_ring_by_the_formulas(model, causal):
    ranks = 16
    here = ring_attention_tokens(model, **RATES, causal=causal, ranks=ranks)
    scores = flops(model, 1, 1, "causal" if causal else "full").scores * (here * ranks) ** 2
    ahead, back = context_parallel_bytes(model, 1, here * ranks, ranks)
    assert equal(scores / ranks, ahead)
    here = ring_attention_tokens(model, **RATES, causal=causal, backward=True, ranks=ranks)
    scores = flops(model, 1, 1, "causal" if causal else "full").scores * (here * ranks) ** 2
    ahead, back = context_parallel_bytes(model, 1, here * ranks, ranks)
    assert equal(2.5 * scores / ranks, back)


def test_experts_by_the_formulas():
    for name in ("Mixtral 8x7B", "DeepSeek-V3"):
        model = MODELS[name]
        width = expert_width(model, **RATES, ep=8)
        used = 3 * model.hidden * width * model.moe.chosen
        token = 2 * model.moe.chosen * model.hidden  # bytes that go to its experts
        assert equal(3 * 2 * used * 100, 4 * 7 / 8 * 100 * token)
    with pytest.raises(ValueError, match="no experts"):
        expert_width(DENSE[0], **RATES)


def test_replicas_with_experts_hold_more_than_a_token_passes():
    """All experts of a layer with gradients to average, on one rank and on eight."""
    model = MODELS["Mixtral 8x7B"]
    expert = 3 * model.hidden * model.moe.intermediate
    for ep in (1, 8):
        held = layer_weights(model) + (8 / ep - 2) * expert
        tokens = data_parallel_tokens(model, **RATES, ep=ep, ranks=64)
        assert equal(2 * weights(model, tokens), data_parallel_bytes(held, 64))


def test_the_published_forms():
    """(3/8)(4d + 3f) B/F and its kin, for the 7B layer: 21 ranks on NVLink, 2.3 over a card."""
    model = ModelConfig("llama", 4096, 32, 32, 32, 128, 11008, 32000)
    assert tensor_parallel_ranks(model, 400e12, 450e9) - 1 == pytest.approx(20.8, abs=0.05)
    assert tensor_parallel_ranks(model, 400e12, 50e9) - 1 == pytest.approx(2.3, abs=0.05)
    assert layer_weights(model) == 4096 * (4 * 4096 + 3 * 11008)
    grouped = MODELS["Llama 3 405B"]
    assert layer_weights(grouped) == 16384 * ((2 + 2 / 16) * 16384 + 3 * 53248)
    assert layer_weights(gpt(1024, 2, 8)) == 12 * 1024**2


def test_wrong_rates_and_ranks():
    with pytest.raises(ValueError, match=r"rate=0 FLOP/s and link=50000000000.0 bytes/s: both"):
        pipeline_layers(DENSE[0], 0, 50e9)
    with pytest.raises(ValueError, match="0 ranks: give 1 or more"):
        data_parallel_tokens(DENSE[0], **RATES, ranks=0)


def test_the_page_is_current():
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "python -m helpers.cost.rooflines"


# --- on ranks: real messages, and the FLOPs of every product --------------------------------------
D, WIDE, TOKENS = 32, 48, 24


def count(ranks=4):
    """Return {way: (FLOPs, bytes that this rank sends)} of small layers with 4-byte numbers."""
    import torch
    import torch.distributed as dist
    from torch.utils.checkpoint import checkpoint
    from torch.utils.flop_counter import FlopCounterMode

    sys.path[:0] = [str(ROOT / "CP/ring"), str(ROOT / "EP/experts")]
    from dispatch import Dispatch
    from ring_attention import Ring, ring_attention
    from zigzag import zigzag

    from helpers.parallel.operators import all_gather, reduce_scatter
    from helpers.trace import Recorder
    from simplellm.blocks import SwiGLU
    from simplellm.config import Config

    sent, me, found = [], dist.get_rank(), {}
    sizes = {  # of what is passed to each, the bytes that a ring sends
        "all_reduce": lambda x: 2 * x.nbytes * (ranks - 1) / ranks,
        "all_gather": lambda parts, x: x.nbytes * (ranks - 1),
        "reduce_scatter": lambda out, parts: out.nbytes * (ranks - 1),
        "batch_isend_irecv": lambda ops: sum(op.tensor.nbytes for op in ops[: len(ops) // 2]),
        "all_to_all_single": lambda out, x, *_: (
            x.nbytes * (ranks - 1) / ranks * x.is_floating_point()
        ),
    }

    def counting_bytes(send, size):
        def counted(*given, **named):
            sent.append(size(*given))
            return send(*given, **named)

        return counted

    for name, size in sizes.items():
        setattr(dist, name, counting_bytes(getattr(dist, name), size))

    def counting(name, run, *parts):
        sent.clear()
        with FlopCounterMode(display=False) as ahead:
            out = run(*parts)
        found[name, "forward"] = ahead.get_total_flops(), sum(sent)
        with FlopCounterMode(display=False) as back:
            out.sum().backward()
            if name == "data":
                dist.all_reduce(parts[1].grad)
        found[name, "backward"] = back.get_total_flops(), sum(sent) - found[name, "forward"][1]

    def leaf(*shape):
        return torch.randn(shape, requires_grad=True)

    x, w = leaf(TOKENS, D), leaf(D, WIDE)
    counting("data", lambda x, w: x @ w, x, w)

    def sharded(x, shard):  # the checkpoint gathers again, and stops before the product
        return x @ all_gather(shard, dim=0)

    shard = leaf(D // ranks, WIDE)
    counting("fsdp", lambda x, w: checkpoint(sharded, x, w, use_reentrant=False), x, shard)

    def layer(x, q, k, v, o, gate, up, down):
        whole = all_gather(x, dim=0)
        both = (whole @ k + whole @ v).repeat(1, 2)  # half as many key heads; no scores
        x = x + reduce_scatter((whole @ q * both) @ o, dim=0)
        whole = all_gather(x, dim=0)
        return reduce_scatter(((whole @ gate) * (whole @ up)) @ down, dim=0)

    a, f = D // ranks, WIDE // ranks
    shapes = [(D, a), (D, a // 2), (D, a // 2), (a, D), (D, f), (D, f), (f, D)]
    counting("tensor", layer, leaf(TOKENS // ranks, D), *(leaf(*shape) for shape in shapes))

    ring = Ring(recorder=Recorder(me, enabled=False))
    all_seen = [torch.zeros(TOKENS, dtype=torch.long)] * ranks
    causal = [zigzag(TOKENS * ranks, ranks, rank) for rank in range(ranks)]
    for name, positions in (("ring", all_seen), ("causal ring", causal)):
        parts = (leaf(2, heads, TOKENS, 8) for heads in (4, 2, 2))
        counting(name, ring_attention(ring, positions), *parts)

    sizes = Config(vocab_size=9, dmodel=D, num_heads=4, n_layers=1, hidden_dim=WIDE)
    counts = torch.full((2 * ranks,), TOKENS // 4)
    experts = torch.nn.ModuleDict({str(2 * me + i): SwiGLU(sizes) for i in (0, 1)})
    counting("experts", lambda x: Dispatch().run(experts, x, counts), leaf(len(counts) * 6, D))
    return found


@pytest.mark.slow
def test_bounds_on_four_ranks():
    """Where F/B is a run's own FLOPs over its own bytes, the bound is the size of that run."""
    found = launch(count, 4, quiet=True)[0]
    model = ModelConfig("llama", D, 1, 4, 2, 8, WIDE, 9)
    moe = ModelConfig("llama", D, 1, 4, 2, 8, WIDE, 9, moe=MoE(8, 2, WIDE))

    def rates(name, *passes):
        """Rates at which these passes send for as long as they compute; 2 bytes, not 4."""
        computed, sent = zip(*(found[name, one] for one in passes), strict=True)
        return {"rate": sum(computed), "link": sum(sent) / 2}

    both = ("forward", "backward")
    assert found["data", "forward"][1] == 0
    assert data_parallel_tokens(model, **rates("data", "backward"), ranks=4) == pytest.approx(
        TOKENS
    )
    for one in both:
        assert fsdp_tokens(model, **rates("fsdp", one), ranks=4) == pytest.approx(TOKENS), one
    assert tensor_parallel_ranks(model, **rates("tensor", *both)) == pytest.approx(4)
    options = {"causal": False, "ranks": 4}
    for one, backward in (("forward", False), ("backward", True)):
        tokens = ring_attention_tokens(model, **rates("ring", one), backward=backward, **options)
        assert tokens == pytest.approx(TOKENS), one
        # Zigzag computes half of every block but its own, which the mask cuts within.
        computed, all_of_it = found["causal ring", one][0], found["ring", one][0]
        assert computed / all_of_it == pytest.approx((1 + 3 / 2) / 4), one
        assert found["causal ring", one][1] == found["ring", one][1]
    assert expert_width(moe, **rates("experts", *both), ep=4) == pytest.approx(WIDE)
