"""Stages that do not divide the layers: Llama 3's 126, DeepSeek-V3's 61."""

import os
import random
from dataclasses import replace

import pytest

from bench.cluster_model.published import LLAMA_405B
from helpers.cluster import PRESETS, Layout, estimate, memory, preset
from helpers.cluster.memory import rank_memories
from helpers.cluster.parts import stage_parameters
from helpers.cluster.settings import MODELS
from helpers.cluster.uneven import interleaved_seconds, one_f_one_b_seconds
from helpers.cost import RECOMPUTE, gpt, layer_activations, parameters
from helpers.schedules import interleaved, one_f_one_b
from helpers.simulate import Costs, simulate

H100 = preset("H100")
REAL = Layout(
    *(2048, 8192, 128, 16, 8, 8, 1, "none"),
    **{"sequence_parallel": True, "flash": True, "zero": 2, "fp32_gradients": True},
    **{"overlap_tp": True, "overlap_dp": True, "uneven": True},
)


def test_the_ends_are_shorter():
    assert REAL.stage_layers(126) == [0, *[1] * 126, 0]  # only embedding, and only the loss
    assert REAL.rank_layers(126) == [7, *[8] * 14, 7]
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
        found = memory(LLAMA_405B, replace(REAL, dp=dp))
        assert found.total == pytest.approx(80e9, rel=0.05)
    assert estimate(LLAMA_405B, REAL, H100).fits
    a_layer = layer_activations(LLAMA_405B, 1, 8192, 8, True, "none", fused=True)
    assert a_layer == 31.75 * 8192 * 16384 / 8
    assert found.activations == 16 * 8 * a_layer  # all micro-batches, all eight layers of a rank
    plain = memory(LLAMA_405B, replace(REAL, flash=False, zero=1))
    assert plain.total > 2 * found.total  # scores, the SiLU, and gradients that stay whole


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 12])
def test_unequal_stages_take_what_they_take_on_the_clock(ranks):
    """Alike but for a layer and longer ends: to the last digits. Any lengths: a lower bound."""
    chance = random.Random(ranks)
    for trial in range(80):
        m, v = chance.randint(1, 3 * ranks), chance.choice((1, 2, 3)) if ranks > 1 else 1
        most, back, head = chance.randint(1, 4), chance.uniform(1, 3), chance.uniform(0, 2)
        f = [float(n) for n in Layout(1, pp=ranks).stage_layers(most * ranks - trial % ranks)]
        b = [back * n for n in f]
        f[0], f[-1], b[-1] = f[0] + head / 5, f[-1] + head, b[-1] + 2 * head
        clock = simulate(one_f_one_b(ranks, m), Costs(forward=f, input_grad=b, weight_grad=0.0))
        assert one_f_one_b_seconds(f, b, m) == pytest.approx(clock.step_time), (trial, m)
        f, b = ([chance.uniform(0.2, 3) for _ in range(ranks * v)] for _ in range(2))
        costs = Costs(forward=f, input_grad=b, weight_grad=0.0)
        if v > 1:
            clock = simulate(interleaved(ranks, m, v), costs)
            assert interleaved_seconds(f, b, ranks, m) == pytest.approx(clock.step_time), (trial, m)
        else:
            clock = simulate(one_f_one_b(ranks, m), costs)
            bound = one_f_one_b_seconds(f, b, m) / clock.step_time
            assert 0.96 < bound < 1 + 1e-9, (trial, m)


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
