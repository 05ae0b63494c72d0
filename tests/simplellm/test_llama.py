"""The model and its loss are those of transformers, a seed is one model, wrong input a sentence."""

import math

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from simplellm.blocks import RMSNorm, rope_table
from simplellm.config import rope_settings
from simplellm.llama import CausalLLama, LLama
from simplellm.losses import causalLLMLoss, check_finite, perplexityLoss
from tests.simplellm.small import small

IDS = torch.randint(0, 50, (2, 60), generator=torch.Generator().manual_seed(1))
IDS[0, 5:8] = 3
THEIRS = "num_kv_heads num_key_value_heads, head_dim head_dim, hidden_dim intermediate_size, "
THEIRS += "norm_eps rms_norm_eps, padding_idx pad_token_id, shared tie_word_embeddings, "
THEIRS += "rope rope_parameters, dmodel hidden_size, num_heads num_attention_heads, "
THEIRS += "n_layers num_hidden_layers, ctx_size max_position_embeddings, vocab_size vocab_size"


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"num_kv_heads": 2, "head_dim": 16, "device": "cuda"},
        {"hidden_dim": 40, "norm_eps": 1e-3, "rope_parameters": {"rope_theta": 500.0}},
        {"shared": True, "padding_idx": 3, "num_kv_heads": 1},
    ],
    ids=str,
)
def test_transformers_loads_it_strictly_and_gives_the_same_logits_loss_and_gradients(sizes):
    # Weights four times as large, so that every part matters.
    net = small(times=4, dmodel=32, ctx_size=64, dropout_prob=0.25, **sizes).eval()
    named = (pair.split() for pair in THEIRS.split(", "))
    config = {theirs: getattr(net.config, ours) for ours, theirs in named}
    judge = LlamaForCausalLM(LlamaConfig(**config)).eval()
    judge.load_state_dict(net.state_dict(), strict=True)
    answer, logits = judge(input_ids=IDS, labels=IDS), net(IDS)
    loss = causalLLMLoss(logits, IDS, 50)
    assert (net.max_seq, net.device) == (64, torch.device("cpu"))
    assert torch.equal(net.lm_head(net.model(IDS)), logits)
    torch.testing.assert_close(logits, answer.logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loss, answer.loss, rtol=1e-6, atol=1e-6)
    loss.backward()
    answer.loss.backward()
    theirs = dict(judge.named_parameters())
    assert set(theirs) == {name for name, _ in net.named_parameters()}
    for name, weight in net.named_parameters():
        torch.testing.assert_close(weight.grad, theirs[name].grad, rtol=1e-4, atol=1e-6)


