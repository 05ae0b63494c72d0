"""The classic profile: the lab's arithmetic, computed here once more from its published rates."""

import part1
import part2
import part4
import pytest
from cluster import Dist, outcome, run
from cluster.values import Facts
from lib import BLOCK_SIZE, BYTES_PER_ELEMENT, DATATYPE, HIDDEN_SIZE, Activation, WeightGrad
from steps import data_parallel, layers_of
from utils import get_model_theoretical_best_time, get_training_stats

H, BLOCK = 4096, 1024
WEIGHT = 2 * H * H  # bytes


def forward_by_hand(n):
    flops, moved = 2 * H * H * n * BLOCK, 2 * (H * H + 2 * n * BLOCK * H)
    share = 0.95 if flops >= 128e9 else 0.9 if flops >= 16e9 else 0.6 if flops >= 1e9 else 0.1
    room = 0.9 if moved >= 100e6 else 0.75 if moved >= 10e6 else 0.6 if moved >= 1e6 else 0.3
    return max(flops / (1e15 * share), moved / (3072e9 * room))


def profile(ranks):
    return Dist(ranks, "classic").profile


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 64, 2048])
def test_forward_and_backward(n):
    assert profile(4).forward(n) == forward_by_hand(n) == profile(4).backward(n)


def test_numbers_that_are_published():
    assert (HIDDEN_SIZE, BLOCK_SIZE, DATATYPE, BYTES_PER_ELEMENT) == (H, BLOCK, "float16", 2)
    p = profile(16)
    assert f"{p.forward(1):.6e}" == "3.817749e-05"
    assert f"{p.forward(64):.6e}" == "2.314761e-03"
    assert f"{p.update(1, 1):.6e}" == "3.640889e-05"
    assert f"{p.load(1):.6e}" == "8.285045e-05"
    for ranks in (16, 32):
        p = profile(ranks)
        whole = Facts("weight gradient", 0, 1)
        for op in ("all_reduce", "all_gather", "reduce_scatter"):
            assert f"{p.collective(op, [], whole, (0, 1)):.6e}" == "7.656540e-04"
        assert f"{p.message(Facts('activation', 0, 1), 0, 1):.6e}" == "2.064135e-04"
    assert profile(8).message(Facts("activation", 0, 1), 0, 1) == pytest.approx(
        2 * H * BLOCK / (450e9 * 0.65) + 1e-5, rel=1e-12
    )


def test_naive_pipeline_and_zero_as_published(capsys):
    models = run(part2.part2_training_loop, 4, 16, 2048, profile="classic")
    found = outcome(models)
    assert f"{found.time:.6f}" == "2.723224" and f"{100 * found.mfu:.2f}" == "20.67"
    found = outcome(run(part1.part1_training_loop, 32, 64, 256, 8, profile="classic"))
    assert f"{found.time:.6f}" == "0.184362" and f"{100 * found.mfu:.2f}" == "19.08"
    time, memory, rank = get_training_stats(models)
    best = get_model_theoretical_best_time(models[0])
    assert f"{100 * best / time:.2f}" == "20.67" and rank == 0
    assert f"Execution time: {time}" in capsys.readouterr().out


def test_memory_is_what_lies_in_storage_in_elements():
    models = run(data_parallel, 4, 3, 32, profile="classic")
    found = outcome(models)
    # The last backward but two: 3 weights, 3 states; activations 0, 1, 2 and one gradient of them.
    first = 6 * H * H + 4 * 8 * H * BLOCK
    # The update: weights, states and gradients of all layers.
    assert found.memory == max(first, 9 * H * H, 8 * H * H + 2 * 8 * H * BLOCK)
    assert max(event.memory for event in models[0].log) == found.memory


def test_memory_counts_a_value_for_each_key_it_lies_under():
    async def step(model):
        weights, *_ = model.storage()
        weights[0], _ = model.load_weights(0)
        one = model.memory()
        weights["again"] = weights[0]
        two = model.memory()
        local = weights.pop("again")
        assert (one, two, model.memory()) == (H * H, 2 * H * H, H * H) and local is weights[0]
        weights.clear()
        assert model.memory() == 0
        return model

    run(step, 1, 1, 1, profile="classic")


@pytest.mark.parametrize("layers", [16, 32, 64])
def test_part_4_has_full_score_on_32_ranks(layers):
    found = outcome(run(part4.part4_training_loop, 32, layers, 2048, 64, profile="classic"))
    assert found.points == (5.0, 5, 5)
    assert found.mfu >= 0.80 and found.memory <= 60e9


def test_overlap_and_groups_cost_what_whole_collectives_cost():
    async def waits_late(model):
        group = model.group([0, 1]) if model.rank < 2 else model.group([2, 3])
        started = [group.all_reduce(model.empty_grad(i)) for i in layers_of(model)]
        begun = model.time
        for each in started:
            await each
        assert model.time - begun == pytest.approx(2 * (WEIGHT / (450e9 * 0.65) + 1e-5))
        return model

    run(waits_late, 4, 2, 4, profile="classic")


def test_values_built_by_hand_can_be_looked_at():
    grad = WeightGrad(3, 8, [0, 1], 4)
    assert not (grad == None)  # noqa: E711, as students ask whether there is a gradient yet
    grad += WeightGrad(3, 8, [2], 4)
    assert (grad.layer, grad.samples, grad.total_samples) == (3, {0, 1, 2}, 4)
    assert grad.memory() == H * H and grad.shard(1, 4).memory() == H * H / 4
    assert not grad.shard(1, 4).is_complete()
    parts = grad.shard(0, 2).combine(grad.shard(1, 2))
    assert parts.is_complete() and parts.num_shards == 2
    assert Activation(0, 8, [5], 8).memory() == H * BLOCK
