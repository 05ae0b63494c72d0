"""Latent attention, experts that are cut in their own way, FP8, fused attention, DualPipe."""

from dataclasses import replace

import pytest

from helpers.cluster import Layout, estimate, preset
from helpers.cluster.layer import Seconds, layer_seconds
from helpers.cluster.machine import Interconnect, all_gather_seconds, all_reduce_seconds
from helpers.cluster.memory import layers_in_flight, memory
from helpers.cluster.parts import Parts, expert_parameters, parts, stage_parameters
from helpers.cluster.products import products_seconds
from helpers.cluster.replicas import across_seconds
from helpers.cost import flops, gpt, parameters, read_config
from helpers.grade.task import ROOT

MIXTRAL = read_config(ROOT / "EP/configs/mixtral_8x7b.json")
DEEPSEEK = read_config(ROOT / "EP/configs/deepseek_v3.json")
H100 = preset("H100")
FREE = Interconnect(1e30, 1.0, 0.0)
IDEAL = replace(
    *(H100,),
    **{"inside": FREE, "between": FREE, "memory_bandwidth": 1e30, "launch": 0.0, "straggle": 0.0},
    **{"matmul": 1.0, "matmul_half": 0.0, "step": 0.0, "fused": 0.0},
)
FOLDED = {"sequence_parallel": True, "expert_tp": 1}


@pytest.mark.parametrize("pp", [1, 16, 61])
def test_an_ideal_machine_computes_the_operations_of_deepseek(pp):
    """Latent attention, three dense layers, routed and shared experts; the router isn't priced."""
    layout = Layout(2, 4096, pp=pp, recompute="none", uneven=True)
    pieces = parts(DEEPSEEK, layout, IDEAL)
    assert sum(stage_parameters(DEEPSEEK, layout)) == parameters(DEEPSEEK).total
    work = sum(one.matmul for one in (*pieces.forward, *pieces.backward)) * IDEAL.peak
    router = 3 * 2 * 4096 * DEEPSEEK.hidden * 256 * DEEPSEEK.expert_layers
    assert work == pytest.approx(flops(DEEPSEEK, 1, 4096).model - router)


def test_fsdp_gathers_dense_layers_and_those_with_experts():
    """Without overlap: each layer twice but the last, each gradient once, the ends once."""
    model, link = replace(DEEPSEEK, layers=4), Interconnect(1e9, 1.0, 0.0)
    layout = Layout(64, 4096, dp=64, zero=3, recompute="none")
    count = parameters(model)
    ends = count.embedding + count.head + count.final_norm
    inside = count.total - ends
    moved = (2 * 7 / 4 + 2) * inside + 4 * ends
    reduce = parts(model, layout, replace(H100, inside=link, between=link)).reduce
    assert reduce == pytest.approx(moved * 63 / 64 / 1e9)


def test_groups_that_share_a_state_of_experts_that_are_not_cut():
    """Twice as many ranks have a whole expert as the rest; each of four groups has all of it."""
    layout = Layout(64, 4096, dp=8, tp=2, zero=3, sequence_parallel=True, expert_tp=1)
    four = replace(layout, replicate=4)
    assert (layout.expert_sharding, four.expert_sharding) == (16, 4)
    kept = [memory(MIXTRAL, each) for each in (layout, four)]
    assert kept[1].weights == 4 * kept[0].weights and kept[1].optimizer == 4 * kept[0].optimizer
    experts = parameters(MIXTRAL).expert * 32 * 8
    rest = stage_parameters(MIXTRAL, four)[0] - experts
    part = 2 * (rest / 2 + experts / 4)
    across = across_seconds(four, H100, rest + experts, experts)
    assert across == pytest.approx(all_reduce_seconds(H100, part, 4, 2))


def test_what_latent_attention_keeps_and_sends_is_not_worked_out():
    for recompute in ("none", "selective", "full"):
        with pytest.raises(ValueError, match="latent attention"):
            estimate(DEEPSEEK, Layout(64, 4096, pp=61, recompute=recompute), H100)
    with pytest.raises(ValueError, match="a cut sequence of a model with latent attention"):
        parts(DEEPSEEK, Layout(64, 4096, cp=2, pp=61), H100)


def test_experts_that_are_not_cut():
    """Eight experts on eight ranks, four pairs that share attention: each rank has a whole one."""
    cut = Layout(8, 4096, dp=8, tp=2, ep=8, sequence_parallel=True, recompute="none")
    whole = replace(cut, dp=4, expert_tp=1)
    assert whole.on_a_node("ep", 8) == 8 and whole.expert_copies == 1
    assert cut.on_a_node("ep", 8) == 4 and cut.expert_copies == 1
    one = parameters(MIXTRAL).expert
    assert expert_parameters(MIXTRAL, whole, 32) == 32 * one
    assert expert_parameters(MIXTRAL, cut, 32) == 32 * one / 2
    rest = parameters(MIXTRAL).total - 32 * 8 * one
    assert stage_parameters(MIXTRAL, whole) == [rest / 2 + 32 * one]
    # A device computes as much either way; only the rows of a token are gathered no more.
    devices = [products_seconds(MIXTRAL, each, IDEAL)[0] for each in (cut, whole)]
    assert devices[0] == pytest.approx(devices[1])
    shared = replace(MIXTRAL, moe=replace(MIXTRAL.moe, shared=1))  # cut by TP like any MLP
    alone, half = (products_seconds(shared, replace(cut, tp=tp), IDEAL)[0] for tp in (1, 2))
    assert half == pytest.approx(alone / 2)
    sent = layer_seconds(MIXTRAL, replace(whole, ep=1), H100)[0].network
    size = 2 * 4096 * MIXTRAL.hidden
    assert sent == pytest.approx(2 * all_gather_seconds(H100, size, 2, 2))
    # In halves, on four ranks: each of two has k rows of its own quarter, and gathers as many.
    halves = replace(whole, dp=2, tp=4, ep=1, expert_tp=2)
    sent = layer_seconds(MIXTRAL, halves, H100)[0].network
    rows = all_gather_seconds(H100, 2 * 2 / 4 * size, 2, 2)
    assert sent == pytest.approx(2 * all_gather_seconds(H100, size, 4, 4) + 2 * rows)


