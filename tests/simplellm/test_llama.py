"""The whole model: its sizes, its mathematics against a plain second version, and wrong input."""

import inspect
import math

import pytest
import torch

from simplellm.blocks import RMSNorm, rope_frequencies, rope_table, rotate
from simplellm.config import rope_settings
from simplellm.llama import CausalLLama, LLama
from simplellm.losses import causalLLMLoss


def small(vocab_size=50, dmodel=24, num_heads=4, n_layers=2, ctx_size=16, **sizes):
    torch.manual_seed(0)
    return LLama(
        CausalLLama,
        vocab_size,
        dmodel=dmodel,
        num_heads=num_heads,
        n_layers=n_layers,
        ctx_size=ctx_size,
        device="cpu",
        **sizes,
    )


def some_ids(rows=2, columns=10, vocab_size=50):
    return torch.randint(0, vocab_size, (rows, columns), generator=torch.Generator().manual_seed(1))


def test_the_lab_model_has_26_398_368_parameters_in_57_tensors():
    net = LLama(CausalLLama, 32000, dmodel=288, num_heads=6, n_layers=6, device="meta")
    assert sum(p.numel() for p in net.parameters()) == 26_398_368
    assert len(net.state_dict()) == len(list(net.parameters())) == 57


def test_weight_names_are_those_of_hugging_face():
    layer = "model.layers.{}."
    expected = {"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"}
    for i in range(2):
        expected |= {
            layer.format(i) + part + ".weight"
            for part in (
                *(f"self_attn.{x}_proj" for x in "qkvo"),
                *(f"mlp.{x}_proj" for x in ("gate", "up", "down")),
                "input_layernorm",
                "post_attention_layernorm",
            )
        }
    assert set(small().state_dict()) == expected


def test_arguments_keep_their_order_and_defaults():
    def arguments(cls):
        return {
            name: p.default
            for name, p in inspect.signature(cls).parameters.items()
            if p.default is not inspect.Parameter.empty
        }

    common = dict(
        dmodel=4096,
        num_heads=32,
        hidden_dim=None,
        norm_eps=1e-6,
        dropout_prob=0,
        head_dim=None,
        ctx_size=2048,
        num_kv_heads=None,
        padding_idx=None,
        device="auto",
        n_layers=32,
    )
    assert list(inspect.signature(LLama).parameters)[:2] == ["mdl_type", "vocab_size"]
    whole = common | dict(shared=False, rope_parameters=None)
    assert list(arguments(LLama).items()) == list(whole.items())
    body = common | dict(theta=10000.0, rope_parameters=None)
    assert list(arguments(CausalLLama).items()) == list(body.items())


def test_an_untrained_model_is_as_unsure_as_a_draw_among_all_tokens():
    torch.manual_seed(0)
    net = LLama(CausalLLama, 32000, dmodel=288, num_heads=6, n_layers=1, device="cpu")
    ids = some_ids(2, 32, 32000)
    loss = causalLLMLoss(net(ids), ids, 32000)
    assert loss.item() == pytest.approx(math.log(32000), abs=0.2)


def test_weights_start_at_a_spread_of_0_02_and_norms_at_1():
    net = small(vocab_size=500, dmodel=64)
    for name, weight in net.named_parameters():
        if "norm" in name:
            assert (weight == 1).all()
        else:
            assert weight.std().item() == pytest.approx(0.02, rel=0.1), name
            assert weight.mean().item() == pytest.approx(0, abs=2e-3), name


def test_a_seed_gives_one_model_and_meta_draws_nothing():
    assert torch.equal(small().lm_head.weight, small().lm_head.weight)
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    net = LLama(CausalLLama, 50, dmodel=24, num_heads=4, n_layers=1, device="meta")
    assert net.device.type == "meta"
    assert torch.equal(before, torch.random.get_rng_state())


# A second version of the model, written with explicit loops over heads and complex rotations.


def plain_logits(net, ids, theta=10000.0):
    weights, config = net.state_dict(), net.config
    x = weights["model.embed_tokens.weight"][ids]
    for i in range(config.n_layers):
        layer = {
            name.removeprefix(f"model.layers.{i}."): w
            for name, w in weights.items()
            if name.startswith(f"model.layers.{i}.")
        }
        y = plain_norm(x, layer["input_layernorm.weight"])
        x = x + plain_attention(y, layer, config, theta)
        y = plain_norm(x, layer["post_attention_layernorm.weight"])
        gate = y @ layer["mlp.gate_proj.weight"].T
        up = y @ layer["mlp.up_proj.weight"].T
        x = x + (gate * torch.sigmoid(gate) * up) @ layer["mlp.down_proj.weight"].T
    return plain_norm(x, weights["model.norm.weight"]) @ weights["lm_head.weight"].T


