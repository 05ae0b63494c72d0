"""What a step promises, on one rank without a connection and on several with one."""

import pytest
import torch
import torch.distributed as dist
from torch import nn

from helpers.pipeline import Pace, Pipeline, count_targets
from helpers.ranks import RankFailed, launch
from helpers.schedules import (
    Schedule,
    gpipe,
    naive,
    one_f_one_b,
    parse,
)

from .models import (
    VOCAB,
    WIDTH,
    Head,
    cut_model,
    gradients_of,
    loss,
    make_batch,
    make_model,
    right_gradients,
)

pytestmark = pytest.mark.ranks

TWO_ON_ONE = "rank 0: 0F0 1F0 0F1 1F1 1B1 0B1 1B0 0B0"


def build(schedule, rank=0, model=None, **options):
    """This rank's pipeline, and the model that its stages are parts of."""
    model = model or make_model()
    parts = cut_model(model, schedule.stages)
    stages = {number: parts[number] for number in schedule.stages_of(rank)}
    return Pipeline(schedule, stages, **{"loss": loss} | options), model


def assert_same(found, right, factor=1.0):
    assert found.keys() == right.keys()
    for name, tensor in right.items():
        torch.testing.assert_close(found[name], factor * tensor, rtol=1e-10, atol=1e-12, msg=name)


# --- one rank, no connection ---------------------------------------------------------------------


@pytest.mark.parametrize("text", [TWO_ON_ONE, "rank 0: F0 F1 F2 I1 B0 W1 B2", "rank 0: F0 B0"])
def test_one_rank_alone_needs_no_connection(text):
    pipeline, model = build(parse(text))
    outcome = pipeline.step(*make_batch())
    assert_same(gradients_of(model), right_gradients())
    ids, targets = make_batch()
    torch.testing.assert_close(outcome.loss, loss(model(ids), targets).detach())


def test_tokens_are_counted():
    ids, targets = make_batch()
    assert count_targets(targets) == int((targets != -100).sum())
    assert count_targets(torch.zeros(3, 2)) == 6


# --- wrong input: one sentence each --------------------------------------------------------------