def test_an_a100_is_no_faster_in_eight_bits():
    layout = Layout(64, 4096, recompute="none", flash=True)
    slow, fast = (replace(layout, fp8=eight) for eight in (False, True))
    for machine, times in ((preset("A100"), 1), (H100, 2)):
        weights = [products_seconds(MIXTRAL, each, machine)[0] for each in (slow, fast)]
        assert weights[0] == pytest.approx(times * weights[1])


def test_fused_attention_has_a_speed_of_its_own():
    model, layout = gpt(4096, 24, 32), Layout(8, 8192, recompute="none", flash=True)
    _, ahead, back = products_seconds(model, layout, H100)
    weights = products_seconds(model, layout, H100)[0]
    half = 2 * 8192 * 8192 * 4096  # Q times K and P times V, half of each
    assert ahead == pytest.approx(half / (H100.peak * H100.fused))
    assert back - 2 * weights == pytest.approx(2.5 * ahead)  # five products for the two forward
    plain = products_seconds(model, layout, replace(H100, fused=0.0))[1]
    assert plain == pytest.approx(2 * H100.matmul_seconds(8192, 8192, 128, 32) / 2)


def test_the_bubble_of_a_dualpipe():
    """(p/2 - 1)(F&B + B - 3W), with F = I = W = 1: 2 x 3 of p = 6 (arXiv 2412.19437, table 2)."""
    forward, backward = [Seconds(matmul=1.0)] * 6, [Seconds(matmul=2.0)] * 6
    layout = Layout(12, 4096, pp=6, dualpipe=True)
    pieces = Parts(forward, backward, 0.0, 0.0, 0.0, 0.0)
    assert pieces.fill(layout) == pytest.approx(2 * (3 + 2 - 3))
    assert pieces.seconds(layout) == pytest.approx(12 * 3 + 4)


def test_a_rank_of_a_dualpipe_has_two_stages():
    """The first stage and the last share their load, so all ranks have about the same."""
    model = gpt(4096, 24, 32)
    one = parts(model, Layout(16, pp=4, recompute="none"), H100)
    both = parts(model, Layout(16, pp=4, recompute="none", dualpipe=True), H100)
    assert both.forward[0] == both.forward[3]
    assert sum(f.matmul for f in both.forward) == pytest.approx(sum(f.matmul for f in one.forward))
    done = estimate(model, Layout(16, pp=4, dualpipe=True), H100)
    assert sum(done.causes.values()) == pytest.approx(done.seconds)
    with pytest.raises(ValueError, match="a closed form only: .*dualpipe_v, its half"):
        _ = done.simulated


def test_a_rank_of_a_dualpipe_holds_the_weights_of_two_stages():
    """Each stage is on twice as many ranks, which share its state: the optimizer takes no more."""
    model, sizes = gpt(4096, 26, 32), {"dp": 2, "pp": 4, "recompute": "none", "zero": 1}
    one, both = (Layout(32, **sizes, uneven=True, dualpipe=way) for way in (False, True))
    here = stage_parameters(model, one)
    assert stage_parameters(model, both) == [here[r] + here[3 - r] for r in range(4)]
    plain, dual = memory(model, one), memory(model, both)
    assert dual.weights / 2 in stage_parameters(model, both) and both.sharding == 4
    assert dual.optimizer == pytest.approx(12 * dual.weights / 2 / 4)
    assert dual.weights > 1.9 * plain.weights and dual.optimizer < 1.1 * plain.optimizer
    each = [layers_in_flight(model, both, rank) for rank in range(4)]
    assert each == [4 * 6 + 6, 3 * 7 + 2 * 7, 2 * 7 + 3 * 7, 6 + 4 * 6]  # 5 stages of 6 or 7
    slow = replace(H100, between=replace(H100.between, bandwidth=1e9), node=1)
    sent = [parts(model, way, slow).reduce for way in (one, both)]
    assert sent[1] > 2 * sent[0]  # twice the gradients, over twice as many ranks


@pytest.mark.parametrize(
    "fields, words",
    [
        (dict(tp=2, expert_tp=1), "expert_tp=1\\): give a divisor of tp 2, with sequence_parallel"),
        (dict(tp=4, expert_tp=3, sequence_parallel=True), "give a divisor of tp 4"),
        (dict(pp=3, dualpipe=True), "choose an even pp"),
        (dict(pp=4, dualpipe=True, zero=3), "ZeRO 3: choose .*, and 0 to 2"),
        (
            dict(pp=4, dp=16, dualpipe=True),
            "4 micro-batches, ZeRO 0: choose an even pp, 1 chunk, 2 pp",
        ),
    ],
)
def test_a_layout_that_is_none(fields, words):
    with pytest.raises(ValueError, match=words):
        Layout(64, **fields)
