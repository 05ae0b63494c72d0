"""The pieces of the model: what must hold whatever the constants are."""

import os
import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from helpers.clone import ROOT
from helpers.cluster import PRESETS, Interconnect, Layout, estimate, preset
from helpers.cluster.machine import all_gather_seconds, all_reduce_seconds, message_seconds
from helpers.cluster.memory import rank_memories
from helpers.cluster.parts import parts, stage_parameters
from helpers.cost import (
    MODELS,
    RECOMPUTE,
    ModelConfig,
    all_reduce_bytes,
    flops,
    gpt,
    layer_activations,
    parameters,
    read_config,
    states,
)
from helpers.grid import Grid
from helpers.simulate import OutOfMemory

A100, H100 = preset("A100"), preset("H100")
MODEL = gpt(4096, 24, 32)
GATED = replace(MODELS["Llama 3 8B"], layers=24)  # with 8 heads of keys and values
DEEPSEEK = read_config(ROOT / "EP/configs/deepseek_v3.json")
BIG = MODELS["Llama 3 405B"]
LLAMA = Layout(
    *(2048, 8192, 128, 16, 8, 8, 1, "none"),
    **{"sequence_parallel": True, "flash": True, "zero": 2, "fp32_gradients": True},
    **{"overlap_tp": True, "overlap_dp": True, "uneven": True},
)
FREE = Interconnect(1e30, 1.0, 0.0)
IDEAL = replace(
    *(A100,),
    **{"inside": FREE, "between": FREE, "memory_bandwidth": 1e30, "launch": 0.0, "straggle": 0.0},
    **{"matmul": 1.0, "matmul_half": 0.0, "step": 0.0, "fused": 0.0},
)


@pytest.mark.parametrize("recompute", ["none", "selective", "op", "full"])
@pytest.mark.parametrize("model", [MODEL, GATED], ids=["GPT", "Llama"])
def test_an_ideal_machine_reaches_its_peak(recompute, model):
    """Every operation of `helpers.cost` is in the model, and none more."""
    for tp in (1, 2, 8):
        done = estimate(model, Layout(8, tp=tp, micro_batch=2, recompute=recompute), IDEAL)
        assert done.utilisation.hfu == pytest.approx(1.0)


@pytest.mark.parametrize("pp, chunks, m", [(4, 1, 8), (8, 1, 16), (4, 2, 8), (4, 6, 16)])
def test_an_ideal_pipeline_has_the_papers_bubble(pp, chunks, m):
    """(p-1)/(vm) of the ideal time (arXiv 2104.04473), for stages that are alike."""
    tiny = gpt(4096, 24, 32, vocabulary=1)
    done = estimate(tiny, Layout(m, pp=pp, chunks=chunks, recompute="none"), IDEAL)
    bubble = done.causes["bubble"]
    assert bubble / (done.seconds - bubble) == pytest.approx((pp - 1) / (chunks * m), rel=1e-3)


@pytest.mark.parametrize("pp", [1, 16, 61])
def test_an_ideal_machine_computes_the_operations_of_deepseek(pp):
    """Latent attention, three dense layers, router, routed and shared experts."""
    layout = Layout(2, 4096, pp=pp, recompute="none", uneven=True)
    pieces = parts(DEEPSEEK, layout, IDEAL)
    assert sum(stage_parameters(DEEPSEEK, layout)) == parameters(DEEPSEEK).total
    work = sum(one.matmul for one in (*pieces.forward, *pieces.backward)) * IDEAL.peak
    assert work == pytest.approx(flops(DEEPSEEK, 1, 4096).model)


