"""Pipeline stages: drawn one by one, and cut from one whole model."""

import pytest
import torch

from simplellm.devices import say_once
from simplellm.llama import (
    LLamaFirstStage,
    LLamaLastStage,
    LLamaStage,
    slice_stage,
    slice_stages,
    whole_name,
)
from simplellm.losses import causalLLMLoss
from simplellm.slicing import whole_weights
from tests.simplellm.small import SIZES, small

IDS = torch.randint(0, 50, (3, 12), generator=torch.Generator().manual_seed(1))


def whole(**sizes):
    return small(n_layers=6, **sizes)


def run(stages, ids=IDS):
    x = stages[0].embed(ids)
    for stage in stages[1:]:
        x = stage(x)
    return x


@pytest.mark.parametrize(
    ("n_stages", "sizes"),
    [
        (3, {"num_kv_heads": 2, "head_dim": 8, "padding_idx": 3}),
        (2, {"rope_parameters": {"rope_theta": 500.0}}),
        ([0, 5, 0, 1], {}),
    ],
    ids=str,
)
def test_slices_give_the_bits_and_the_gradients_of_the_whole_model(n_stages, sizes):
    net = whole(**sizes)
    stages = slice_stages(net, n_stages)
    kinds = [LLamaFirstStage, *[LLamaStage] * (len(stages) - 2), LLamaLastStage]
    assert [type(stage) for stage in stages] == kinds
    layers = [len(stage.layers) for stage in stages]
    assert layers == {3: [2, 2, 2], 2: [3, 3]}.get(len(stages), n_stages)
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
    assert len(whole_weights(stages[0])) == len(stages[0].state_dict())


def test_a_slice_is_a_copy_draws_nothing_and_keeps_type_and_mode():
    net = whole(dropout_prob=0.5).double().eval()
    state = torch.random.get_rng_state()
    stage = slice_stage(net, 1, 3)
    assert torch.equal(state, torch.random.get_rng_state())
    assert stage.first_layer == 2
    assert not stage.training
    assert stage.config.dropout_prob == 0.5
    weight = stage.layers[0].mlp.up_proj.weight
    assert weight.dtype == torch.float64 and weight.requires_grad
    with torch.no_grad():
        weight.zero_()
    assert (net.model.layers[2].mlp.up_proj.weight != 0).any()


def test_tied_slices_have_a_copy_each_whose_gradients_add_up():
    net = whole(shared=True)
    stages = slice_stages(net, 2)
    assert all(stage.config.shared for stage in stages)
    causalLLMLoss(net(IDS), IDS, 50).backward()
    logits = run(stages)
    assert torch.equal(logits, net(IDS))
    causalLLMLoss(logits, IDS, 50).backward()
    both = stages[0]._embedding.weight.grad + stages[1].lm_head.weight.grad
    torch.testing.assert_close(both, net.model.embed_tokens.weight.grad)


@pytest.mark.parametrize(
    ("n_stages", "sentence"),
    [
        (7, "6 layers cannot fill 7 stages: use at most 6"),
        (0, "at least one stage, not 0"),
        ([2, 2], r"stages of \[2, 2\] layers do not add up to the model's 6 layers"),
        ([-1, 7], r"stages of \[-1, 7\] layers do not add up"),
        ([], r"stages of \[\] layers do not add up"),
    ],
)
def test_stages_that_cannot_be_cut(n_stages, sentence):
    with pytest.raises(ValueError, match=sentence):
        slice_stages(whole(), n_stages)
    for stage in (3, -1):
        with pytest.raises(ValueError, match=f"no stage {stage}: 3 stages are numbered 0 to 2"):
            slice_stage(whole(), stage, 3)


# The norm and head of the first stage.


def test_a_first_stage_owns_no_norm_and_head_that_never_run():
    first = LLamaFirstStage(50, n_layers=2, **SIZES)
    causalLLMLoss(LLamaLastStage(50, n_layers=1, **SIZES)(first.embed(IDS)), IDS, 50).backward()
    assert all(weight.grad is not None for weight in first.parameters())
    assert not {"norm.weight", "lm_head.weight"} & set(first.state_dict())


def test_forward_end_makes_them_and_says_so_once(capsys):
    say_once.cache_clear()
    first = LLamaFirstStage(50, n_layers=2, **SIZES).double()
    x = first.embed(IDS)
    logits = first.forward_end(x)
    assert logits.shape == (3, 12, 50) and logits.dtype == torch.float64
    assert torch.equal(logits, first.lm_head(first.norm(x)))
    assert torch.equal(logits, first.forward_end(x))
    assert {"norm.weight", "lm_head.weight"} < set(first.state_dict())
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "call make_head() first" in said


def test_make_head_before_the_optimizer_trains_them(capsys):
    say_once.cache_clear()
    first = LLamaFirstStage(50, n_layers=1, **SIZES)
    first.make_head()
    head = first.lm_head
    first.make_head()
    assert first.lm_head is head
    optimizer = torch.optim.SGD(first.parameters(), lr=1.0)
    before = head.weight.detach().clone()
    causalLLMLoss(first.forward_end(first.embed(IDS)), IDS, 50).backward()
    optimizer.step()
    assert not torch.equal(before, head.weight)
    assert not capsys.readouterr().err


def test_a_stage_of_two_ends_has_its_head_from_the_start():
    ends = LLamaFirstStage(50, n_layers=0, **SIZES)
    assert {"norm.weight", "lm_head.weight", "_embedding.weight"} == set(ends.state_dict())
    assert torch.equal(ends(IDS), ends._embedding(IDS))
    assert ends.forward_end(ends.embed(IDS)).shape == (3, 12, 50)


def test_a_first_stage_without_a_head_refuses_forward_end():
    first = LLamaFirstStage(50, n_layers=1, de_embed=False, **SIZES)
    with pytest.raises(RuntimeError, match="no final norm and head: build it with de_embed=True"):
        first.forward_end(first.embed(IDS))


# Wrong input.


@pytest.mark.parametrize("x", [IDS, torch.zeros(3, 12, 25)])
def test_a_stage_reads_hidden_states_only(x):
    with pytest.raises(ValueError, match=r"hidden states of shape \(batch, sequence, 24\) and got"):
        LLamaStage(n_layers=1, **SIZES)(x)


def test_another_linear_layer_is_refused():
    with pytest.raises(ValueError, match="linear_implementation 'fast' is not supported"):
        LLamaLastStage(50, linear_implementation="fast", **SIZES)
