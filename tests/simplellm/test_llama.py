"""The whole model: its sizes, what it starts from, and wrong input; transformers is its judge."""

import inspect

import pytest
import torch

from simplellm.blocks import RMSNorm, rope_table
from simplellm.config import rope_settings
from simplellm.llama import CausalLLama, LLama, LLamaFirstStage, LLamaLastStage, LLamaStage
from tests.simplellm.small import small


def some_ids(rows=2, columns=10, vocab_size=50):
    return torch.randint(0, vocab_size, (rows, columns), generator=torch.Generator().manual_seed(1))


def test_the_lab_model_has_26_398_368_parameters_in_57_tensors():
    net = LLama(CausalLLama, 32000, dmodel=288, num_heads=6, n_layers=6, device="meta")
    assert sum(p.numel() for p in net.parameters()) == 26_398_368
    assert len(net.state_dict()) == len(list(net.parameters())) == 57


SIGNATURES = {  # which scripts of the course call: names, order and defaults
    LLama: "mdl_type, vocab_size, dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06, "
    "dropout_prob=0.0, head_dim=None, ctx_size=2048, num_kv_heads=None, padding_idx=None, "
    "device='auto', n_layers=32, shared=False, rope_parameters=None",
    CausalLLama: "vocab_size, dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06, "
    "dropout_prob=0.0, head_dim=None, ctx_size=2048, num_kv_heads=None, padding_idx=None, "
    "device='auto', n_layers=32, theta=10000.0, rope_parameters=None",
    LLamaFirstStage: "vocab_size, dmodel, num_heads, n_layers=4, hidden_dim=None, norm_eps=1e-06, "
    "dropout_prob=0.0, ctx_size=2048, num_kv_heads=None, head_dim=None, padding_idx=None, "
    "device='auto', linear_implementation='torch', share_weights=False, theta=10000.0, "
    "de_embed=True, rope_parameters=None",
    LLamaStage: "dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06, dropout_prob=0.0, "
    "ctx_size=2048, n_layers=4, head_dim=None, num_kv_heads=None, padding_idx=None, "
    "device='auto', linear_implementation='torch', theta=10000.0, rope_parameters=None",
    LLamaLastStage: "vocab_size, dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06, "
    "dropout_prob=0.0, head_dim=None, ctx_size=2048, n_layers=4, num_kv_heads=None, "
    "padding_idx=None, device='auto', linear_implementation='torch', theta=10000.0, "
    "rope_parameters=None",
}


@pytest.mark.parametrize("cls", SIGNATURES)
def test_arguments_keep_their_order_and_defaults(cls):
    assert str(inspect.signature(cls)) == f"({SIGNATURES[cls]})"


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


def test_padding_is_zero_and_is_not_trained():
    net, ids = small(padding_idx=3), torch.tensor([[1, 3, 2, 3]])
    net(ids).sum().backward()
    embedding = net.model.embed_tokens.weight
    assert (embedding[3] == 0).all()
    assert (embedding.grad[3] == 0).all()
    assert (embedding.grad[2] != 0).any()
    assert small(padding_idx=-1).model.embed_tokens.padding_idx is None


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ({"num_heads": 5}, "5 heads do not divide dmodel = 24 evenly"),
        ({"num_heads": 8}, "head_dim must be even.* is 3"),
        ({"num_kv_heads": 3}, "num_kv_heads = 3 does not divide num_heads = 4"),
        ({"num_heads": 0}, "num_heads must be at least 1, not 0"),
        ({"n_layers": -1}, "n_layers must be at least 0, not -1"),
        ({"dropout_prob": 1.5}, r"dropout_prob must be in \[0, 1\), not 1.5"),
        ({"padding_idx": 50}, r"padding_idx = 50 is outside the vocabulary of 50 tokens \(0 to 49"),
        (
            {"rope_parameters": {"rope_type": "yarn", "factor": 2}},
            "type 'yarn' are not supported: use default",
        ),
        ({"rope_parameters": {"facto": 2}}, "rope_parameters have no setting 'facto': use rope_th"),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit(sizes, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(**sizes)


def test_a_body_that_is_no_class():
    with pytest.raises(TypeError, match=r"write LLama\(CausalLLama, vocab_size"):
        LLama(32000, 288)


@pytest.mark.parametrize(
    ("ids", "error", "sentence"),
    [
        ([[1, 2], [3, 50]], ValueError, r"token 50 at row 1, column 1 .* of 50 tokens \(0 to 49"),
        ([[1, -1], [3, 4]], ValueError, "token -1 at row 0, column 1 is outside the vocabulary"),
        ([[0] * 17], ValueError, "17 tokens is longer than .* of 16"),
        ([[0.0]], TypeError, "must be torch.int64 and these are torch.float32"),
        ([0, 1, 2, 3], ValueError, r"shape \(batch, sequence\) .* have \(4,\)"),
    ],
)
def test_ids_that_cannot_be_read(ids, error, sentence):
    with pytest.raises(error, match=sentence):
        small()(torch.tensor(ids))


def test_theta_is_the_base_unless_rope_parameters_name_one():
    body = CausalLLama(50, 24, 4, n_layers=1, device="meta", theta=500.0)
    assert body.config.rope == {"rope_type": "default", "rope_theta": 500.0}
    both = rope_settings({"rope_theta": 7.0}, theta=500.0)
    assert both["rope_theta"] == 7.0


def test_dropout_acts_in_training_only():
    net, ids = small(dropout_prob=0.5), some_ids()
    assert not torch.equal(net(ids), net(ids))
    net.eval()
    assert torch.equal(net(ids), net(ids.int()))  # int32 is read too
    assert torch.equal(small()(ids), small()(ids))