def test_deepseek_has_a_time_and_a_memory():
    """Its own layout (arXiv 2412.19437, section 3.2): without recomputation it wouldn't fit."""
    how = {"fp8": True, "dualpipe": True, "overlap_ep": True, "flash": True, "dedup": True}
    layout = Layout(15360, 4096, dp=128, pp=16, ep=64, zero=1, uneven=True, **how)
    done = estimate(DEEPSEEK, layout, preset("H800"))
    assert 10 < done.seconds < 40 and done.fits
    assert f"{sum(done.causes.values()):.6g}" == f"{done.seconds:.6g}"
    held = stage_parameters(DEEPSEEK, layout)
    assert done.memory.weights in [2 * each for each in held]
    kept = estimate(DEEPSEEK, replace(layout, recompute="none"), preset("H800")).memory
    each = layer_activations(DEEPSEEK, 1, 4096, fused=True)
    assert kept.activations == pytest.approx(17 * 4 * each, rel=0.03) and kept.total > 80e9


def test_two_tiers_of_network():
    one = Interconnect(100e9, 1.0, 0.0)
    machine = replace(A100, inside=one, between=Interconnect(10e9, 1.0, 0.0))
    inside = all_reduce_seconds(machine, 1e9, 8, on_a_node=8)
    assert inside == pytest.approx(all_reduce_bytes(1e9, 8) / 100e9)
    alone = all_reduce_seconds(machine, 1e9, 8, on_a_node=1)  # eight nodes, one rank on each
    assert alone == pytest.approx(10 * inside)
    four = all_reduce_seconds(machine, 1e9, 8, on_a_node=4)  # four cards of a node side by side
    assert four == pytest.approx(alone / 4)
    assert all_gather_seconds(machine, 1e9, 1, 1) == 0
    assert message_seconds(machine, 1e9, False) == 10 * message_seconds(machine, 1e9, True)


def test_a_machine_reaches_a_share_of_what_it_could():
    machine = PRESETS["A100"]
    assert machine.memory_seconds(
        1e9
    ) * machine.memory_bandwidth * machine.memory_share == pytest.approx(1e9)
    assert machine.between.speed == machine.between.share * machine.between.bandwidth
    n, products = 4096, machine.peak * machine.matmul / (1 + machine.matmul_half * 3 / 4096)
    assert machine.matmul_seconds(n, n, n) == pytest.approx(2 * n**3 / products)


def test_a_slower_machine_takes_that_much_longer():
    for machine in PRESETS.values():
        layout = Layout(8, dp=2, pp=2, tp=2)
        there = estimate(gpt(1024, 4, 16), layout, machine).seconds
        assert estimate(gpt(1024, 4, 16), layout, machine.slower(1.5)).seconds == pytest.approx(
            1.5 * there
        )


