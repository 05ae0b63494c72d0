"""transformers is the second opinion: our weights under its names, and the same answers."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from simplellm.losses import causalLLMLoss
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
        {"num_kv_heads": 2},
        {"head_dim": 16},
        {"hidden_dim": 40, "norm_eps": 1e-3},
        {"padding_idx": 3},
        {"shared": True, "padding_idx": 3, "num_kv_heads": 2},
        {"rope_parameters": {"rope_theta": 500.0}},
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
    answer = judge(input_ids=IDS, labels=IDS)
    logits = net(IDS)
    loss = causalLLMLoss(logits, IDS, 50)
    torch.testing.assert_close(logits, answer.logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loss, answer.loss, rtol=1e-6, atol=1e-6)
    loss.backward()
    answer.loss.backward()
    theirs = dict(judge.named_parameters())
    assert set(theirs) == {name for name, _ in net.named_parameters()}
    for name, weight in net.named_parameters():
        torch.testing.assert_close(weight.grad, theirs[name].grad, rtol=1e-4, atol=1e-6)
