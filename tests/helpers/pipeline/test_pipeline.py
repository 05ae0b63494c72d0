"""What a step promises, on one rank without a connection and on several with one."""

import pytest
import torch
from torch import nn

from helpers.pipeline import Pace, Pipeline, add_tied, count_targets, make_tie
from helpers.pipeline.observers import ActivationCount
from helpers.ranks import RankFailed, launch
from helpers.schedules import (
    KINDS,
    Schedule,
    gpipe,
    interleaved,
    naive,
    one_f_one_b,
    parse,
    zb_v,
)
from helpers.trace import Recorder

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


def test_two_steps_without_zero_grad_add_up():
    pipeline, model = build(gpipe(1, 3))
    pipeline.step(*make_batch(seed=1))
    first = gradients_of(model)
    pipeline.step(*make_batch(seed=2))
    second = right_gradients(batch=make_batch(seed=2))
    assert_same(gradients_of(model), {name: first[name] + second[name] for name in first})


def test_a_micro_batch_without_tokens_adds_nothing():
    ids, targets = make_batch()
    targets[:4] = -100
    pipeline, model = build(gpipe(1, 2))
    outcome = pipeline.step(ids, targets)
    assert_same(gradients_of(model), right_gradients(batch=(ids, targets)))
    assert outcome.tokens[0] == 0 and outcome.losses[0] == 0 and torch.isfinite(outcome.loss)


def test_micro_batches_of_any_size_as_a_list():
    pipeline, model = build(gpipe(1, 3))
    ids, targets = (part.split([1, 5, 2]) for part in make_batch())
    pipeline.step(ids, targets)
    assert_same(gradients_of(model), right_gradients())


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

# The second micro-batch is sent last and needed first: by tag it does not matter.
CROSSED = parse("""
rank 0: 0F0 0F1 0B1 0B0
rank 1: 1F1 1B1 1F0 1B0
""")


def many_steps():
    """On each of two ranks: what differs from one step to the next."""
    import torch.distributed as dist

    rank, answers = dist.get_rank(), {}
    for name, schedule, batches in [
        ("crossed", CROSSED, [make_batch()]),
        ("another size each step", one_f_one_b(2, 3), [make_batch(n) for n in (9, 4, 5)]),
        ("a list", interleaved(2, 3), [[part.split([1, 5, 2]) for part in make_batch()]]),
        ("many micro-batches", gpipe(2, 8), [make_batch()]),
    ]:
        pipeline, model = build(schedule, rank)
        for batch in batches:
            pipeline.step(*batch)
        mine = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        answers[name] = mine, len(pipeline.transport.in_transit)
    return answers


def what_is_kept(rows):
    """On each of three ranks: the receives posted ahead (at first, at most), and the sends kept."""
    import torch.distributed as dist

    rank, schedule = dist.get_rank(), one_f_one_b(3, 12)
    model = make_model()
    stages = {n: cut_model(model, 3)[n] for n in schedule.stages_of(rank)}
    pipeline = Pipeline(schedule, stages, loss=loss)
    ids, targets = make_batch(rows)
    pipeline.step(ids, targets)  # the first tells the sizes
    transport, posted, sent = pipeline.transport, [], []
    receive, send = transport.receive, transport.send

    def counted(call):
        def wrapped(*args):
            answer = call(*args)
            posted.append(max((i.unused for i in transport.inbound.values()), default=0))
            sent.append(len(transport.in_transit))
            return answer

        return wrapped

    transport.receive, transport.send = counted(receive), counted(send)
    begin = transport.begin_step
    transport.begin_step = lambda rows: (begin(rows), posted.append(len(transport.posted)))
    pipeline.step(ids, targets)
    return posted[0], max(posted), max(sent)


def test_receives_are_posted_ahead_while_they_are_small_and_sends_are_let_go_once_they_arrived():
    small, large = (launch(what_is_kept, 3, args=(n,), quiet=True) for n in (12, 2400))
    # A pair of neighbors has at most a forward and a backward of three micro-batches on its way.
    assert all(sent <= 8 for _, _, sent in small), small
    assert max(posted for _, posted, _ in small) > 3 >= max(posted for _, posted, _ in large)
    # Before the step's first action; rank 0 learns the size of a gradient as it sends.
    assert all(first for first, _, _ in small[1:])


def test_steps_that_differ():
    answers = launch(many_steps, ranks=2, quiet=True)
    right = right_gradients()
    sum_of_three = [right_gradients(batch=make_batch(n)) for n in (9, 4, 5)]
    for name in answers[0]:
        found = {}
        for answer in answers:
            tensors, in_transit = answer[name]
            assert in_transit == 0
            found |= tensors
        if name == "another size each step":
            assert_same(found, {n: sum(one[n] for one in sum_of_three) for n in right})
        else:
            assert_same(found, right)


