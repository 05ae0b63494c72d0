"""Experts, what replicas send each other, FP8, fused attention, DualPipe."""

import math
from dataclasses import replace
from itertools import combinations

import pytest

from helpers.clone import ROOT
from helpers.cluster import Interconnect, Layout, estimate, memory, preset
from helpers.cluster.layer import (
    Seconds,
    experts_messages,
    experts_seconds,
    layer_seconds,
    nodes_reached,
    products_seconds,
)
from helpers.cluster.machine import all_gather_seconds
from helpers.cluster.memory import layers_in_flight
from helpers.cluster.parts import (
    Parts,
    expert_parameters,
    layer_parameters,
    parts,
    stage_parameters,
)
from helpers.cost import MoE, gpt, parameters, read_config

MIXTRAL = read_config(ROOT / "EP/configs/mixtral_8x7b.json")
DEEPSEEK = read_config(ROOT / "EP/configs/deepseek_v3.json")
A100, H100 = preset("A100"), preset("H100")
IDEAL = replace(
    *(H100,),
    **{"memory_bandwidth": 1e30, "launch": 0.0, "straggle": 0.0},
    **{"matmul": 1.0, "matmul_half": 0.0, "step": 0.0, "fused": 0.0},
)
MODEL = gpt(4096, 12, 32)
FSDP = Layout(64, dp=16, micro_batch=2, zero=3, overlap_dp=True, fp32_gradients=True, flash=True)


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
    assert half == pytest.approx(alone / 2, rel=1e-3)  # but the router
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
        assert weights[0] == pytest.approx(times * weights[1], rel=5e-3)  # but the router


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


def on_the_clock(layers, g, r, f, b):
    """Seconds of one micro-batch of FSDP2 on two queues, action by action.

    The network does what it is given in the order in which it was given: the gather of the next
    layer when a layer begins to compute, its reduction when it has computed.
    """
    device = network = 0.0

    def send(size, ready):
        nonlocal network
        network = max(network, ready) + size
        return network

    whole = {0: send(g, 0.0)}
    for layer in range(layers):
        start = max(device, whole[layer])
        if layer < layers - 1:
            whole[layer + 1] = send(g, start)
        device = start + f
    whole, computed = {layers - 1: device}, None  # the last one has stayed whole
    for layer in reversed(range(layers)):
        start = max(device, whole[layer])
        if computed is not None:
            send(r, computed)
        if layer:
            whole[layer - 1] = send(g, start)
        device = computed = start + b
    return send(r, computed)


@pytest.mark.parametrize("speed", [1e9, 5e9, 8e9, 12e9, 20e9, 60e9, 1e12])
def test_fsdp_is_what_two_queues_do(speed):
    link = Interconnect(speed, 1.0, 1e-5)
    machine = replace(A100, inside=link, between=link)
    layout = FSDP
    f, b = (one.total for one in layer_seconds(MODEL, layout, machine))
    one = layer_parameters(MODEL, layout)
    ends = stage_parameters(MODEL, layout)[0] - 12 * one

    def gather(size):
        return all_gather_seconds(machine, size, layout.sharding, 8)

    g, r, outside = gather(2 * one), gather(4 * one), gather(6 * ends)
    measured = on_the_clock(12, g, r, f, b) + outside
    shown = layout.micro_batches * (measured - 12 * (f + b))
    assert parts(MODEL, layout, machine).reduce == pytest.approx(shown, rel=1e-6)


def test_zero_2_reduces_whenever_a_whole_gradient_must_go():
    layout = Layout(64, dp=4, zero=2, recompute="none")
    first, all_of_them = (
        parts(MODEL, replace(layout, batch=batch), A100).reduce for batch in (4, 64)
    )
    once = all_gather_seconds(A100, 2 * stage_parameters(MODEL, layout)[0], 4, 4)
    assert all_of_them == pytest.approx(first + 15 * once)
    chunks = replace(layout, pp=2, chunks=2)  # a chunk is reduced after each round of pp
    assert (layout.reductions, chunks.reductions) == (16, 8)
    assert replace(chunks, zero=1).reductions == replace(layout, zero=0).reductions == 1
    assert (
        estimate(MODEL, layout, A100).seconds
        > estimate(MODEL, replace(layout, overlap_dp=True), A100).seconds
    )


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