def on_one_node(ranks, node):
    return max(Counter(rank // node for rank in ranks).values())


def test_the_order_of_the_ranks_beside_that_of_the_grid():
    """Replicas inside stages here, stages inside replicas there: the same if one of them is 1."""
    differ = set()
    for dp, pp, cp, tp in product((1, 2, 4), (1, 2, 4), (1, 2), (1, 2, 4, 8)):
        layout, grid = Layout(64, dp=dp, pp=pp, cp=cp, tp=tp), Grid(dp, pp, tp, cp)
        ranks = np.arange(layout.gpus).reshape(pp, dp, cp, tp)  # by the docstring of Layout
        mine = {
            "tp": ranks[0, 0, 0, :],
            "cp": ranks[0, 0, :, 0],
            "dp": ranks[0, :, :, 0].reshape(-1),
            "pp": ranks[:, 0, 0, 0],
        }
        for dimension, group in mine.items():
            for node in (8, 16):
                assert layout.on_a_node(dimension, node) == on_one_node(group, node), dimension
        theirs = {
            "dp": [r for r in range(grid.size) if grid.coordinates(r)[1:3] == (0, 0)],
            "pp": [r for r in range(grid.size) if grid.coordinates(r)[::2] == (0, 0)],
        }
        theirs["pp"] = [r for r in theirs["pp"] if not grid.coordinates(r).cp]
        same = all(on_one_node(theirs[d], 8) == layout.on_a_node(d, 8) for d in theirs)
        assert same or (dp > 1 and pp > 1 and tp * cp < 8)
        differ.add(same)
    assert differ == {True, False}


def test_what_newer_software_hides():
    base = Layout(64, dp=8, tp=8, recompute="none")
    slow = replace(A100, between=Interconnect(1e9, 1.0, 1e-5))

    def seconds(**changes):
        return estimate(MODEL, replace(base, **changes), slow).seconds

    assert seconds(overlap_dp=True) < seconds()
    assert seconds(overlap_tp=True) < seconds()
    assert seconds(fp32_gradients=True) > seconds()
    assert seconds(zero=3) > seconds(zero=1)
    assert seconds(recompute="full") > seconds(recompute="selective") > seconds()


def test_memory_by_component():
    layout = Layout(64, dp=4, pp=4, tp=2, micro_batch=2, recompute="selective")
    found = estimate(MODEL, layout, A100).memory
    count = parameters(MODEL)
    weights = (6 * count.layer + count.embedding + count.positions) / 2
    kept = states(weights)
    assert (found.weights, found.optimizer) == (kept.weights, kept.optimizer)
    each = layer_activations(MODEL, 2, 2048, 2, False, "selective")
    assert found.activations == 4 * 6 * each
    assert found.total == sum(found.named().values())
    cut = estimate(MODEL, replace(layout, zero=1), A100).memory
    assert cut.optimizer == found.optimizer / 4 and cut.weights == found.weights
    fewer = estimate(MODEL, replace(layout, batch=8), A100).memory
    assert fewer.activations == found.activations / 4
    full = estimate(MODEL, replace(layout, recompute="full"), A100).memory
    assert full.activations == 4 * 6 * 2 * 2 * 2048 * 4096
    assert full.working >= layer_activations(MODEL, 2, 2048, 2)


def test_the_ends_are_shorter():
    assert LLAMA.stage_layers(126) == [0, *[1] * 126, 0]  # only embedding, and only the loss
    assert LLAMA.rank_layers(126) == [7, *[8] * 14, 7]
    assert Layout(16, pp=16, uneven=True).stage_layers(61) == [3, *[4] * 13, 3, 3]
    assert Layout(4, pp=4).stage_layers(24) == [6] * 4


def test_every_layer_and_every_weight_is_somewhere():
    for layers in (5, 13, 61, 126):
        model = gpt(1024, layers, 16)
        for pp, chunks in ((1, 1), (4, 1), (3, 2), (5, 1)):
            layout = Layout(30, pp=pp, chunks=chunks, tp=2, uneven=True)
            if pp * chunks > layers + 2:
                continue
            counts = layout.stage_layers(layers)
            assert sum(counts) == layers and max(counts) - min(counts) <= 1
            twice = parameters(model).embedding if pp > 1 else 0  # tied: on both ends
            total = 2 * sum(stage_parameters(model, layout))
            assert total == pytest.approx(parameters(model).total + twice)


def test_a_vocabulary_that_tp_does_not_divide_is_padded_as_megatron_does():
    """GPT-2's 50,257 words are 50,432 on two ranks, and 50,688 on four."""
    model = gpt(1536, 12, 12, vocabulary=50257)
    assert [Layout(1, tp=tp).words(50257) for tp in (1, 2, 4)] == [50257, 25216, 12672]
    assert Layout(1, tp=8).words(51200) == 6400  # nothing to pad
    for tp, padded in ((1, 50257), (2, 50432), (4, 50688)):
        given = replace(model, vocabulary=padded)
        mine, there = (estimate(one, Layout(4, tp=tp), H100) for one in (model, given))
        assert (mine.seconds, mine.memory) == (there.seconds, there.memory)


def test_llama_405b_needs_the_80_gb_that_it_had():
    """Without recomputation, as the paper says; within 5 % on 8,192 and 16,384 GPUs."""
    for dp in (64, 128):
        found = estimate(BIG, replace(LLAMA, dp=dp), H100).memory
        assert found.total == pytest.approx(80e9, rel=0.05)
    assert estimate(BIG, LLAMA, H100).fits
    a_layer = layer_activations(BIG, 1, 8192, 8, True, "none", fused=True)
    assert a_layer == 31.75 * 8192 * 16384 / 8
    assert found.activations == 16 * 8 * a_layer  # all micro-batches, all eight layers of a rank
    plain = estimate(BIG, replace(LLAMA, flash=False, zero=1), H100).memory
    assert plain.total > 2 * found.total  # scores, the SiLU, and gradients that stay whole


def random_layouts(seed, count):
    """(model, layout, machine) that are accepted."""
    chance = random.Random(seed)
    while count:
        model, machine = MODELS[chance.choice(list(MODELS))], PRESETS[chance.choice(list(PRESETS))]
        pp, dp, tp = chance.randint(1, 12), chance.choice((1, 2, 8)), chance.choice((1, 2, 4, 8))
        m = chance.choice((1, chance.randint(1, pp), pp, 2 * pp, 6 * pp, chance.randint(1, 4 * pp)))
        flags = ("flash", "sequence_parallel", "overlap_dp", "overlap_tp", "fp32_gradients")
        layout = Layout(
            *(m * dp, 2048, dp, pp, tp, chance.choice((1, 1, 2, 3, 4)) if pp > 1 else 1),
            recompute=chance.choice(RECOMPUTE),
            zero=chance.randint(0, 3),
            uneven=chance.random() < 0.8,
            **{flag: chance.random() < 0.5 for flag in flags},
        )
        if chance.random() < 0.6:
            model = replace(model, layers=chance.randint(2, 50))
        try:
            layout.for_model(model)
        except ValueError:
            continue
        count -= 1
        yield model, layout, machine


def test_any_accepted_layout_is_priced_as_on_the_clock():
    """To the last digits, or within 0.5 % with chunks or unequal stages; memory of every rank."""
    seed = int(os.environ.get("LAB_SEED", 1))
    shapes = set()
    for model, layout, machine in random_layouts(seed, 250):
        done = estimate(model, layout, machine)
        where = f"LAB_SEED={seed}: {model.layers} layers, {layout}, {machine.name}"
        near = 1e-9 if done.parts.even and layout.chunks == 1 else 5e-3
        assert done.seconds == pytest.approx(done.simulated.step_time, rel=near), where
        each = rank_memories(model, layout, range(layout.pp))
        kept = [one.activations for one in each]
        assert kept == pytest.approx(done.simulated.peak_memory), where
        assert done.memory.total == max(one.total for one in each), where
        shapes.add((done.parts.even, layout.chunks > 1, layout.micro_batches < layout.pp))
    assert len(shapes) == 8


LONG = ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128_256, 131_072)
LONGER = Layout(batch=8, sequence=65536, pp=4, tp=8, flash=True, recompute="none")


def test_each_device_has_its_part_and_all_have_the_whole_work():
    alone, shared = LONGER, replace(LONGER, cp=4)
    one, four = (estimate(LONG, layout, A100) for layout in (alone, shared))
    assert shared.gpus == 4 * alone.gpus and shared.tokens == alone.tokens // 4
    assert four.memory.activations == pytest.approx(one.memory.activations / 4)
    assert four.memory.weights == one.memory.weights
    assert one.seconds / 4.2 < four.seconds < one.seconds / 2.5
    zero = estimate(LONG, replace(shared, zero=1), A100)
    assert zero.memory.optimizer == pytest.approx(four.memory.optimizer / 4)


def test_a_ring_hides_its_messages_where_a_rank_has_tokens_enough():
    def added(**how):
        layout = replace(LONGER, cp=8, **how)
        alone = estimate(LONG, replace(layout, cp=1), A100).parts.forward[1].network
        return estimate(LONG, layout, A100).parts.forward[1].network - alone / 8

    ring, gather = added(context="ring"), added(context="gather")
    assert ring < gather
    assert added(context="ring", sequence=2048) > 0


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(ValueError, match="65536 tokens cannot be cut into 6 equal chunks for cp 3"):
        replace(LONGER, cp=3)
    with pytest.raises(ValueError, match="context='star': choose one of ring, gather, ulysses"):
        replace(LONGER, context="star")
    with pytest.raises(ValueError, match="cp 8 does not divide the 4 heads of a device"):
        replace(LONGER, cp=8, context="ulysses").for_model(LONG)
    with pytest.raises(ValueError, match="dp 1 x pp 4 x cp 2 x tp 8 is 64 devices, and there"):
        replace(LONGER, cp=2).for_model(LONG, 9)


# --- wrong input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout, gpus, words",
    [
        (dict(dp=2, pp=2), 8, "dp 2 x pp 2 x tp 1 is 4 devices, and there are 8: choose"),
        (dict(tp=3), None, "tp 3 does not divide 32 heads: each device needs whole heads"),
        (dict(tp=16), None, "tp 16 does not divide 8 heads of keys and values"),
        (dict(pp=5), None, "pp 5 does not divide 24 layers: choose a divisor, or uneven=True"),
        (dict(pp=4, chunks=4), None, "pp 4 x 4 chunks does not divide 24 layers"),
        (dict(pp=8, chunks=4, uneven=True), None, "makes 32 stages of 24 layers: all but the"),
    ],
)
def test_a_layout_that_does_not_go(layout, gpus, words):
    with pytest.raises(ValueError, match=words):
        estimate(GATED, Layout(240, **layout), A100, gpus)