# Two stages on each rank, whose last backward is a B, or a W with other work behind it.
MIXED = parse("""
rank 0: 0F0 0F1 2F0 2F1 2I0 2B1 0B1 2W0 0I0 0W0
rank 1: 1F0 1F1 3F0 3I0 3F1 3B1 1B1 1I0 1W0 3W0
""")
AVERAGED = [one_f_one_b(2, 4), interleaved(2, 4), zb_v(2, 4), MIXED]


def averaged_early():
    """On each of four ranks, two replicas of two stages: gradients added up during the step."""
    import torch.distributed as dist

    rank, answers = dist.get_rank(), []
    pipelines = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    replicas = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    replica, place = divmod(rank, 2)
    for schedule in AVERAGED:
        model, recorder, calls, works = make_model(), Recorder(place), [], []
        parts = cut_model(model, schedule.stages)

        def average(stage, parts=parts, recorder=recorder, calls=calls, works=works):
            done = [event for event in recorder.trace().events if event.kind in KINDS]
            calls.append((stage, len(done)))
            for p in parts[stage].parameters():
                works.append(dist.all_reduce(p.grad, group=replicas[place], async_op=True))

        options = {"group": pipelines[replica], "recorder": recorder, "gradients_ready": average}
        pipeline, _ = build(schedule, place, model, **options)
        pipeline.step(*make_batch(seed=replica))
        for work in works:
            work.wait()
        mine = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        answers.append((mine, calls))
    return answers


def test_gradients_are_ready_once_after_the_last_backward_of_a_stage():
    answers = launch(averaged_early, ranks=4, quiet=True)
    of_replicas = [right_gradients(batch=make_batch(seed=seed)) for seed in (0, 1)]
    right = {name: of_replicas[0][name] + of_replicas[1][name] for name in of_replicas[0]}
    for number, schedule in enumerate(AVERAGED):
        for rank, (_, calls) in enumerate(answer[number] for answer in answers):
            last = {}  # of each stage: how many actions are done with its last backward
            for done, (kind, stage, _) in enumerate(schedule.ranks[rank % 2], 1):
                if kind in ("B", "W"):
                    last[stage] = done
            assert calls == sorted(last.items(), key=lambda item: item[1])
        for first, second in (answers[:2], answers[2:]):
            assert_same(first[number][0] | second[number][0], right)


def tied_model():
    model = make_model()
    model[-1].out.weight = model[0].weight
    return model


def tied():
    """On each of three ranks, for a schedule with the ends apart and one with both on rank 0."""
    import torch.distributed as dist

    rank, answers = dist.get_rank(), []
    for schedule in (one_f_one_b(3, 4), zb_v(3, 4)):
        model = make_model()
        model[-1].out.weight = nn.Parameter(model[0].weight.detach().clone())  # a copy each
        pipeline, _ = build(schedule, rank, model)
        tie = make_tie(schedule)
        pipeline.step(*make_batch(seed=1))
        pipeline.step(*make_batch(seed=2))
        copies = {0: model[0].weight, schedule.stages - 1: model[-1].out.weight}
        mine = [copies[stage] for stage in schedule.stages_of(rank) if stage in copies]
        add_tied(mine, tie)
        answers.append([copy.grad for copy in mine])
    return answers


def test_a_tied_weight_gets_the_sum_of_both_gradients():
    right = 0
    for seed in (1, 2):
        model = tied_model()
        ids, targets = make_batch(seed=seed)
        loss(model(ids), targets).backward()
        right = right + model[0].weight.grad
    apart, together = zip(*launch(tied, ranks=3, quiet=True), strict=True)
    assert [len(found) for found in apart] == [1, 0, 1]
    assert [len(found) for found in together] == [2, 0, 0]
    for found in (*apart, *together):
        for gradient in found:
            torch.testing.assert_close(gradient, right, rtol=1e-10, atol=1e-12)


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
    import torch.distributed as dist

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
    import torch.distributed as dist

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


def test_bytes_are_those_of_each_stage_and_of_each_half_of_backward():
    count = ActivationCount()
    for key, nbytes in (((0, 0), 20), ((1, 0), 60)):  # 10 and 30 for each of their two rows
        count.add(key, rows=2)
        count.measure(key, "F", lambda: nbytes)  # noqa: B023
    count.add((1, 1), rows=1)
    count.measure((1, 1), "F", lambda: 1 / 0)  # its stage is known
    assert count.bytes() == 20 + 60 + 30
    count.remove((1, 0), "I")
    count.measure((1, 0), "I", lambda: 10)
    assert (count.bytes(), count.in_flight, count.most_kept) == (20 + 10 + 30, 2, 3)
    count.remove((1, 0), "W")
    assert count.bytes() == 20 + 30
