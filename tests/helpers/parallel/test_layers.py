"""Layers in parts give what torch's whole layers give: outputs, gradients, losses."""

import functools

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    VocabularyParallelEmbedding,
    cut,
    join,
    parallel_cross_entropy,
)
from helpers.parallel.plan import PlanError, cut_dimension
from helpers.ranks import launch

pytestmark = pytest.mark.ranks

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
PLAN = {"up": "column", "down": "row", "rows": "vocabulary", "head": "column"}
VOCABULARY = 12


class Small(nn.Module):
    """Tokens to logits, with every kind of layer, and biases."""

    def __init__(self, tied=False):
        super().__init__()
        torch.manual_seed(3)
        self.rows = nn.Embedding(VOCABULARY, 6, padding_idx=2)
        self.up, self.down = nn.Linear(6, 24), nn.Linear(24, 6)
        self.head = nn.Linear(6, VOCABULARY, bias=not tied)
        if tied:
            self.head.weight = self.rows.weight

    def forward(self, ids):
        x = self.rows(ids)
        return self.head(x + self.down(F.gelu(self.up(x))))


def batch():
    ids = torch.tensor([[0, 11, 5, 2, 7], [3, 3, 2, 9, 10]])
    targets = torch.tensor([[11, 5, -100, 7, 0], [3, 0, 9, 10, -100]])
    return ids, targets


def whole_loss(model):
    ids, targets = batch()
    return F.cross_entropy(model(ids).flatten(0, 1), targets.flatten(), ignore_index=-100)


def gradients(model):
    return {name: p.grad for name, p in model.named_parameters()}


def run(tied):
    model = cut(Small(tied).double(), PLAN)
    ids, targets = batch()
    loss = parallel_cross_entropy(model(ids), targets)
    loss.backward()
    ties = model.head.weight is model.rows.weight
    return loss.detach(), model.state_dict(), gradients(model), ties


def refusals():
    """What is said of a model whose layers have no two equal parts, nor three."""
    model, said = Small(), {}
    model.up, model.down, model.rows = nn.Linear(6, 7), nn.Linear(7, 6), nn.Embedding(11, 6)
    for what, heads in {"heads": (6, 5), "up": (), "down": (), "rows": ()}.items():
        try:
            cut(model, {what: PLAN[what]} if what in PLAN else PLAN, heads=heads)
        except ValueError as error:
            said[what] = str(error)
    return said


def run_all():
    return run(tied=False), run(tied=True), refusals()


@functools.cache
def launched(ranks):
    return launch(run_all, ranks, quiet=True)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("tied", [False, True])
def test_a_model_with_every_layer_cut_is_the_whole_model(ranks, tied):
    found = [answers[tied] for answers in launched(ranks)]
    model = Small(tied).double()
    right = whole_loss(model)
    right.backward()
    assert all(torch.allclose(loss, right, **TOLERANCE) for loss, *_ in found)
    for kind, expected in ((1, model.state_dict()), (2, gradients(model))):
        joined = join([answer[kind] for answer in found], PLAN)
        assert set(joined) == set(expected)
        for name, tensor in joined.items():
            torch.testing.assert_close(tensor, expected[name], **TOLERANCE, msg=name)
    assert [answer[3] for answer in found] == [tied] * ranks
    assert torch.equal(found[0][2]["down.bias"], found[1][2]["down.bias"])


@pytest.mark.parametrize("ranks", [2, 3])
def test_what_the_ranks_do_not_divide_is_refused_with_its_name(ranks):
    sentences = {
        "heads": f"5 heads cannot be divided among {ranks} ranks: each has whole heads",
        "up": f"up (7x6) cannot be cut among {ranks} ranks: dimension 0 of a tensor",
        "down": f"down (6x7) cannot be cut among {ranks} ranks: dimension 1",
        "rows": f"rows (11x6) cannot be cut among {ranks} ranks: dimension 0",
    }
    for *_, said in launched(ranks):
        for what, words in sentences.items():
            assert words in said[what]


def test_targets_that_count_not_give_a_loss_of_zero():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = parallel_cross_entropy(logits, torch.full((2, 3), -100))
    loss.backward()
    assert loss.item() == 0 and not logits.grad.any()


def test_large_logits_stay_finite_and_half_precision_is_wide():
    logits = torch.tensor([[1e4, -1e4, 9.99e3]])
    loss = parallel_cross_entropy(logits, torch.tensor([2]))
    assert loss.item() == pytest.approx(10, rel=1e-5)
    assert parallel_cross_entropy(logits.bfloat16(), torch.tensor([2])).dtype == torch.float32


def test_what_a_plan_cuts():
    assert cut_dimension("up.weight", PLAN) == cut_dimension("up.bias", PLAN) == 0
    assert (cut_dimension("down.weight", PLAN), cut_dimension("down.bias", PLAN)) == (1, None)
    assert cut_dimension("rows.weight", PLAN) == 0 and cut_dimension("norm.weight", PLAN) is None


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"rows": "column"}, "cuts 'rows' by 'column', which is for Linear, not for Embedding"),
        ({"up": "diagonal"}, "cuts 'up' by 'diagonal': choose one of 'column', 'row', 'vocab"),
        ({"mlp.*": "row"}, r"the plan names mlp.\*, and no module of this model fits"),
    ],
)
def test_a_plan_that_does_not_fit_is_one_sentence(plan, words):
    with pytest.raises(PlanError, match=words):
        cut(Small(), plan)


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (torch.zeros(3, dtype=torch.long), r"do not fit: \(2, 4\) and \(3,\)"),
        (torch.tensor([0, 4]), "target 4 is outside the vocabulary of 4 tokens"),
        (torch.tensor([-1, 0]), "target -1 is outside"),
    ],
)
def test_wrong_targets_are_one_sentence(targets, words):
    with pytest.raises(ValueError, match=words):
        parallel_cross_entropy(torch.zeros(2, 4), targets)


def test_parts_of_different_models_are_refused():
    with pytest.raises(ValueError, match="the ranks hold different names"):
        join([{"a": None}, {"b": None}], PLAN)


def test_each_kind_of_layer_can_be_made_alone():
    column = ColumnParallelLinear(nn.Linear(3, 4))
    row = RowParallelLinear(nn.Linear(4, 2, bias=False))
    x = VocabularyParallelEmbedding(nn.Embedding(5, 3))(torch.tensor([[0, 4]]))
    assert row(column(x)).shape == (1, 2, 2)
