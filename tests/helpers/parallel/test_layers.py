"""Layers in parts give what torch's whole layers give: outputs, gradients, losses."""

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

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}
PLAN = {"up": "column", "down": "row", "rows": "vocabulary"}
VOCABULARY = 12
HEADS = {"heads": (4, 3), "up": (), "down": (), "rows": ()}


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


def run(plan, tied):
    model = cut(Small(tied).double(), plan)
    ids, targets = batch()
    loss = parallel_cross_entropy(model(ids), targets)
    loss.backward()
    ties = model.head.weight is model.rows.weight
    return loss.detach(), model.state_dict(), gradients(model), ties


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("tied", [False, True])
def test_a_model_with_every_layer_cut_is_the_whole_model(ranks, tied):
    plan = PLAN | {"head": "column"}
    found = launch(run, ranks, (plan, tied), quiet=True)
    model = Small(tied).double()
    right = whole_loss(model)
    right.backward()
    assert all(torch.allclose(loss, right, **TOLERANCE) for loss, *_ in found)
    for kind, expected in ((1, model.state_dict()), (2, gradients(model))):
        joined = join([answer[kind] for answer in found], plan)
        assert set(joined) == set(expected)
        for name, tensor in joined.items():
            torch.testing.assert_close(tensor, expected[name], **TOLERANCE, msg=name)
    assert [answer[3] for answer in found] == [tied] * ranks
    assert torch.equal(found[0][2]["down.bias"], found[1][2]["down.bias"])


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
    assert cut_dimension("rows.weight", PLAN) == 0 and cut_dimension("head.weight", PLAN) is None


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


def test_what_the_ranks_do_not_divide_is_refused_with_its_name():
    def uneven():
        said = {}
        for what in ("heads", *PLAN):
            try:
                cut(Small(), {what: PLAN.get(what)} if what in PLAN else PLAN, heads=HEADS[what])
            except ValueError as error:
                said[what] = str(error)
        return said

    sentences = {
        "heads": "4 heads cannot be divided among 5 ranks: each has whole heads",
        "up": "up (24x6) cannot be cut among 5 ranks: dimension 0 of a tensor",
        "down": "down (6x24) cannot be cut among 5 ranks: dimension 1",
        "rows": "rows (12x6) cannot be cut among 5 ranks: dimension 0",
    }
    for said in launch(uneven, 5, quiet=True):
        for what, words in sentences.items():
            assert words in said[what]


def test_each_kind_of_layer_can_be_made_alone():
    column = ColumnParallelLinear(nn.Linear(3, 4))
    row = RowParallelLinear(nn.Linear(4, 2, bias=False))
    x = VocabularyParallelEmbedding(nn.Embedding(5, 3))(torch.tensor([[0, 4]]))
    assert row(column(x)).shape == (1, 2, 2)
