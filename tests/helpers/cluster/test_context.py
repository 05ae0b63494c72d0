"""A sequence cut over devices, in the cluster model: what it saves and sends."""

from dataclasses import replace

import pytest

from helpers.cluster import Layout, estimate, preset
from helpers.cost import ModelConfig

MODEL = ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128_256, 131_072)
LAYOUT = Layout(batch=8, sequence=65536, pp=4, tp=8, flash=True, recompute="none")
MACHINE = preset("A100")


def test_each_device_has_its_part_and_all_have_the_whole_work():
    alone, shared = LAYOUT, replace(LAYOUT, cp=4)
    one, four = (estimate(MODEL, layout, MACHINE) for layout in (alone, shared))
    assert shared.gpus == 4 * alone.gpus and shared.tokens == alone.tokens // 4
    assert four.memory.activations == pytest.approx(one.memory.activations / 4)
    assert four.memory.weights == one.memory.weights
    assert one.seconds / 4.2 < four.seconds < one.seconds / 2.5
    zero = estimate(MODEL, replace(shared, zero=1), MACHINE)
    assert zero.memory.optimizer == pytest.approx(four.memory.optimizer / 4)


def test_a_ring_hides_its_messages_where_a_rank_has_tokens_enough():
    def added(**how):
        layout = replace(LAYOUT, cp=8, **how)
        alone = estimate(MODEL, replace(layout, cp=1), MACHINE).parts.forward[1].network
        return estimate(MODEL, layout, MACHINE).parts.forward[1].network - alone / 8

    ring, gather = added(context="ring"), added(context="gather")
    assert ring < gather
    assert added(context="ring", sequence=2048) > 0


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(ValueError, match="65536 tokens cannot be cut into 6 equal chunks for cp 3"):
        replace(LAYOUT, cp=3)
    with pytest.raises(ValueError, match="context='star': choose one of ring, gather, ulysses"):
        replace(LAYOUT, context="star")
    with pytest.raises(ValueError, match="cp 8 does not divide the 4 heads of a device"):
        replace(LAYOUT, cp=8, context="ulysses").for_model(MODEL)
    with pytest.raises(ValueError, match="dp 1 x pp 4 x cp 2 x tp 8 is 64 devices, and there"):
        replace(LAYOUT, cp=2).for_model(MODEL, 9)
