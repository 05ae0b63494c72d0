"""The whole model: its sizes, what it starts from, and wrong input; transformers is its judge."""

import pytest
import torch

from simplellm.blocks import RMSNorm, rope_table
from simplellm.config import rope_settings
from simplellm.llama import CausalLLama, LLama
from tests.simplellm.small import small

IDS = torch.randint(0, 50, (2, 10), generator=torch.Generator().manual_seed(1))


def test_the_lab_model_has_26_398_368_parameters_in_57_tensors():
    state = torch.random.get_rng_state()
    net = LLama(CausalLLama, 32000, dmodel=288, num_heads=6, n_layers=6, device="meta")
    assert torch.equal(state, torch.random.get_rng_state())  # meta draws nothing
    assert sum(p.numel() for p in net.parameters()) == 26_398_368
    assert len(net.state_dict()) == len(list(net.parameters())) == 57


def test_weights_start_at_a_spread_of_0_02_and_norms_at_1():
    net, again = (small(vocab_size=500, dmodel=64) for _ in range(2))
    for (name, weight), other in zip(net.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(weight, other)  # a seed is one model
        if "norm" in name:
            assert (weight == 1).all()
        else:
            assert weight.std().item() == pytest.approx(0.02, rel=0.1), name
            assert weight.mean().item() == pytest.approx(0, abs=2e-3), name


def test_half_precision_does_not_overflow_and_positions_stay_apart():
    x = torch.full((1, 4), 300.0, dtype=torch.float16)  # 300^2 is more than float16 can hold
    y = RMSNorm(4).half()(x)
    assert y.dtype == torch.float16 and torch.allclose(y.float(), torch.ones(1, 4), atol=1e-3)
    like = torch.zeros(1, 300, 24)
    exact = rope_table(rope_settings(), 8, like)
    coarse = rope_table(rope_settings(), 8, like.bfloat16())
    for wide, narrow in zip(exact, coarse, strict=True):
        assert narrow.dtype == torch.bfloat16
        torch.testing.assert_close(narrow.float(), wide, rtol=0, atol=0.004)


def test_padding_is_zero_and_is_not_trained():
    net, ids = small(padding_idx=3), torch.tensor([[1, 3, 2, 3]])
    net(ids).sum().backward()
    embedding = net.model.embed_tokens.weight
    assert (embedding[3] == 0).all() and (embedding.grad[3] == 0).all()
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
        ({"rope_parameters": {"rope_type": "yarn"}}, "type 'yarn' are not supported: use default"),
        ({"rope_parameters": {"facto": 2}}, "rope_parameters have no setting 'facto': use rope_th"),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit(sizes, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(**sizes)
    with pytest.raises(TypeError, match=r"write LLama\(CausalLLama, vocab_size"):
        LLama(32000, 288)


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([[1, 2], [3, 50]], r"token 50 at row 1, column 1 .* of 50 tokens \(0 to 49"),
        ([[1, -1], [3, 4]], "token -1 at row 0, column 1 is outside the vocabulary"),
        ([[0] * 17], "17 tokens is longer than .* of 16"),
        ([0, 1, 2, 3], r"shape \(batch, sequence\) .* have \(4,\)"),
    ],
)
def test_ids_that_cannot_be_read(ids, sentence):
    with pytest.raises(ValueError, match=sentence):
        small()(torch.tensor(ids))