def plain_norm(x, weight):
    return weight * x / ((x**2).mean(-1, keepdim=True) + 1e-6).sqrt()


def plain_attention(x, layer, config, theta):
    hd, length = config.head_dim, x.shape[1]
    outs = []
    for head in range(config.num_heads):
        kv = head // (config.num_heads // config.num_kv_heads)

        def project(name, which):
            return x @ layer[f"self_attn.{name}_proj.weight"][which * hd : (which + 1) * hd].T  # noqa: B023

        q, k = (plain_turn(project(*of), theta) for of in (("q", head), ("k", kv)))
        scores = q @ k.transpose(1, 2) / hd**0.5
        future = torch.ones(length, length).triu(1).bool()
        outs.append(scores.masked_fill(future, -torch.inf).softmax(-1) @ project("v", kv))
    return torch.cat(outs, -1) @ layer["self_attn.o_proj.weight"].T


def plain_turn(x, theta):
    half = x.shape[-1] // 2
    points = torch.complex(x[..., :half], x[..., half:])
    speed = theta ** (-torch.arange(half) / half)
    angles = torch.arange(x.shape[1])[:, None] * speed
    turned = points * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), -1)


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"num_kv_heads": 2},
        {"num_kv_heads": 1},
        {"head_dim": 8},
        {"hidden_dim": 40},
        {"shared": True},
        {"rope_parameters": {"rope_theta": 500.0}},
    ],
    ids=str,
)
def test_logits_agree_with_a_plain_version(sizes):
    net, ids = small(**sizes).double(), some_ids()
    for weight in net.parameters():
        weight.data.mul_(8)  # so that every part matters
    theta = net.config.rope["rope_theta"]
    torch.testing.assert_close(net(ids), plain_logits(net, ids, theta), rtol=1e-4, atol=1e-4)


def test_hidden_dim_is_four_times_dmodel_unless_given():
    assert small().config.hidden_dim == 96
    assert small(hidden_dim=40).model.layers[0].mlp.up_proj.weight.shape == (40, 24)


def test_no_token_sees_those_after_it():
    net, ids = small(), some_ids()
    other = ids.clone()
    other[:, 6:] = 3
    assert torch.equal(net(ids)[:, :6], net(other)[:, :6])
    assert not torch.allclose(net(ids)[:, 6:], net(other)[:, 6:])


def test_float64_gives_the_gradient_of_a_difference_quotient():
    net, ids = small(n_layers=1, dmodel=8, num_heads=2).double(), some_ids(1, 5)
    loss = causalLLMLoss(net(ids), ids, 50)
    loss.backward()
    assert loss.dtype == torch.float64
    for weight in net.parameters():
        place = (0,) * weight.dim()
        with torch.no_grad():
            weight[place] += 1e-6
            above = causalLLMLoss(net(ids), ids, 50)
            weight[place] -= 2e-6
            below = causalLLMLoss(net(ids), ids, 50)
            weight[place] += 1e-6
        quotient = (above - below).item() / 2e-6
        assert weight.grad[place].item() == pytest.approx(quotient, rel=1e-4, abs=1e-9)


def test_rmsnorm_of_half_precision_does_not_overflow():
    x = torch.full((1, 4), 300.0, dtype=torch.float16)  # 300^2 is more than float16 can hold
    y = RMSNorm(4).half()(x)
    assert y.dtype == torch.float16
    assert torch.allclose(y.float(), torch.ones(1, 4), atol=1e-3)


def test_bfloat16_positions_stay_apart():
    like = torch.zeros(1, 300, 24)
    exact = rope_table(rope_settings(), 8, like)
    coarse = rope_table(rope_settings(), 8, like.bfloat16())
    for wide, narrow in zip(exact, coarse, strict=True):
        assert narrow.dtype == torch.bfloat16
        torch.testing.assert_close(narrow.float(), wide, rtol=0, atol=0.004)
    assert small().bfloat16()(some_ids()).isfinite().all()


def test_rotary_scores_depend_on_the_distance_alone():
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    cos, sin = rope_table(rope_settings(), 8, torch.zeros(1, 40, 1))
    turned_q, turned_k = rotate(q.expand(40, 8), cos, sin), rotate(k.expand(40, 8), cos, sin)
    scores = turned_q @ turned_k.T
    torch.testing.assert_close(scores[10, 3], scores[30, 23], rtol=1e-5, atol=1e-5)
    assert (scores[10, 3] - scores[10, 4]).abs() > 1e-3


