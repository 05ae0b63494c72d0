"""A pipeline of one rank is the model, two halves are one backward, and what is wrong is said."""

import weakref

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.pipeline import Pace, Pipeline, count_targets
from helpers.pipeline.split_backward import full_backward, input_grad, weight_grad
from helpers.ranks import RankFailed, launch
from helpers.schedules import Schedule, gpipe, naive, one_f_one_b, parse
from helpers.trace import Recorder
from tests.said import said

from . import models
from .models import assert_one_device, gradients_of, loss, make_batch, make_model, stages_of

pytestmark = pytest.mark.ranks

TWO_ON_ONE = "rank 0: 0F0 1F0 0F1 1F1 1B1 0B1 1B0 0B0"
TWO, STAGE = parse(TWO_ON_ONE), nn.Identity()


@pytest.mark.parametrize("text", [TWO_ON_ONE, "rank 0: F0 F1 F2 I1 B0 W1 B2", "rank 0: F0 B0"])
def test_one_rank_alone_needs_no_connection(text):
    schedule, model = parse(text), make_model()
    pipeline = Pipeline(schedule, stages_of(schedule, 0, model), loss=loss)
    for _ in range(2):  # gradients add up
        pipeline.step(*make_batch())
    assert_one_device({name: gradient / 2 for name, gradient in gradients_of(model).items()})
    assert count_targets(torch.zeros(3, 2)) == 6


def test_the_memory_that_is_recorded_is_what_the_graphs_save():
    layers = nn.Linear(10, 10), nn.GELU(), nn.Softmax(-1), nn.Linear(10, 10)
    stages, recorder = {0: nn.Sequential(*layers), 1: nn.Identity()}, Recorder(0)
    plan = parse("0: 0F0 0F1 1F0 1B0 0I0 1F1 1B1 0W0 0B1")
    parts = [torch.ones(4, 10), torch.ones(2, 10)]
    Pipeline(plan, stages, loss=nn.functional.mse_loss, recorder=recorder).step(parts, parts)
    # Of four rows, stage 0 keeps 480 bytes, and 320 after I; stage 1 keeps 320 for the loss.
    memory = [c.value for c in recorder.trace().counters if c.name == "memory"]
    assert memory == [480, 720, 1040, 720, 560, 720, 560, 240, 0]


IDS, TARGETS = make_batch()
CHANGING = [IDS, IDS[:, :4]], [TARGETS, TARGETS[:, :4]]
PACE = Pace(forward=[0.1, 0.2], input_grad=0.3, weight_grad=0.4)


def alone(schedule, model=None, **how):
    return Pipeline(schedule, stages_of(schedule, 0, model or make_model()), **{"loss": loss} | how)


def step(micro_batches, inputs=IDS, targets=TARGETS, **how):
    alone(gpipe(1, micro_batches), **how).step(inputs, targets)


def holding(schedule, *stages):
    return Pipeline(schedule, dict.fromkeys(stages, STAGE), loss=loss)


def passing_on(first):
    """Two stages on one rank, the first of which is a function of the ids."""
    stage = nn.Identity()
    stage.forward = first
    return Pipeline(TWO, {0: stage, 1: STAGE}, loss=loss).step(IDS, TARGETS)


WRONG = [
    (lambda: step(5, *make_batch(rows=3)), "the inputs have 3 rows and the schedule cuts"),
    (lambda: step(3, [IDS, IDS]), "the inputs are a list of 2 and the schedule has 3 micro-batch"),
    (lambda: step(2, IDS, TARGETS[:6]), "micro-batch 0 has 4 rows of inputs and 3 of targets"),
    (lambda: step(2, None), "rank 0 holds the first stage and step() got no inputs"),
    (lambda: step(2, IDS, None), "rank 0 holds the last stage and step() got no targets"),
    (lambda: step(2, IDS, TARGETS * 0 - 100), "no target of the batch counts: there is nothing to"),
    (lambda: step(2, loss=None), "rank 0 holds the last stage and has no loss"),
    (lambda: step(2, loss=lambda y, _: y), "loss returned float64 of shape (4, 6, 20) for"),
    (lambda: holding(TWO, 0), "stage 1 is missing: by hand puts stages [0, 1] on it"),
    (lambda: holding(TWO, 0, 1, 2), "on rank 0 stage 2 does not belong here"),
    (lambda: holding(gpipe(3, 2), 0), "schedule GPipe is for 3 ranks and this group has 1"),
    (lambda: holding(Schedule("wrong", [TWO.ranks[0][::-1]]), 0), "position 0: 0B0 needs 0F0"),
    (lambda: passing_on(lambda ids: (ids, ids)), "stage 0 returns a tuple: what goes to the next"),
    (lambda: passing_on(lambda ids: ids), "stage 0 returns int64 of shape (4, 6): what goes to"),
    (lambda: passing_on(lambda ids: ids[:1].double()), "must keep the rows of its input, 4"),
    (lambda: alone(TWO).step(*CHANGING), "(8, 4, 12) for micro-batch 1"),
    (lambda: Pace(forward=-1), "Pace(forward=...) holds -1"),
    (lambda: alone(gpipe(1, 1), pace=PACE), "has 2 numbers, and the schedule needs 1"),
]


