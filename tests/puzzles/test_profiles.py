"""Each profile's time and memory are those of the labs, of closed forms, of the cluster model."""

import copy
import inspect
from dataclasses import replace

import eight
import part1
import part3
import part5
import pytest
from cluster import Dist, outcome, profiles, run
from cluster.outcome import cluster_of, fullest
from steps import data_parallel, load_all, own

from helpers.cluster import Layout, estimate
from helpers.cost import gpt

H, BLOCK = 4096, 1024
WEIGHT = 2 * H * H  # bytes
NVLINK, BETWEEN = 450e9 * 0.65, 45e9
REDUCE = 2 * (31 / 32 * WEIGHT / BETWEEN + 2e-5)  # of 32 ranks, in seconds


# --- the digits of the labs ----------------------------------------------------------------------

CLASSIC = {
    "load_weights": 8.285045e-5,
    "forward": 3.817749e-5,
    "loss": 0,
    "backward": 3.817749e-5,
    "update": 3.640889e-5,
    **dict.fromkeys(("all_reduce", "reduce_scatter", "all_gather"), 7.656540e-4),
    **dict.fromkeys(("send", "recv"), 2.064135e-4),
}


@pytest.mark.parametrize(
    ("ranks", "samples", "seconds"),
    [
        (16, 16, CLASSIC),
        (8, 8, {"all_gather": WEIGHT / NVLINK + 1e-5, "send": 2 * H * BLOCK / NVLINK + 1e-5}),
        (1, 64, {"forward": 2.314761e-3, "backward": 2.314761e-3}),
    ],
)
def test_classic_has_the_seconds_of_the_labs_simulator(ranks, samples, seconds):
    took = {}
    for step, *more in (
        (data_parallel,),
        (part1.part1_training_loop, samples),
        (part3.part3_training_loop, 1),
    ):
        for model in run(step, ranks, 16, samples, *more, profile="classic"):
            for event in model.log:
                took.setdefault(event.typ, event.duration)
    assert {kind: took[kind] for kind in seconds} == pytest.approx(seconds, rel=2e-7)


def test_the_last_event_of_each_of_the_eight_puzzles_begins_half_a_step_before_its_end():
    for name, (*case, steps, _) in eight.CASES.items():
        models = run(getattr(eight, name), *case, profile="steps")
        last = max(event.time for model in models for event in model.log)
        assert outcome(models).time == pytest.approx(steps) == pytest.approx(last + 0.5)


@pytest.mark.parametrize(
    ("percent", "gigabytes", "score"),
    [(80, 60, 5), (79.9, 60.1, 4), (70, 69, 4), (69.9, 69.1, 3), (60, 80, 3), (59.9, 80.1, 1.5)]
    + [(50, 60, 2.75), (49.9, 60, 2), (40, 60, 2), (39.9, 60, 1.25)],
)
def test_the_score_of_part_4(percent, gigabytes, score):
    found = outcome(run(data_parallel, 1, 1, 1))
    found = replace(found, time=1.0, best=percent / 100, memory=gigabytes * 1e9)
    assert found.points[0] == score


# --- bytes ---------------------------------------------------------------------------------------


def test_the_last_event_counts_and_the_work_is_that_of_three_products():
    models = run(data_parallel, 1, 3, 8, profile="bytes")
    found, log = outcome(models), models[0].log
    assert found.time == log[-1].time + log[-1].duration
    took = {event.typ: event.duration for event in log}
    assert took["backward"] == 2 * took["forward"]
    operations = 3 * (2 * H * H) * 8 * BLOCK * 3  # a product forward and two backward; 3 layers
    assert found.mfu == pytest.approx(operations / 1e15 / found.time)


