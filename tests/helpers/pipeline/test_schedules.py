"""Every schedule on three real ranks has one device's gradients, the plan's order and memory.

One launch does all, on a batch that the micro-batches do not divide and whose rows have different
numbers of tokens. Some schedules are drawn: stages anywhere, any order, B or I and W, waves, and
weights of the model that are frozen.
"""

import functools
import random
from dataclasses import replace
from itertools import pairwise
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch import nn

from helpers.pipeline import Pace, Pipeline, add_tied, make_tie, run_paced
from helpers.pipeline import pipeline as pipeline_module
from helpers.pipeline.transport import group_each_way
from helpers.ranks import launch
from helpers.schedules import KINDS, SCHEDULES, Action, gpipe, in_flight, one_f_one_b, parse, waves
from helpers.search import Style, greedy_walk
from helpers.simulate import Costs, simulate
from helpers.trace import Recorder
from tests.drawn import SEED
from tests.fuzz import definition
from tests.orders import planned, recorded
from tests.said import said

from .models import assert_one_device, gradients_of, loss, make_batch, make_model, stages_of

pytestmark = pytest.mark.ranks

RANKS, M = 3, 5
INTERLEAVED, ZB_V = SCHEDULES["interleaved 1F1B"].build, SCHEDULES["ZB-V"].build
DRAWN = range(int(SEED), int(SEED) + 90) if SEED else range(18)  # other ones each week


def paired(p, m):
    """1F1B whose every F and the B after it are a pair: on all ranks but the last."""
    schedule = one_f_one_b(p, m)
    pairs = [
        [n for n, (a, b) in enumerate(pairwise(row)) if a.kind + b.kind == "FB" and a[2] != b[2]]
        for row in schedule.ranks
    ]
    return replace(schedule, pairs=pairs)


def searched(p, m):
    """What the greedy walk makes of some costs: a schedule that has no name."""
    costs = Costs(2, 1.5, 1, latency=0.1, activation_bytes=1, memory_limit=p + 1)
    style = Style((2 * p,) * p, (0.5,) * p)
    return greedy_walk(range(p), m, costs.for_schedule(one_f_one_b(p, m)), style)


def drawn(number, p, m):
    """A schedule that can run: on each rank a stage or more, in any order, of a wave or two."""
    draw = random.Random(number)
    places = [*range(p), *draw.choices(range(p), k=draw.randint(0, p + 1))]
    draw.shuffle(places)
    return waves(definition.drawn(draw, places, m if number % 2 else 2), 2 - number % 2)


BUILDERS = {
    **{name: each.build for name, each in SCHEDULES.items()},
    "1F1B, paired": paired,
    "waves": lambda p, m: waves(gpipe(p, 2), 2),
    "interleaved, 3 chunks": lambda p, m: INTERLEAVED(p, m, 3),
    "searched": searched,
    "fewer micro-batches than stages": lambda p, m: one_f_one_b(p, 1),
    **{f"drawn, {number}": functools.partial(drawn, number) for number in DRAWN},
}