def test_linear_scaling_slows_all_rotations_and_llama3_only_the_slow_ones():
    plain = rope_frequencies(rope_settings(), 32)
    linear = rope_frequencies(rope_settings({"rope_type": "linear", "factor": 4}), 32)
    torch.testing.assert_close(linear, plain / 4)
    llama3 = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 512,
    }
    scaled = rope_frequencies(rope_settings(llama3), 32)
    turns = 512 * plain / (2 * math.pi)
    assert torch.equal(scaled[turns > 4], plain[turns > 4])
    torch.testing.assert_close(scaled[turns < 1], plain[turns < 1] / 8)
    between = (turns > 1) & (turns < 4)
    assert between.any()
    assert ((scaled[between] < plain[between]) & (scaled[between] > plain[between] / 8)).all()


def test_theta_is_the_base_unless_rope_parameters_name_one():
    body = CausalLLama(50, 24, 4, n_layers=1, device="meta", theta=500.0)
    assert body.config.rope == {"rope_type": "default", "rope_theta": 500.0}
    both = rope_settings({"rope_theta": 7.0}, theta=500.0)
    assert both["rope_theta"] == 7.0


def test_dropout_acts_in_training_only():
    net, ids = small(dropout_prob=0.5), some_ids()
    assert not torch.equal(net(ids), net(ids))
    net.eval()
    assert torch.equal(net(ids), net(ids))
    assert torch.equal(small()(ids), small()(ids))


def test_tied_embedding_and_head_are_one_tensor():
    net = small(shared=True)
    assert net.lm_head.weight is net.model.embed_tokens.weight
    assert len(list(net.parameters())) == len(net.state_dict()) - 1
    assert not torch.equal(small().lm_head.weight, small().model.embed_tokens.weight)


def test_padding_is_zero_and_is_not_trained():
    net, ids = small(padding_idx=3), torch.tensor([[1, 3, 2, 3]])
    net(ids).sum().backward()
    embedding = net.model.embed_tokens.weight
    assert (embedding[3] == 0).all()
    assert (embedding.grad[3] == 0).all()
    assert (embedding.grad[2] != 0).any()


def test_a_negative_padding_index_means_none():
    assert small(padding_idx=-1).model.embed_tokens.padding_idx is None


def test_attributes():
    net = small()
    assert (net.max_seq, net.device) == (16, torch.device("cpu"))
    assert net.model(some_ids()).shape == (2, 10, 24)
    assert net(some_ids()).shape == (2, 10, 50)
    assert net(some_ids().int()).shape == (2, 10, 50)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ({"num_heads": 5}, "5 heads do not divide dmodel = 24 evenly"),
        ({"num_heads": 8}, "head_dim must be even.* is 3"),
        ({"num_kv_heads": 3}, "num_kv_heads = 3 does not divide num_heads = 4"),
        ({"num_kv_heads": 0}, "num_kv_heads = 0 does not divide num_heads = 4"),
        ({"num_heads": 0}, "num_heads must be at least 1, not 0"),
        ({"n_layers": -1}, "n_layers cannot be negative, and is -1"),
        ({"dropout_prob": 1.5}, r"dropout_prob must be in \[0, 1\), not 1.5"),
        ({"padding_idx": 50}, r"padding_idx = 50 is outside the vocabulary of 50 tokens \(0 to 49"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "type 'yarn' are not supported: use default"),
        ({"rope_parameters": {"rope_type": "linear"}}, "type 'linear' need 'factor'"),
        ({"rope_parameters": {"facto": 2}}, "type 'default' have no setting 'facto'"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor is not"),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit(sizes, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(**sizes)


def test_a_body_that_is_no_class():
    with pytest.raises(TypeError, match=r"write LLama\(CausalLLama, vocab_size"):
        LLama(32000, 288)


@pytest.mark.parametrize("token", [50, 40000, -1])
def test_a_token_outside_the_vocabulary_is_named_with_its_place(token):
    ids = some_ids()
    ids[1, 7] = token
    sentence = rf"token {token} at row 1, column 7 is outside the vocabulary of 50 tokens \(0 to 49"
    with pytest.raises(ValueError, match=sentence):
        small()(ids)


@pytest.mark.parametrize(
    ("ids", "error", "sentence"),
    [
        (torch.zeros(2, 17, dtype=torch.long), ValueError, "17 tokens is longer than .* of 16"),
        (torch.zeros(2, 4), TypeError, "must be torch.int64 and these are torch.float32"),
        (torch.zeros(4, dtype=torch.long), ValueError, r"shape \(batch, sequence\) .* have \(4,\)"),
    ],
)
def test_ids_of_the_wrong_kind(ids, error, sentence):
    with pytest.raises(error, match=sentence):
        small()(ids)