@pytest.mark.parametrize(("call", "words"), WRONG, ids=[words[:40] for _, words in WRONG])
def test_wrong_input_is_one_sentence(call, words):
    assert words in said(call)


def fails_at_the_third(stage, inputs):
    stage.calls = getattr(stage, "calls", 0) + 1
    if stage.calls == 3:
        raise ArithmeticError("the third one is too much")


def disagreeing_and_failing():
    """On each of three ranks: what is said of schedules that differ, then of dtypes that do; then
    rank 1 fails."""
    rank, of_one_dtype = dist.get_rank(), gpipe(3, 4)
    model = make_model().float() if rank else make_model()
    schedules = said(lambda: holding(naive(3, 4) if rank else gpipe(3, 4), rank))
    dtypes = said(lambda: Pipeline(of_one_dtype, stages_of(of_one_dtype, rank, model), loss=loss))
    assert schedules == (
        "rank 0 has the schedule (GPipe: 3 ranks, 3 stages, 4 micro-batches) and rank 1 "
        "another one (naive: 3 ranks, 3 stages, 4 micro-batches): build the pipeline from one "
        "schedule on all ranks"
    )
    assert dtypes == (
        "the stages of rank 0 hold float64 and those of rank 1 hold float32: convert the whole "
        "model before you cut it"
    )
    first, middle, *_, last = make_model()
    middle.register_forward_pre_hook(fails_at_the_third)
    stage = [first, middle, last][rank]
    Pipeline(one_f_one_b(3, 6), {rank: stage}, loss=loss).step(*make_batch())


def test_ranks_that_disagree_all_say_so_and_a_stage_that_raises_ends_all_and_is_named():
    with pytest.raises(RankFailed) as caught:
        launch(disagreeing_and_failing, ranks=3, quiet=True, timeout=60)
    assert caught.value.failure.rank == 1
    assert "ArithmeticError: the third one is too much" in str(caught.value)


class Tables(nn.Module):
    """Tokens and positions, each with an embedding: two ways to the deepest place."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(models.VOCAB, 12), nn.Embedding(4, 12)

    def forward(self, ids):
        return self.tokens(ids) + self.places(torch.arange(4))


STAGES = {
    "blocks": lambda: nn.Sequential(models.Block(), models.Block(), models.make_head()),
    "first, embedding alone": lambda: nn.Embedding(models.VOCAB, 12),
    "first, two tables": lambda: nn.Sequential(Tables(), models.Block()),
    "no weights": nn.Tanh,
    "numbers": lambda: nn.Sequential(nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 5)),
}


def one_pass(name):
    """A stage, its input, its output, a gradient for the output; always the same."""
    torch.manual_seed(3)
    stage = STAGES[name]().double()
    x = torch.randn(3, 4, 12).double().requires_grad_(name != "numbers")
    if name.startswith("first"):
        x = torch.randint(0, models.VOCAB, (3, 4))
    y = stage(x)
    return stage, x, y, torch.randn_like(y)


@pytest.mark.parametrize("name", STAGES)
def test_both_halves_together_are_the_whole(name):
    stage, x, y, gradient = one_pass(name)
    full_backward(y, gradient, x)
    right = gradients_of(stage), x.grad
    stage, x, y, gradient = one_pass(name)
    found, branches = input_grad(y, gradient, x)
    assert all(p.grad is None for p in stage.parameters())
    weight_grad(branches)
    torch.testing.assert_close((gradients_of(stage), found), right, rtol=1e-12, atol=1e-12)


class Products(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += "mm" in str(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("first, in_i", [(True, 1), (False, 2)])
def test_no_matrix_product_is_computed_twice_and_after_i_only_w_may_follow(first, in_i):
    """Of two layers a first stage owes one gradient in I, that of what is between them."""
    stage = nn.Sequential(nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 12))
    x = torch.randn(3, 12, requires_grad=not first)
    y = stage(x)
    with Products() as products:
        branches = input_grad(y, torch.ones_like(y), x)[1]
        assert products.count == in_i
        weight_grad(branches)
        assert products.count == in_i + 2
    assert "released after I" in said(y.sum().backward, error=RuntimeError)


ALIVE, MOST = weakref.WeakSet(), []  # the graphs that exist; how many, at each forward


class Live(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ALIVE.add(ctx)
        MOST.append(len(ALIVE))
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def test_the_graph_of_a_micro_batch_is_gone_after_its_backward_pass():
    stage, x = nn.Sequential(nn.Linear(4, 4), nn.Identity(), nn.Linear(4, 4)), torch.randn(4, 4)
    stage[1].forward = Live.apply
    plan = parse("0: F0 F1 B0 I1 W1 F2 B2 F3 B3")
    Pipeline(plan, {0: stage}, loss=nn.functional.mse_loss).step(x, x)
    assert MOST == [1, 2, 1, 1] and not ALIVE