def test_a_seed_is_one_model_and_a_model_of_shapes_draws_nothing():
    state = torch.random.get_rng_state()
    shapes = LLama(CausalLLama, 32000, dmodel=288, num_heads=6, n_layers=6, device="meta")
    assert torch.equal(state, torch.random.get_rng_state())
    assert sum(p.numel() for p in shapes.parameters()) == 26_398_368
    assert len(list(shapes.parameters())) == 57
    net, again = small(padding_idx=3), small(padding_idx=3)
    for (name, weight), other in zip(net.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(weight, other) and ("norm" not in name or (weight == 1).all())
        both = weight.mean().item(), weight.std().item()
        assert weight.dim() == 1 or both == pytest.approx((0, 0.02), abs=4e-3)
    assert (net.model.embed_tokens.weight[3] == 0).all()
    assert small(padding_idx=-1).model.embed_tokens.padding_idx is None


def test_half_precision_does_not_overflow_and_positions_stay_apart():
    x = torch.full((1, 4), 300.0, dtype=torch.float16)  # 300^2 is more than float16 can hold
    y = RMSNorm(4).half()(x)
    assert y.dtype == torch.float16 and torch.allclose(y.float(), torch.ones(1, 4), atol=1e-3)
    like = torch.zeros(1, 300, 24)
    both = (rope_table(rope_settings(), 8, x) for x in (like, like.bfloat16()))
    for wide, narrow in zip(*both, strict=True):
        assert narrow.dtype == torch.bfloat16
        torch.testing.assert_close(narrow.float(), wide, rtol=0, atol=0.004)


GENERATOR = torch.Generator().manual_seed(0)
LOGITS = torch.randn(2, 5, 7, generator=GENERATOR)
TARGET = torch.randint(0, 7, (2, 5), generator=GENERATOR)


def surprise(row, i):
    """Minus the log-probability of the token that follows position i."""
    return -LOGITS[row, i].log_softmax(-1)[TARGET[row, i + 1]].item()


@pytest.mark.parametrize("pad_idx", [-100, 3])
def test_the_loss_is_the_mean_over_all_next_tokens_that_are_not_padding(pad_idx):
    target = TARGET.clone()
    target[0, 3:] = pad_idx
    kept = [(row, i) for row in range(2) for i in range(4) if target[row, i + 1] != pad_idx]
    loss = causalLLMLoss(LOGITS, target, 7, pad_idx)
    assert loss.item() == pytest.approx(sum(surprise(*at) for at in kept) / len(kept), rel=1e-6)
    assert causalLLMLoss(LOGITS.double(), TARGET, 7).dtype == torch.float64
    half = LOGITS.bfloat16()
    assert torch.equal(causalLLMLoss(half, TARGET, 7), causalLLMLoss(half.float(), TARGET, 7))
    for logits, nothing in ((LOGITS, torch.full((2, 5), -100)), (LOGITS[:, :1], TARGET[:, :1])):
        logits = logits.clone().requires_grad_()
        (loss := causalLLMLoss(logits, nothing, 7)).backward()
        assert loss.item() == 0 and (logits.grad == 0).all()


def test_perplexity_is_averaged_over_sequences_and_counts_what_the_mask_lets_through():
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    means = [sum(surprise(row, i) for i in range(most)) / most for row, most in ((0, 2), (1, 4))]
    found = perplexityLoss(LOGITS, TARGET, mask)
    assert found.item() == pytest.approx(sum(map(math.exp, means)) / 2, rel=1e-5)
    assert torch.equal(perplexityLoss(LOGITS, TARGET.where(mask.bool(), -100)), found)
    mask[0] = 0
    assert perplexityLoss(LOGITS, TARGET, mask).item() == pytest.approx(
        math.exp(means[1]), rel=1e-5
    )
    assert perplexityLoss(LOGITS, TARGET, torch.zeros(2, 5)).isnan()


OUTSIDE = TARGET.clone()
OUTSIDE[1, 2] = 7
WRONG = [
    (lambda: small(num_kv_heads=3), "num_kv_heads = 3 does not divide num_heads = 4"),
    (lambda: small(num_heads=0), "num_heads must be at least 1, not 0"),
    (lambda: small(n_layers=-1), "n_layers must be at least 0, not -1"),
    (lambda: small(dropout_prob=1.5), r"dropout_prob must be in \[0, 1\), not 1.5"),
    (lambda: small(rope_parameters={"rope_type": "yarn"}), "'yarn' are not supported: use default"),
    (lambda: small(rope_parameters={"facto": 2}), "have no setting 'facto': use rope_theta"),
    (lambda: LLama(32000, 288), r"write LLama\(CausalLLama, vocab_size"),
    (lambda: small()(torch.tensor([[1, 2], [3, 50]])), r"token 50 at row 1, column 1 .* \(0 to 49"),
    (lambda: small()(torch.tensor([[1, -1]])), "token -1 at row 0, column 1 is outside the voc"),
    (lambda: small()(torch.zeros(1, 17).long()), "17 tokens is longer than .* of 16"),
    (lambda: small()(torch.arange(4)), r"shape \(batch, sequence\) .* have \(4,\)"),
    (lambda: small().model.run_layers(IDS), r"shape \(batch, sequence, 24\) and got \(2, 60\)"),
    (lambda: causalLLMLoss(LOGITS, TARGET, 8), "have 7 classes and vocab_size is 8"),
    (lambda: causalLLMLoss(LOGITS, TARGET[:, :4], 7), r"do not fit: \(2, 5, 7\) and \(2, 4\)"),
    (lambda: perplexityLoss(LOGITS[0], TARGET[0]), r"do not fit: \(5, 7\) and \(5,\)"),
    (lambda: perplexityLoss(LOGITS, OUTSIDE), "token 7 at row 1, column 2 is outside the voc"),
    (lambda: check_finite(-math.inf, 3), "the loss became -inf at step 3"),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG)
def test_what_does_not_fit_is_one_sentence(call, sentence):
    with pytest.raises((ValueError, TypeError, FloatingPointError), match=sentence):
        call()