def test_inside_a_node_is_faster_than_between_nodes_and_messages_are_paid_once():
    async def step(m):
        load_all(m)
        own(m)
        node = m.group(range(8) if m.rank < 8 else range(8, 16))
        across = m.group([m.rank % 8, m.rank % 8 + 8])
        assert (across.size, across.index) == (2, m.rank // 8)
        for i, (group, n, rate, latency) in enumerate(
            [(node, 8, NVLINK, 1e-5), (across, 2, BETWEEN, 2e-5)]
        ):
            await m.all_reduce(m.empty_grad(i))
            ring = 2 * ((n - 1) / n * WEIGHT / rate + latency)
            before = m.time
            await group.all_reduce(m.grad_weights.pop(i))
            assert m.time - before == pytest.approx(ring)
            await m.all_reduce(m.empty_grad(i))
            before, other = m.time, (m.rank + [1, 8][i]) % 16
            if m.rank == 0:
                await m.send(other, m.get_input_activation([0]))
            elif m.rank == [1, 8][i]:
                await m.receive(0)
            sent = 2 * H * BLOCK / rate + latency
            busy = m.rank in (0, [1, 8][i])
            assert m.time - before == pytest.approx(sent if busy else 0)
        return m

    run(step, 16, 2, 16, profile="bytes")


def test_memory_in_bytes_with_adam_as_it_is():
    async def step(model):
        weight, state = model.load_weights(0)
        local = {"anywhere": [(state, 1)]}
        assert copy.deepcopy([weight])[0] is copy.copy(weight) is weight
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

    late, soon = (fullest(cluster_of(run(step, 2, 1, 64, early))) for early in (False, True))
    assert late[1] == soon[1] == 1
    assert late[0] - soon[0] == pytest.approx(3 * 2 * H * BLOCK)


def test_computing_and_communication_overlap_where_a_call_is_awaited_late():
    async def step(model, late):
        weight, x = model.load_weights(0)[0], model.get_input_activation(range(32))
        begun, started = model.time, model.all_reduce(model.empty_grad(0))
        if not late:
            await started
        model.forward(0, x, weight)
        if late:
            await started
        both = REDUCE, profiles.Bytes(32).forward(32)
        assert model.time - begun == pytest.approx(max(both) if late else sum(both))

    run(step, 32, 1, 32, True, profile="bytes")
    run(step, 32, 1, 32, False, profile="bytes")


def test_what_a_collective_brings_and_gives_is_held_until_its_end():
    async def step(model):
        load_all(model)
        own(model)
        before, grad = model.memory(), model.grad_weights
        started = model.reduce_scatter(grad.pop(0))
        assert model.memory() == before + WEIGHT / 2
        grad[0] = await started
        assert model.memory() == before - WEIGHT / 2
        started = model.all_gather(grad.pop(0))
        assert model.memory() == before - WEIGHT / 2 + WEIGHT
        await started
        return model

    run(step, 2, 1, 2, profile="bytes")


# --- whole steps --------------------------------------------------------------------------------


def test_a_measured_pipeline_takes_what_the_cluster_model_says():
    """1F1B of six nodes with one rank each at work: part 3, and the closed form."""
    profile = Dist(1, "measured").profile
    model = gpt(12288, 6, 96, vocabulary=8)  # its embedding and its loss take hardly anything
    layout = Layout(24, pp=6, recompute="none", flash=True)
    expected = estimate(model, layout, profile.card)
    found = outcome(run(part3.part3_training_loop, 6, 6, 24, 1, profile="measured"))
    assert found.time == pytest.approx(expected.seconds, rel=0.03)
    assert found.mfu == pytest.approx(expected.utilisation.mfu, rel=0.03)


KEPT = "25 // ((warm_up + 1) * batch_size)"
EVERYWHERE = [("node = NODE", "node = model.world_size"), (KEPT, "6")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "sequences", "gigabytes", "percent"),
    [(EVERYWHERE, 2, 76.7, 38.3), ([(KEPT, "1")], 1, 65.0, 51.0), ([], 1, 74.5, 55.4)],
)
def test_the_bosss_solutions_in_the_lesson_and_the_readme(changes, sequences, gigabytes, percent):
    text, scope = inspect.getsource(part5.part5_training_loop), dict(vars(part5))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    exec(text, scope)
    step = scope["part5_training_loop"]
    found = outcome(run(step, 48, 60, 192, sequences, profile="measured"))
    assert found.memory / 1e9 == pytest.approx(gigabytes, abs=0.06)
    assert found.points[0] == 100 * found.mfu == pytest.approx(percent, abs=0.06)
