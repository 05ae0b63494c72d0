"""Mixtures of experts: counted from a config.json, and on the cluster."""

import math
from dataclasses import replace
from itertools import combinations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from helpers.cluster import Layout, estimate, memory, preset
from helpers.cluster.experts import experts_messages, experts_seconds, nodes_reached
from helpers.cluster.layer import layer_seconds
from helpers.cluster.machine import all_gather_seconds
from helpers.cluster.parts import parts, stage_parameters
from helpers.cost import (
    MoE,
    flops,
    layer_activations,
    parameters,
    read_config,
)
from helpers.grade.task import ROOT
from simplellm.llama import CausalLLama, LLama
from simplellm.moe import Experts, give_experts

MIXTRAL = read_config(ROOT / "EP/configs/mixtral_8x7b.json")
DEEPSEEK = read_config(ROOT / "EP/configs/deepseek_v3.json")
H100 = preset("H100")


def test_published_sizes_to_ten_million():
    for model, total, active in ((MIXTRAL, 46.70, 12.88), (DEEPSEEK, 671.03, 37.55)):
        count = parameters(model)
        assert count.total / 1e9 == pytest.approx(total, abs=0.005)
        assert count.active / 1e9 == pytest.approx(active, abs=0.005)
    without = parameters(DEEPSEEK)
    assert (without.active - without.embedding) / 1e9 == pytest.approx(36.63, abs=0.005)
    assert "used by a token" in str(without) and "used by a token" not in str(
        parameters(read_config(ROOT / "TP/llama_7b_config.json"))
    )


def test_it_counts_our_own():
    sizes = Experts(experts=6, top_k=2, shared=1, hidden_dim=20)
    net = LLama(CausalLLama, 50, dmodel=16, num_heads=2, n_layers=3, hidden_dim=40, device="cpu")
    give_experts(net, sizes)
    config = {
        "model_type": "mixtral",
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": 3,
        "intermediate_size": 20,
        "vocab_size": 50,
        "num_local_experts": 6,
        "num_experts_per_tok": 2,
    }
    model = replace(read_config(config), moe=MoE(6, 2, 20, shared=1))
    assert parameters(model).total == sum(p.numel() for p in net.parameters())
    used = [p for name, p in net.named_parameters() if ".experts." not in name]
    expert = sum(p.numel() for p in net.model.layers[0].mlp.experts["0"].parameters())
    assert parameters(model).active == sum(p.numel() for p in used) + 3 * 2 * expert
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        net(torch.zeros(1, 8, dtype=torch.long))
    assert counted.get_total_flops() == flops(model, 1, 8, "weights").forward


def test_all_to_all():
    links = {link: replace(getattr(H100, link), latency=0.0) for link in ("inside", "between")}
    model, free = replace(MIXTRAL, moe=MoE(16, 2, 1024)), replace(H100, **links)
    alone, *layouts = (Layout(64, 4096, dp=16, ep=ep) for ep in (1, 8, 16))
    inside, across = (experts_seconds(model, layout, free) for layout in layouts)
    size = 2 * 2 * 2 * 4096 * model.hidden  # bytes of a device's tokens, to two experts and back
    assert inside == pytest.approx(7 / 8 * size / H100.inside.speed)
    assert across == pytest.approx(0.5 * size / H100.between.speed)
    assert experts_seconds(model, alone, H100) == 0


def test_shared_experts_take_less_memory_and_send_more():
    layout = {"batch": 64, "dp": 16, "pp": 4, "tp": 1, "zero": 1, "flash": True}
    done = [estimate(MIXTRAL, Layout(**layout, ep=ep), H100) for ep in (1, 2, 8)]
    totals = [each.memory.weights for each in done]
    assert totals[0] > totals[1] > totals[2]
    experts = 32 / 4 * 8 * parameters(MIXTRAL).expert
    assert totals[0] - totals[2] == pytest.approx(2 * experts * 7 / 8)
    states = [each.memory.optimizer for each in done]  # ZeRO-1 cuts it 16 ways in either case
    assert states[0] == pytest.approx(states[2])
    sent = [each.causes["tensor-parallel messages"] for each in done]
    assert sent[0] == 0 < sent[1] < sent[2]
    assert memory(MIXTRAL, Layout(**layout)).total > 0