def said(call):
    with pytest.raises(ValueError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    return text


IDS, TARGETS = make_batch()
STAGE = nn.Identity()


@pytest.mark.parametrize(
    "micro_batches, inputs, targets, words",
    [
        (
            5,
            *make_batch(rows=3),
            "the inputs have 3 rows and the schedule cuts the batch into 5 micro-batches: give at "
            "least one row for each, or take a schedule with fewer micro-batches",
        ),
        (3, [IDS, IDS], TARGETS, "the inputs are a list of 2 and the schedule has 3 micro-batches"),
        (2, IDS, make_batch(rows=6)[1], "micro-batch 0 has 4 rows of inputs and 3 of targets"),
        (2, None, TARGETS, "rank 0 holds the first stage and step() got no inputs"),
        (2, IDS, None, "rank 0 holds the last stage and step() got no targets"),
        (
            2,
            IDS,
            TARGETS * 0 - 100,
            "no target of the batch counts: there is nothing to learn from",
        ),
    ],
)
def test_batches_that_do_not_fit(micro_batches, inputs, targets, words):
    pipeline, _ = build(gpipe(1, micro_batches))
    assert words in said(lambda: pipeline.step(inputs, targets))


@pytest.mark.parametrize(
    "schedule, stages, words",
    [
        (
            parse(TWO_ON_ONE),
            {0: STAGE},
            "on rank 0 stage 1 is missing: by hand puts stages 0, 1 on it, and it was",
        ),
        (parse(TWO_ON_ONE), dict.fromkeys(range(3), STAGE), "on rank 0 stage 2 does not belong"),
        (
            gpipe(3, 2),
            {0: STAGE},
            "the schedule GPipe is for 3 ranks and this group has 1: start 3, or build the",
        ),
        (
            Schedule("wrong", parse("rank 0: F0 B0 B1 F1").ranks),
            {0: STAGE},
            "rank 0, position 2: 0B1 needs 0F1",
        ),
    ],
)
def test_stages_and_schedules_that_do_not_fit(schedule, stages, words):
    assert words in said(lambda: Pipeline(schedule, stages, loss=loss))


def test_no_loss_and_a_loss_that_is_none():
    assert "has no loss" in said(lambda: Pipeline(gpipe(1, 1), {0: STAGE}))
    pipeline, _ = build(gpipe(1, 2), loss=lambda output, target: output)
    text = said(lambda: pipeline.step(IDS, TARGETS))
    assert "the loss returned float64 of shape (4, 6, 20) for micro-batch 0" in text


@pytest.mark.parametrize(
    "stage, words",
    [
        (
            lambda ids: (ids, ids),
            "stage 0 returns a tuple: what goes to the next stage must be",
        ),
        (lambda ids: ids, "stage 0 returns int64 of shape (4, 6): what goes to the next stage"),
        (lambda ids: ids[:1].double(), "and float64 of shape (4, 6) was expected: it must keep"),
    ],
)
def test_what_cannot_be_passed_on(stage, words):
    class First(nn.Module):
        def forward(self, ids):
            return stage(ids)

    pipeline = Pipeline(parse(TWO_ON_ONE), {0: First(), 1: nn.Identity()}, loss=loss)
    assert words in said(lambda: pipeline.step(*make_batch()))


def test_lengths_that_differ_within_a_batch():
    pipeline, _ = build(parse(TWO_ON_ONE))
    ids, targets = make_batch()
    text = said(lambda: pipeline.step([ids, ids[:, :4]], [targets, targets[:, :4]]))
    assert "stage 0 returns float64 of shape (8, 4, 12) for micro-batch 1" in text
    assert "and float64 of shape (8, 6, 12) was expected" in text


# --- several ranks -------------------------------------------------------------------------------


class Raises(nn.Module):
    """Fails at its third micro-batch."""

    def __init__(self):
        super().__init__()
        self.weight, self.calls = nn.Parameter(torch.ones(WIDTH).double()), 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 3:
            raise ArithmeticError("the third one is too much")
        return x * self.weight


def failing():
    rank = dist.get_rank()
    stages = [nn.Embedding(VOCAB, WIDTH).double(), Raises(), Head().double()]
    Pipeline(one_f_one_b(3, 6), {rank: stages[rank]}, loss=loss).step(*make_batch())


def test_a_stage_that_raises_in_the_middle_ends_all_and_is_named():
    with pytest.raises(RankFailed) as caught:
        launch(failing, ranks=3, quiet=True, timeout=60)
    assert caught.value.failure.rank == 1
    assert "ArithmeticError: the third one is too much" in str(caught.value)


def disagreeing():
    """On each of two ranks: what is said where schedules differ, and where dtypes do."""
    rank, float32 = dist.get_rank(), make_model(torch.float32)
    return [
        said(lambda: build(naive(2, 4) if rank else gpipe(2, 4), rank)),
        said(lambda: build(gpipe(2, 4), rank, float32 if rank else make_model())),
    ]


def test_ranks_that_disagree_all_say_so():
    for schedules, dtypes in launch(disagreeing, ranks=2, quiet=True):
        assert schedules == (
            "rank 0 has the schedule (GPipe: 2 ranks, 2 stages, 4 micro-batches) and rank 1 "
            "another one (naive: 2 ranks, 2 stages, 4 micro-batches): build the pipeline from one "
            "schedule on all ranks"
        )
        assert dtypes == (
            "the stages of rank 0 hold float64 and those of rank 1 hold float32: convert the whole "
            "model before you cut it"
        )


# --- pace ----------------------------------------------------------------------------------------


def test_a_pace_gives_its_costs_and_refuses_what_is_wrong():
    pace = Pace(forward=[0.1, 0.2], input_grad=0.3, weight_grad=0.4)
    costs = pace.costs(latency=0.01)
    assert (costs.forward, costs.weight_grad, costs.latency) == ([0.1, 0.2], 0.4, 0.01)
    assert [pace.seconds(a) for a in parse(TWO_ON_ONE).ranks[0][:2]] == [0.1, 0.2]
    assert pace.seconds(parse(TWO_ON_ONE).ranks[0][-1]) == pytest.approx(0.7)
    assert "Pace(forward=...) holds -1" in said(lambda: Pace(forward=-1))
    text = said(lambda: build(gpipe(1, 1), pace=pace))
    assert "has 2 numbers, and the schedule needs 1" in text
