"""Stages cut from a model have its bits and gradients, and each weight is in one of them."""

import torch

from simplellm.devices import say_once
from simplellm.llama import LLamaFirstStage, LLamaLastStage, LLamaStage
from simplellm.losses import causalLLMLoss
from simplellm.slicing import slice_stage, slice_stages, whole_name, whole_weights
from tests.said import said
from tests.simplellm.small import SIZES, small

IDS = torch.randint(0, 50, (3, 12), generator=torch.Generator().manual_seed(1))


def run(stages):
    x = stages[0].embed(IDS)
    for stage in stages[1:]:
        x = stage(x)
    return x


def test_slices_give_the_bits_and_the_gradients_of_the_whole_model():
    sizes = {"num_kv_heads": 2, "head_dim": 8, "padding_idx": 3}
    net = small(n_layers=6, rope_parameters={"rope_theta": 500.0}, **sizes)
    stages = slice_stages(net, [0, 5, 0, 1])
    kinds = [LLamaFirstStage, *[LLamaStage] * (len(stages) - 2), LLamaLastStage]
    assert [type(stage) for stage in stages] == kinds
    heads = [{name.partition(".")[0] for name in stage.state_dict()} for stage in stages]
    assert heads == [{"_embedding"}, {"layers"}, set(), {"layers", "norm", "lm_head"}]
    assert "layers.4.self_attn.q_proj.weight" in stages[1].state_dict()
    logits, cut = net(IDS), run(stages)
    assert torch.equal(cut, logits)
    causalLLMLoss(logits, IDS, 50).backward()
    causalLLMLoss(cut, IDS, 50).backward()
    gradients = {name: weight.grad for name, weight in net.named_parameters()}
    for stage in stages:
        for name, weight in stage.named_parameters():
            assert torch.equal(weight.grad, gradients.pop(whole_name(name, stage.first_layer)))
    assert not gradients  # every weight of the model is in exactly one stage
    found, right = whole_weights(stages), net.state_dict()
    assert found.keys() == right.keys() and all(torch.equal(found[n], right[n]) for n in right)


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


def test_stages_that_cannot_be_cut():
    net = small(n_layers=6)
    assert "stages of [2, 2] layers do not add up to the" in said(slice_stages, net, [2, 2])
    for stage in (3, -1):
        assert f"no stage {stage}: 3 stages are numbered 0 to 2" in said(slice_stage, net, stage, 3)


def test_a_first_stage_owns_no_norm_and_head_until_forward_end_makes_them(capsys):
    say_once.cache_clear()
    first = LLamaFirstStage(50, n_layers=2, **SIZES).double()
    assert first.lm_head is None
    logits = first.forward_end(first.embed(IDS))
    assert torch.equal(logits, first.lm_head(first.norm(first.embed(IDS))))
    assert torch.equal(logits, first.forward_end(first(IDS)))  # the same head again
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "call make_head() first" in told
    say_once.cache_clear()
    first = LLamaFirstStage(50, n_layers=1, **SIZES)
    first.make_head()  # before the optimizer
    causalLLMLoss(first.forward_end(first.embed(IDS)), IDS, 50).backward()
    assert first.lm_head.weight.grad is not None and not capsys.readouterr().err
    ends = LLamaFirstStage(50, n_layers=0, **SIZES)
    assert torch.equal(ends.embed(IDS), ends._embedding.weight[IDS])
    assert {"norm.weight", "lm_head.weight", "_embedding.weight"} == set(ends.state_dict())
    tied = LLamaFirstStage(50, n_layers=1, share_weights=True, **SIZES)
    assert tied.lm_head.weight is tied._embedding.weight
    without = LLamaFirstStage(50, n_layers=1, de_embed=False, **SIZES)
    no_head = said(without.forward_end, without.embed(IDS), error=RuntimeError)
    assert "no final norm and head: build it with de_embed=True" in no_head
