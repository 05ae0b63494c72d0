"""The honest profile, against closed forms."""

import part1
import pytest
from cluster import outcome, run
from cluster.outcome import cluster_of, fullest
from cluster.ranks import OutOfMemory
from steps import data_parallel, load_all, there_and_back
from test_classic_profile import forward_by_hand

H, BLOCK = 4096, 1024
WEIGHT = 2 * H * H
NVLINK, BETWEEN = 450e9 * 0.65, 45e9


def communication(models, *kinds):
    """Seconds of rank 0 in events of these kinds."""
    return sum(event.duration for event in models[0].log if event.typ in kinds)


def test_backward_takes_twice_as_long_and_the_last_event_counts():
    models = run(data_parallel, 1, 3, 8, profile="bytes")
    log = models[0].log
    assert {e.duration for e in log if e.typ == "forward"} == {forward_by_hand(8)}
    assert {e.duration for e in log if e.typ == "backward"} == {2 * forward_by_hand(8)}
    found = outcome(models)
    assert found.time == log[-1].time + log[-1].duration
    operations = 3 * (2 * H * H) * 8 * BLOCK * 3  # a product forward and two backward; 3 layers
    assert found.mfu == pytest.approx(operations / 1e15 / found.time)


def test_zero_3_moves_one_and_a_half_times_what_data_parallel_does():
    ops = ("all_reduce", "all_gather", "reduce_scatter")
    plain = communication(run(data_parallel, 32, 64, 256, 8, profile="bytes"), *ops)
    zero = communication(run(part1.part1_training_loop, 32, 64, 256, 8, profile="bytes"), *ops)
    ring = 64 * 2 * (31 / 32 * WEIGHT / BETWEEN + 2e-5)
    assert plain == pytest.approx(ring, rel=1e-9)
    assert zero / plain == pytest.approx(1.5, rel=1e-9)


def test_inside_a_node_is_faster_than_between_nodes():
    together = set()

    async def step(model):
        load_all(model)
        there_and_back(model, [model.rank])
        for _ in range(99 if model.rank == 0 else 0):  # the others wait for it
            model.forward(0, model.get_input_activation([0]), model.weights[0])
        grad = model.storage()[4]
        node = model.group(range(8) if model.rank < 8 else range(8, 16))
        across = model.group([model.rank % 8, model.rank % 8 + 8])
        times = []
        for group, i in ((node, 0), (across, 1)):
            await model.all_reduce(model.empty_grad(i))
            before = model.time
            together.add((i, before))
            grad[i] = await group.all_reduce(grad[i])
            times.append(model.time - before)
        assert times[0] == pytest.approx(2 * (7 / 8 * WEIGHT / NVLINK + 1e-5))
        assert (across.size, across.index) == (2, model.rank // 8)
        assert times[1] == pytest.approx(2 * (1 / 2 * WEIGHT / BETWEEN + 2e-5))
        return model

    run(step, 16, 2, 16, profile="bytes")
    assert len(together) == 2


def test_messages_are_paid_once_and_know_the_node():
    async def step(model, source, target, rate, latency):
        if model.rank == source:
            await model.send(target, model.get_input_activation([0]))
        elif model.rank == target:
            await model.receive(source)
        there = 2 * H * BLOCK / rate + latency
        assert model.time == pytest.approx(there if model.rank in (source, target) else 0)

    run(step, 9, 1, 1, 0, 1, NVLINK, 1e-5, profile="bytes")
    run(step, 9, 1, 1, 7, 8, BETWEEN, 2e-5, profile="bytes")


def test_memory_in_bytes_with_adam_as_it_is():
    async def step(model):
        weight, state = model.load_weights(0)
        assert model.memory() == (2 + 12) * H * H
        local = {"anywhere": [(state, 1)]}
        del state
        assert model.memory() == (2 + 12) * H * H
        del local
        kept = model.get_input_activation([0, 1])
        assert model.memory() == WEIGHT + kept.memory() == WEIGHT + 2 * 2 * H * BLOCK
        return model

    run(step, 1, 1, 2, profile="bytes")


def test_a_message_that_nobody_took_yet_lies_in_the_receivers_memory():
    async def step(model, early):
        if model.rank == 0:
            for i in range(3):
                await model.send(1, model.get_input_activation([i]))
        else:
            weight = model.load_weights(0)[0]  # the messages come meanwhile
            for part in ("take", "work") if early else ("work", "take"):
                for _ in range(3):
                    if part == "take":
                        await model.receive(0)
                    else:
                        model.forward(0, model.get_input_activation(range(64)), weight)
        return model

    late = fullest(cluster_of(run(step, 2, 1, 64, False, profile="bytes")))
    soon = fullest(cluster_of(run(step, 2, 1, 64, True, profile="bytes")))
    assert late[1] == soon[1] == 1
    assert late[0] - soon[0] == pytest.approx(3 * 2 * H * BLOCK)


def test_out_of_memory_is_an_event_with_a_name():
    models = []

    async def step(model):
        models.append(model)
        kept = [model.load_weights(0)]
        while True:
            kept.append(model.get_input_activation(range(1000)))

    says = r"rank 0 runs out of memory at .* and the card has 85\.9 GB"
    with pytest.raises(OutOfMemory, match=says):
        run(step, 1, 1, 1000, profile="bytes")
    assert models[0].log[-1].typ == "out_of_memory"


@pytest.mark.parametrize(("overlap", "together"), [(True, max), (False, lambda a, b: a + b)])
def test_computing_and_communication_overlap(overlap, together):
    async def step(model):
        weight, x = model.load_weights(0)[0], model.get_input_activation(range(32))
        begun = model.time
        started = model.all_reduce(model.empty_grad(0))
        if not overlap:
            await started
        model.forward(0, x, weight)
        if overlap:
            await started
        reduce = 2 * (31 / 32 * WEIGHT / BETWEEN + 2e-5)
        assert model.time - begun == pytest.approx(together(reduce, forward_by_hand(32)))

    run(step, 32, 1, 32, profile="bytes")


def test_what_a_collective_brings_and_gives_is_held_until_its_end():
    async def step(model):
        load_all(model)
        there_and_back(model, [model.rank])
        before, grad = model.memory(), model.storage()[4]
        started = model.reduce_scatter(grad.pop(0))
        assert model.memory() == before + WEIGHT / 2
        grad[0] = await started
        assert model.memory() == before - WEIGHT / 2
        started = model.all_gather(grad.pop(0))
        assert model.memory() == before - WEIGHT / 2 + WEIGHT
        await started
        return model

    run(step, 2, 1, 2, profile="bytes")