@pytest.mark.parametrize(
    "fields, words",
    [
        (dict(batch=0), r"Layout\(batch=0\): give a whole number"),
        (dict(batch=8, tp=2.0), r"Layout\(tp=2.0\): give a whole number"),
        (dict(batch=8, dp=True), r"Layout\(dp=True\)"),
        (dict(batch=9, dp=2, micro_batch=2), "a batch of 9 cannot be cut into 2 replicas"),
        (dict(batch=8, chunks=2), "2 chunks need a pipeline"),
        (dict(batch=8, recompute="some"), "recompute='some': choose one of"),
        (dict(batch=8, zero=5), "zero=5: the stages are"),
    ],
)
def test_a_layout_that_is_none(fields, words):
    with pytest.raises(ValueError, match=words):
        Layout(**fields)


def test_a_layout_says_what_it_is():
    assert str(Layout(8)) == "dp 1 x pp 1 x tp 1, micro-batch 1, recompute full"
    both = replace(LLAMA, cp=2, ep=4, expert_tp=4, fp8=True, recompute="none")
    assert str(both) == (
        "dp 128 x pp 16 x cp 2 x tp 8, micro-batch 1, 8 chunks, ep 4, ZeRO 2, sequence parallel, "
        "expert tp 4, FP8, recompute none"
    )


def test_zero_2_holds_a_whole_gradient_for_a_moment():
    one, two = (estimate(MODEL, Layout(64, dp=8, zero=zero), A100).memory for zero in (1, 2))
    assert two.working - one.working == 2 * parameters(MODEL).layer
    assert two.gradients == one.gradients / 8


def test_what_does_not_fit_says_how_much_and_what_to_do():
    done = estimate(gpt(12288, 96, 96), Layout(8, tp=8), A100)
    assert not done.fits
    with pytest.raises(OutOfMemory, match="GB a device, and the A100 has 80 GB: .* is optimizer"):
        done.require_room()
    small = estimate(gpt(1024, 4, 16), Layout(8), A100)
    assert small.fits and small.require_room() is small
