"""Every schedule on three real ranks: gradients and weights after SGD are those of one device.

One launch does all schedules, and two of them in float32 too, on a batch that the micro-batches do
not divide and whose rows have different numbers of tokens. Random schedules, on up to four ranks,
are in tests/fuzz/test_executor.py.
"""

import functools
from collections import OrderedDict
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
import torch.distributed as dist

from helpers.oracle import between, gather, judge, one_step, snapshot
from helpers.pipeline import Pipeline, count_targets
from helpers.ranks import launch
from helpers.schedules import (
    KINDS,
    SCHEDULES,
    gpipe,
    in_flight,
    interleaved,
    one_f_one_b,
    waves,
)
from helpers.search import Style, greedy_walk
from helpers.simulate import Costs
from helpers.trace import Recorder
from tests.orders import planned, recorded

from ..oracle.simulated import sgd
from .models import cut_model, loss, make_batch, make_model

pytestmark = pytest.mark.ranks

RANKS, M = 3, 5


def paired(p, m):
    """1F1B whose every F and the B after it are a pair: on all ranks but the last."""
    schedule = one_f_one_b(p, m)
    pairs = [
        [n for n, (a, b) in enumerate(pairwise(row)) if a.kind + b.kind == "FB" and a[2] != b[2]]
        for row in schedule.ranks
    ]
    return replace(schedule, pairs=pairs)


BUILDERS = {
    **{name: each.build for name, each in SCHEDULES.items()},
    "1F1B, paired": paired,
    "waves": lambda p, m: waves(gpipe(p, 2), 2),
    "interleaved, 3 chunks": lambda p, m: interleaved(p, m, 3),
    "searched": lambda p, m: greedy_walk(range(p), m, *searching(p, m)),
    "fewer micro-batches than stages": lambda p, m: one_f_one_b(p, 1),
}


def searching(p, m):
    """Costs and a style of which the greedy walk makes a schedule that has no name."""
    costs = Costs(2, 1.5, 1, latency=0.1, activation_bytes=1, memory_limit=p + 1)
    return costs.for_schedule(one_f_one_b(p, m)), Style((2 * p,) * p, (0.5,) * p)


DTYPES = {"float32": torch.float32, "float64": torch.float64}
CASES = [(name, "float64") for name in BUILDERS] + [("1F1B", "float32"), ("ZB-V", "float32")]


def train():
    """On every rank: one step of each schedule; the tensors, the order, what was kept."""
    rank, size, answers = dist.get_rank(), dist.get_world_size(), {}
    for name, dtype in CASES:
        schedule = BUILDERS[name](size, M)
        parts = cut_model(make_model(DTYPES[dtype]), schedule.stages)
        stages = {number: parts[number] for number in schedule.stages_of(rank)}
        whole = torch.nn.Sequential(
            OrderedDict(part for stage in stages.values() for part in stage.named_children())
        )
        recorder = Recorder(rank)
        ready = {}  # of each stage: after how many actions its gradients were

        def gradients_ready(stage, ready=ready, recorder=recorder):
            assert stage not in ready
            ready[stage] = sum(event.kind in KINDS for event in recorder.trace().events)

        pipeline = Pipeline(
            schedule, stages, loss=loss, recorder=recorder, gradients_ready=gradients_ready
        )
        before = snapshot(whole)
        outcome = pipeline.step(*make_batch())
        with torch.no_grad():  # SGD by hand: torch.optim takes two seconds to import
            for p in whole.parameters():
                p -= 0.5 * p.grad
        answers[name, dtype] = between(before, snapshot(whole)), outcome, recorder.trace(), ready
    return answers


@functools.cache
def launched():
    return launch(train, RANKS, quiet=True)


@functools.cache
def one_device(dtype, micro_batches):
    def loss_of(model, batch):
        ids, targets = batch
        return loss(model(ids), targets), count_targets(targets)

    batches = zip(*(part.tensor_split(micro_batches) for part in make_batch()), strict=True)
    return one_step(make_model(DTYPES[dtype]), loss_of, batches, sgd)


@pytest.mark.parametrize("name, dtype", CASES)
def test_the_step_is_that_of_one_device(name, dtype):
    right = one_device(dtype, BUILDERS[name](RANKS, M).micro_batches)
    parts = [answers[name, dtype][0] for answers in launched()]
    verdict = judge(right, gather(parts, right.before))
    assert verdict.ok and len(verdict.rows) == 2 * len(right.before), str(verdict)


@pytest.mark.parametrize("name", BUILDERS)
def test_every_rank_does_what_the_schedule_says_and_keeps_no_more(name):
    schedule = BUILDERS[name](RANKS, M)
    answers = [answers[name, "float64"] for answers in launched()]
    traces = [trace for _, _, trace, _ in answers]
    assert recorded(traces[0].merged(*traces[1:])) == planned(schedule)
    outcomes = [outcome for _, outcome, _, _ in answers]
    assert [o.most_in_flight for o in outcomes] == in_flight(schedule)
    assert [o.most_kept for o in outcomes] == in_flight(schedule, until="weights")
    for rank, (*_, ready) in enumerate(answers):
        last = {s: n for n, (kind, s, _) in enumerate(schedule.ranks[rank], 1) if kind in "BW"}
        assert ready == last  # at once after the stage's last backward


@pytest.mark.parametrize("name", ["1F1B, paired", "DualPipeV"])
def test_the_results_of_a_pair_leave_when_both_are_done(name):
    for rank, (_, _, trace, _) in enumerate(answers[name, "float64"] for answers in launched()):
        ends, sends, schedule = {}, {}, BUILDERS[name](RANKS, M)
        for e in trace.by_rank()[rank]:
            key = e.info.get("stage"), e.info.get("micro_batch")
            if e.kind in "FBI":
                ends[e.kind == "F", *key] = e.end
            elif e.kind == "send":
                sends.setdefault(key, []).append(e.start)
        for position in schedule.pairs[rank]:
            forward, backward = schedule.turn_at(rank, position)
            done = ends[False, *backward[1:]]
            if forward.stage + 1 < schedule.stages and (sent := sends.get(tuple(forward[1:]))):
                assert sent[0] >= done


def test_the_loss_is_that_of_the_whole_batch_and_only_the_last_rank_has_it():
    ids, targets = make_batch()
    whole = loss(make_model(torch.float64)(ids), targets)
    first, _, last = (answers["1F1B", "float64"][1] for answers in launched())
    assert torch.allclose(last.loss, whole, rtol=1e-12)
    assert sum(last.tokens) == count_targets(targets) and len(last.losses) == M
    assert (first.loss, first.losses, first.tokens) == (None, (), ())