def test_experts_beside_context():
    """The ranks of a sequence hold the same experts: ep devices still share one set of them."""
    layout = Layout(64, 8192, dp=8, pp=4, zero=1, flash=True, ep=4)
    both = replace(layout, cp=4)
    one, four = (estimate(MIXTRAL, each, H100).memory for each in (layout, both))
    assert four.weights == one.weights
    assert four.optimizer == pytest.approx(one.optimizer / 4)
    assert four.activations == pytest.approx(one.activations / 4)
    # 32 ranks have the same weights, and 8 the same expert: ep is folded over the 4 ranks of a
    # sequence, which are neighbors, so 2 of the 8 are on one node of 8 devices.
    experts = parameters(MIXTRAL).expert * 32 / 4 * 8 / 4
    rest = max(stage_parameters(MIXTRAL, both)) - experts
    seconds = all_gather_seconds(H100, 4 * experts, 8, 2) + all_gather_seconds(
        H100, 4 * rest, 32, 8
    )
    assert parts(MIXTRAL, both, H100).reduce == pytest.approx(seconds)


@pytest.mark.parametrize("limit", [0, 2])
def test_nodes_of_a_token_by_counting_every_choice(limit):
    """Six experts on three nodes, two chosen: all 15 pairs, or those on two nodes."""
    moe, seen = MoE(6, 2, 8, nodes=limit), []
    for nodes in combinations(range(3), limit or 3):
        among = [e for e in range(6) if e // 2 in nodes]
        seen += [len({e // 2 for e in pair}) for pair in combinations(among, 2)]
    assert nodes_reached(moe, 3) == pytest.approx(sum(seen) / len(seen))


def test_the_bytes_of_a_dispatch_counted_by_hand():
    """16 ranks on two nodes, 8 experts chosen of 32, hidden 4096, 100 tokens."""
    model = replace(MIXTRAL, moe=MoE(32, 8, 1024))
    plain = Layout(16, 100, dp=16, ep=16)
    there, back = experts_messages(model, plain, H100)
    assert there == back == (2 * 100 * 4096 * 8 * 7 / 16, 2 * 100 * 4096 * 8 / 2)
    # Sent once to the other node if one of the 16 experts there is chosen: nearly always.
    other = 1 - math.comb(16, 8) / math.comb(32, 8)
    newer = replace(plain, dedup=True, dispatch_bytes=1)
    there, back = experts_messages(model, newer, H100)
    assert there[1] == pytest.approx(100 * 4096 * other) and back[1] == 2 * there[1]
    assert there[0] == pytest.approx(100 * 4096 * 8 * 7 / 8)  # all that arrives is passed on
    assert experts_seconds(model, newer, H100) < experts_seconds(model, plain, H100) / 3


@pytest.mark.parametrize(("k", "times"), [(1, 1), (2, 1.5), (4, 2.5)])
def test_tensor_parallel_ranks_gather_every_row_of_a_token(k, times):
    """Attention gathers and scatters one row for a token, the experts' products k: (2 + 2k)/4."""
    free = replace(H100, inside=replace(H100.inside, latency=0.0))
    layout = Layout(8, 4096, tp=2, sequence_parallel=True, flash=True, recompute="none")
    one = layer_seconds(replace(MIXTRAL, moe=None), layout, free)[0].network
    some = layer_seconds(replace(MIXTRAL, moe=MoE(8, k, 14336)), layout, free)[0].network
    assert some == pytest.approx(times * one)


def test_experts_folded_over_the_ranks_of_a_sequence():
    """Eight devices hold cp 8 and ep 8 at once, and all of it stays on the node."""
    layout = Layout(8, 8192, cp=8, ep=8, flash=True)
    assert layout.gpus == 8 and layout.on_a_node("ep", 8) == 8
    assert estimate(MIXTRAL, layout, H100).seconds > 0


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ({"dispatch_bytes": 4}, "a value has 1 byte or 2"),
        ({"dp": 8, "ep": 3}, "ep 3 does not divide 8 replicas"),
        ({"dp": 16, "ep": 16}, "ep 16 does not divide 8 experts"),
    ],
)
def test_what_does_not_go(layout, words):
    with pytest.raises(ValueError, match=words):
        estimate(MIXTRAL, Layout(64, **layout), H100)


def test_wrong_sizes():
    with pytest.raises(ValueError, match="a token chooses 3 of 2 experts"):
        MoE(2, 3, 8)
    with pytest.raises(ValueError, match="width must be 1 or more"):
        MoE(2, 1, 0)
    with pytest.raises(ValueError, match="latent attention"):
        layer_activations(DEEPSEEK, 1, 128)
    fields = {**{"model_type": "mixtral"}, "hidden_size": 8, "num_attention_heads": 2}
    fields |= {"num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 9}
    with pytest.raises(ValueError, match="lacks the field 'num_local_experts'"):
        read_config(fields)
