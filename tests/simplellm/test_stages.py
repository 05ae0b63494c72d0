"""Pipeline stages: drawn one by one, and cut from one whole model."""

import inspect

import pytest
import torch

from simplellm.devices import say_once
from simplellm.llama import CausalLLama, LLama, LLamaFirstStage, LLamaLastStage, LLamaStage
from simplellm.losses import causalLLMLoss
from simplellm.slicing import slice_stage, slice_stages, whole_name, whole_weights
from tests.simplellm.small import SIZES, small

IDS = torch.randint(0, 50, (3, 12), generator=torch.Generator().manual_seed(1))
ORDER = {  # in which scripts of the course give sizes by place
    LLama: "mdl_type, vocab_size, dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06",
    CausalLLama: "vocab_size, dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06",
    LLamaFirstStage: "vocab_size, dmodel, num_heads, n_layers=4, hidden_dim=None, norm_eps=1e-06",
    LLamaStage: "dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06, dropout_prob=0.0",
    LLamaLastStage: "vocab_size, dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-06",
}


@pytest.mark.parametrize("cls", ORDER)
def test_arguments_keep_their_order_and_defaults(cls):
    said = str(inspect.signature(cls))
    assert said.startswith(f"({ORDER[cls]}, ") and "ctx_size=2048" in said
    layers = 4 if "Stage" in cls.__name__ else 32
    assert f"n_layers={layers}" in said and "device='auto'" in said


def run(stages):
    x = stages[0].embed(IDS)
    for stage in stages[1:]:
        x = stage(x)
    return x


@pytest.mark.parametrize(
    ("n_stages", "layers", "sizes"),
    [
        (3, [2, 2, 2], {"num_kv_heads": 2, "head_dim": 8, "padding_idx": 3}),
        (4, [2, 2, 1, 1], {"rope_parameters": {"rope_theta": 500.0}}),
        ([0, 5, 0, 1], [0, 5, 0, 1], {}),
    ],
    ids=str,
)
def test_slices_give_the_bits_and_the_gradients_of_the_whole_model(n_stages, layers, sizes):
    net = small(n_layers=6, **sizes)
    stages = slice_stages(net, n_stages)
    kinds = [LLamaFirstStage, *[LLamaStage] * (len(stages) - 2), LLamaLastStage]
    assert [type(stage) for stage in stages] == kinds
    assert [len(stage.layers) for stage in stages] == layers
    logits, cut = net(IDS), run(stages)
    assert torch.equal(cut, logits)
    causalLLMLoss(logits, IDS, 50).backward()
    causalLLMLoss(cut, IDS, 50).backward()
    gradients = {name: weight.grad for name, weight in net.named_parameters()}
    for stage in stages:
        for name, weight in stage.named_parameters():
            assert torch.equal(weight.grad, gradients.pop(whole_name(name, stage.first_layer)))
    assert not gradients  # every weight of the model is in exactly one stage
    found = whole_weights(iter(stages))
    assert found.keys() == net.state_dict().keys() == whole_weights(net).keys()
    assert all(torch.equal(found[name], weight) for name, weight in net.state_dict().items())


def test_a_slice_is_a_copy_draws_nothing_and_keeps_type_and_mode():
    net = small(n_layers=6, dropout_prob=0.5).double().eval()
    state = torch.random.get_rng_state()
    for stage in (slice_stage(net, 1, 3), slice_stage(net, 0, 1).model):
        assert not stage.training and stage.config.dropout_prob == 0.5
        weight = stage.layers[0].mlp.up_proj.weight
        assert weight.dtype == torch.float64 and weight.requires_grad
        weight.data.zero_()
    assert torch.equal(state, torch.random.get_rng_state())
    assert all((layer.mlp.up_proj.weight != 0).any() for layer in net.model.layers)


def test_tied_slices_have_a_copy_each_whose_gradients_add_up():
    net = small(n_layers=6, shared=True)
    stages = slice_stages(net, 2)
    assert all(stage.config.shared for stage in stages)
    causalLLMLoss(net(IDS), IDS, 50).backward()
    logits = run(stages)
    assert torch.equal(logits, net(IDS))
    causalLLMLoss(logits, IDS, 50).backward()
    both = stages[0]._embedding.weight.grad + stages[1].lm_head.weight.grad
    torch.testing.assert_close(both, net.model.embed_tokens.weight.grad)


def test_stages_that_cannot_be_cut():
    net = small(n_layers=6)
    with pytest.raises(ValueError, match="6 layers cannot fill 7 stages: use at most 6"):
        slice_stages(net, 7)
    with pytest.raises(ValueError, match=r"stages of \[2, 2\] layers do not add up to the model's"):
        slice_stages(net, [2, 2])
    for stage in (3, -1):
        with pytest.raises(ValueError, match=f"no stage {stage}: 3 stages are numbered 0 to 2"):
            slice_stage(net, stage, 3)


def test_a_first_stage_owns_no_norm_and_head_until_forward_end_makes_them(capsys):
    say_once.cache_clear()
    first = LLamaFirstStage(50, n_layers=2, **SIZES).double()
    last = LLamaLastStage(50, n_layers=1, **SIZES).double()
    causalLLMLoss(last(first.embed(IDS)), IDS, 50).backward()
    assert all(weight.grad is not None for weight in first.parameters())
    assert whole_weights(first).keys() >= {"model.layers.1.mlp.up_proj.weight"}  # from layer 0 on
    logits = first.forward_end(first.embed(IDS))
    assert logits.shape == (3, 12, 50) and logits.dtype == torch.float64
    assert torch.equal(logits, first.lm_head(first.norm(first.embed(IDS))))
    assert torch.equal(logits, first.forward_end(first.embed(IDS)))
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "call make_head() first" in said
    say_once.cache_clear()
    first = LLamaFirstStage(50, n_layers=1, **SIZES)
    first.make_head()  # before the optimizer
    causalLLMLoss(first.forward_end(first.embed(IDS)), IDS, 50).backward()
    assert first.lm_head.weight.grad is not None and not capsys.readouterr().err
    tied = LLamaFirstStage(50, n_layers=1, share_weights=True, **SIZES)
    assert tied.lm_head.weight is tied._embedding.weight
    without = LLamaFirstStage(50, n_layers=1, de_embed=False, **SIZES)
    with pytest.raises(RuntimeError, match="no final norm and head: build it with de_embed=True"):
        without.forward_end(without.embed(IDS))


def test_a_stage_of_two_ends_has_its_head_from_the_start():
    ends = LLamaFirstStage(50, n_layers=0, **SIZES)
    assert {"norm.weight", "lm_head.weight", "_embedding.weight"} == set(ends.state_dict())
    assert torch.equal(ends(IDS), ends._embedding(IDS))


@pytest.mark.parametrize("x", [IDS, torch.zeros(3, 12, 25)])
def test_a_stage_reads_hidden_states_only(x):
    with pytest.raises(ValueError, match=r"hidden states of shape \(batch, sequence, 24\) and got"):
        LLamaStage(n_layers=1, **SIZES)(x)
