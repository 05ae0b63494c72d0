"""What replicas send each other: FSDP against two queues on a clock, HSDP, ZeRO 2."""

from dataclasses import replace

import pytest

from helpers.cluster import Interconnect, Layout, estimate, preset
from helpers.cluster.layer import layer_seconds
from helpers.cluster.machine import all_gather_seconds, all_reduce_seconds
from helpers.cluster.parts import layer_parameters, parts, stage_parameters
from helpers.cost import gpt

A100 = preset("A100")
MODEL = gpt(4096, 12, 32)
FSDP = Layout(64, dp=16, micro_batch=2, zero=3, overlap_dp=True, fp32_gradients=True, flash=True)


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
@pytest.mark.parametrize("replicate", [1, 2])
def test_fsdp_is_what_two_queues_do(speed, replicate):
    link = Interconnect(speed, 1.0, 1e-5)
    machine = replace(A100, inside=link, between=link)
    layout = replace(FSDP, replicate=replicate)
    f, b = (one.total for one in layer_seconds(MODEL, layout, machine))
    one = layer_parameters(MODEL, layout)
    ends = stage_parameters(MODEL, layout)[0] - 12 * one
    near = layout.sharding if layout.sharding < 8 else 8

    def gather(size):
        return all_gather_seconds(machine, size, layout.sharding, near)

    def reduce(size):
        return gather(size) + all_reduce_seconds(machine, size / layout.sharding, replicate, 1)

    g, r = gather(2 * one), reduce(4 * one)
    outside = gather(6 * ends) + all_reduce_seconds(
        machine, 4 * ends / layout.sharding, replicate, 1
    )
    measured = on_the_clock(12, g, r, f, b) + outside
    shown = layout.micro_batches * (measured - 12 * (f + b))
    assert parts(MODEL, layout, machine).reduce == pytest.approx(shown, rel=1e-6)


def test_hsdp_moves_gathers_into_the_node():
    layout = replace(FSDP, dp=32, batch=64)
    slow = replace(A100, between=Interconnect(1e9, 1.0, 1e-5))
    one, four = (estimate(MODEL, replace(layout, replicate=n), slow) for n in (1, 4))
    assert four.seconds < one.seconds
    assert "4 groups" in str(four.layout) and "groups" not in str(one.layout)


def test_hsdp_of_one_group_each_is_an_all_reduce():
    """As many groups as replicas: nothing is cut, and all of it is summed across."""
    alone = replace(FSDP, zero=1, replicate=16, overlap_dp=False)
    weights = stage_parameters(MODEL, alone)[0]
    sums = all_reduce_seconds(A100, 4 * weights, 16, 8)
    assert parts(MODEL, alone, A100).reduce == pytest.approx(sums)
    plain = estimate(MODEL, replace(alone, zero=0, replicate=1), A100)
    assert estimate(MODEL, alone, A100).memory.total == plain.memory.total


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
        (dict(replicate=3, zero=3), "replicate 3 does not divide 16 replicas into groups"),
        (dict(replicate=2, zero=0), "but ZeRO is off: choose zero=1, 2 or 3"),
        (dict(replicate=2, zero=3, ep=2), "experts are not shared by such groups here"),
    ],
)
def test_groups_that_are_none(fields, words):
    with pytest.raises(ValueError, match=words):
        Layout(64, dp=16, **fields)