def frozen(name):
    """Names of weights that the model of a drawn schedule does not train: some, most, a layer."""
    if not name.startswith("drawn"):
        return []
    names, number = [name for name, _ in make_model().named_parameters()], name.split(", ")[-1]
    draw = random.Random(number)
    layer = f"{draw.randrange(14)}."
    some, most = (draw.sample(names, count) for count in (len(names) // 2, len(names) - 1))
    return ([n for n in names if n.startswith(layer)], some, most)[int(number) % 3]


def train():
    """On every rank, of each schedule: gradients, outcome, trace, and when who was ready."""
    rank, size, answers = dist.get_rank(), dist.get_world_size(), {}
    for name, build in BUILDERS.items():
        schedule, model = build(size, M), make_model(frozen(name))
        recorder, ready = Recorder(rank), {}

        def gradients_ready(stage, ready=ready, recorder=recorder):
            assert stage not in ready
            ready[stage] = sum(event.kind in KINDS for event in recorder.trace().events)

        stages = stages_of(schedule, rank, model)
        how = {"loss": loss, "recorder": recorder, "gradients_ready": gradients_ready}
        outcome = Pipeline(schedule, stages, **how).step(*make_batch())
        answers[name] = gradients_of(model), outcome, recorder.trace(), ready
    return answers


@functools.cache
def launched():
    return launch(train, RANKS, quiet=True)


@pytest.mark.parametrize("name", BUILDERS)
def test_a_step_is_one_devices_in_the_order_of_the_schedule_and_keeps_no_more(name):
    schedule = BUILDERS[name](RANKS, M)
    gradients, outcomes, traces, ready = zip(*(found[name] for found in launched()), strict=True)
    assert_one_device(functools.reduce(dict.__or__, gradients), frozen(name))
    assert recorded(traces[0].merged(*traces[1:])) == planned(schedule)
    assert [o.most_in_flight for o in outcomes] == in_flight(schedule)
    assert [o.most_kept for o in outcomes] == in_flight(schedule, until="weights")
    for rank, found in enumerate(ready):  # at once after the stage's last backward
        order = enumerate(schedule.ranks[rank], 1)
        assert found == {s: n for n, (kind, s, _) in order if kind in "BW"}
    ids, targets = make_batch()
    whole, last = loss(make_model()(ids), targets), outcomes[schedule.rank_of[-1]]
    assert torch.allclose(last.loss, whole, rtol=1e-12)
    assert all(o.loss is None for o in outcomes if o is not last)


@pytest.mark.parametrize("name", ["1F1B, paired", "DualPipeV"])
def test_the_results_of_a_pair_leave_when_both_are_done(name):
    for rank, (_, _, trace, _) in enumerate(answers[name] for answers in launched()):
        schedule, ends, sends = BUILDERS[name](RANKS, M), {}, {}
        for e in trace.by_rank()[rank]:
            at = e.info.get("stage"), e.info.get("micro_batch")
            if e.kind == "send":  # the first is that of F
                sends.setdefault(at, e.start)
            elif e.kind in "BI":
                ends[at] = e.end
        for position in schedule.pairs[rank]:
            (_, *forward), (_, *backward) = schedule.turn_at(rank, position)
            if forward[0] + 1 < schedule.stages and tuple(forward) in sends:
                assert sends[tuple(forward)] >= ends[tuple(backward)]


def posted_ahead(width):
    """On each of two ranks: how many receives wait at each loss. width: numbers of a message."""
    found = []

    def loss(y, target):
        found.append(len(pipeline.transport.posted))
        return nn.functional.mse_loss(y, target)

    pipeline = Pipeline(gpipe(2, 8), {dist.get_rank(): nn.LayerNorm(width)}, loss=loss)
    pipeline.step(torch.ones(8, width), torch.ones(8, width))
    return found


def test_receives_are_posted_ahead_but_no_more_than_three_of_long_messages():
    _, found = launch(lambda: [posted_ahead(4), posted_ahead(2**15)], 2, quiet=True, timeout=60)
    assert found == [[7, 6, 5, 4, 3, 2, 1, 0], [3, 3, 3, 3, 3, 2, 1, 0]]


# Ranks that are in different numbers of groups: torch names a group after that number.
# The last one sends its second micro-batch last and needs it first.
CROSSED = parse("0: 0F0 0F1 0B1 0B0\n1: 1F1 1B1 1F0 1B0")
# Two schedules with other ends: stages 0 and 2 are on ranks 0 and 2, or on ranks 2 and 1.
TIED = [one_f_one_b(3, 1), parse("0: 1F0 1B0\n1: 2F0 2B0\n2: 0F0 0B0"), one_f_one_b(3, 1)]


def without_tags():
    """On each of two ranks, the gradients of each schedule, with messages as over NCCL."""
    rank, answers = dist.get_rank(), []
    for _ in range(3 * rank):
        dist.new_group([rank], use_local_synchronization=True)
    with mock.patch.object(pipeline_module, "connect_both_ways", group_each_way):
        for schedule in (one_f_one_b(2, 5), INTERLEAVED(2, 4), ZB_V(2, 5), CROSSED):
            model = make_model()
            pipeline = Pipeline(schedule, stages_of(schedule, rank, model), loss=loss)
            assert not pipeline.peers.tags and pipeline.peers.up is not pipeline.peers.down
            pipeline.step(*make_batch())
            answers.append(gradients_of(model))
    return answers


def test_a_group_for_each_direction_and_no_tags():
    for parts in zip(*launch(without_tags, ranks=2, quiet=True, timeout=60), strict=True):
        assert_one_device(parts[0] | parts[1])


def ties():
    """On each of three ranks: the gradients of a copy, twice, over three pairs of ends."""
    rank = dist.get_rank()
    dist.new_group([0, 1])  # rank 2 is in one group less
    weight, found = nn.Parameter(torch.zeros(3, 2)), []
    for schedule in TIED:
        ends, tie = {schedule.rank_of[0], schedule.rank_of[-1]}, make_tie(schedule)
        assert (tie is None) == (rank not in ends)
        for _ in range(2):
            weight.grad = torch.full((2, 3), 10.0**-rank).t()  # not contiguous, as from a product
            add_tied([weight] if rank in ends else [], tie)
            found.append(weight.grad.clone() if rank in ends else None)
    return found


def test_a_tie_between_ranks_in_different_numbers_of_groups():
    ranks = launch(ties, ranks=3, quiet=True, timeout=60)
    for number, answers in enumerate(zip(*ranks, strict=True)):
        ends = (1, 2) if number in (2, 3) else (0, 2)
        right = torch.full((3, 2), 10.0 ** -ends[0]) + torch.full((3, 2), 10.0 ** -ends[1])
        assert all(torch.equal(answers[end], right) for end in ends)
        assert sum(answer is None for answer in answers) == 1


def test_a_paced_step_runs_every_action_in_its_order_and_waits_as_the_simulated_one_does():
    plan, pace = ZB_V(2, 3), Pace([0.01, 0.03, 0.02, 0.02], 0.02, 0.01)
    seconds = [pace.seconds(Action(kind, 1, 0)) for kind in "FIWB"]
    assert seconds == pytest.approx([0.03, 0.02, 0.01, 0.03]) and pace.costs(0.5).latency == 0.5
    step = run_paced(plan, pace)
    assert recorded(step.trace) == planned(plan)
    assert list(step.most_kept) == list(in_flight(plan, until="weights"))
    assert step.step_time > 0.97 * simulate(plan, pace.costs()).step_time  # a sleep isn't shorter
    assert {c.name for c in step.trace.counters} == {"in flight"}  # and no bytes of tiny stages
    uneven = Pace(forward=[0.01, 0.01, 0.01])
    assert "one for each stage" in said(run_paced, one_f_one_b(2, 3), uneven)  # before it starts
