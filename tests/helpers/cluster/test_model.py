"""The pieces of the model: what must hold whatever the constants are."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bench.cluster_model.published import megatron, vtrain
from helpers.cluster import Interconnect, Layout, estimate, preset
from helpers.cluster.machine import all_gather_seconds, all_reduce_seconds, message_seconds
from helpers.cluster.settings import MODELS
from helpers.cluster.validate import recomputation
from helpers.cost import all_reduce_bytes, gpt, layer_activations, states
from helpers.grid import Grid
from helpers.simulate import OutOfMemory

A100 = preset("A100")
MODEL = gpt(4096, 24, 32)
GATED = replace(MODELS["Llama 3 8B"], layers=24)  # with 8 heads of keys and values
IDEAL = replace(
    A100,
    inside=Interconnect(1e30, 1.0, 0.0),
    between=Interconnect(1e30, 1.0, 0.0),
    matmul=1.0,
    matmul_half=0.0,
    memory_bandwidth=1e30,
    launch=0.0,
    straggle=0.0,
    step=0.0,
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


def test_causes_add_up():
    for row in [*megatron(), *recomputation(), *vtrain()[::10]]:
        done = estimate(row.model, row.layout, A100)
        assert sum(done.causes.values()) == pytest.approx(done.seconds)
        assert min(done.causes.values()) >= 0


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
    from helpers.cost import parameters

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


def test_what_does_not_fit_says_how_much_and_what_to_do():
    done = estimate(gpt(12288, 96, 96), Layout(8, tp=8), A100)
    assert not done.fits
    with pytest.raises(OutOfMemory, match="GB a device, and the A100 has 80 GB: .* is optimizer"):
        done.require_room()
    small = estimate(gpt(1024, 4, 16), Layout(8), A100)
    assert small.fits and small.require_room() is small
