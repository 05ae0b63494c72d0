"""Layers in parts give what torch's whole layers give: outputs, gradients, losses."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from helpers.parallel import PlanError, cut, join, parallel_cross_entropy
from helpers.ranks import launch
from tests.said import said

pytestmark = pytest.mark.ranks

PLAN = {"up": "column", "down": "row", "rows": "vocabulary", "head": "column"}
IDS = torch.tensor([[0, 11, 5, 2, 7], [3, 3, 2, 9, 10]])
TARGETS = torch.tensor([[11, 5, -100, 7, 0], [3, 0, 9, 10, -100]])


class Small(nn.Module):
    """Tokens to logits, with every kind of layer, and biases."""

    def __init__(self, tied=False):
        super().__init__()
        torch.manual_seed(3)
        self.rows = nn.Embedding(12, 6, padding_idx=2)
        self.up, self.down = nn.Linear(6, 24), nn.Linear(24, 6)
        self.head = nn.Linear(6, 12, bias=not tied)
        if tied:
            self.head.weight = self.rows.weight

    def forward(self, ids):
        x = self.rows(ids)
        return self.head(x + self.down(F.gelu(self.up(x))))


def gradients(model):
    return {name: p.grad for name, p in model.named_parameters()}


def run(tied):
    model = cut(Small(tied).double(), PLAN)
    loss = parallel_cross_entropy(model(IDS), TARGETS)
    loss.backward()
    assert (model.head.weight is model.rows.weight) == tied
    return loss.detach(), model.state_dict(), gradients(model)


def run_all():
    """With and without tied weights; and what is said of layers that have no equal parts."""
    model, odd = Small(), {}
    model.up, model.down, model.rows = nn.Linear(6, 7), nn.Linear(7, 6), nn.Embedding(11, 6)
    for what, heads in (("heads", (6, 5)), ("up", ()), ("down", ()), ("rows", ())):
        odd[what] = said(cut, model, {what: PLAN.get(what, "row")}, heads=heads)
    return run(tied=False), run(tied=True), [*odd.values()]


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_model_with_every_layer_cut_is_the_whole_model_and_what_cannot_be_cut_is_named(ranks):
    *both, odd = zip(*launch(run_all, ranks, quiet=True), strict=True)
    for tied, found in enumerate(both):
        model = Small(bool(tied)).double()
        right = F.cross_entropy(model(IDS).flatten(0, 1), TARGETS.flatten(), ignore_index=-100)
        right.backward()
        assert all(torch.allclose(loss, right, rtol=1e-12, atol=1e-12) for loss, *_ in found)
        for kind, expected in ((1, model.state_dict()), (2, gradients(model))):
            joined = join([answer[kind] for answer in found], PLAN)
            torch.testing.assert_close(joined, dict(expected), rtol=1e-12, atol=1e-12)
        assert torch.equal(found[0][2]["down.bias"], found[1][2]["down.bias"])
    for sentences in odd:
        assert [sentence.partition(": ")[0] for sentence in sentences] == [
            f"5 heads cannot be divided among {ranks} ranks",
            f"up (7x6) cannot be cut among {ranks} ranks",
            f"down (6x7) cannot be cut among {ranks} ranks",
            f"rows (11x6) cannot be cut among {ranks} ranks",
        ]


def test_what_the_loss_makes_of_nothing_of_large_logits_and_of_wrong_targets():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = parallel_cross_entropy(logits, torch.full((2, 3), -100))
    loss.backward()
    assert loss.item() == 0 and not logits.grad.any()
    logits = torch.tensor([[1e4, -1e4, 9.99e3]])
    loss = parallel_cross_entropy(logits, torch.tensor([2]))
    assert loss.item() == pytest.approx(10, rel=1e-5)
    assert parallel_cross_entropy(logits.bfloat16(), torch.tensor([2])).dtype == torch.float32
    for targets, words in (
        ([0, 0, 0], "do not fit: (2, 4) and (3,)"),
        ([0, 4], "target 4 is outside the vocabulary of 4 tokens"),
        ([-1, 0], "target -1 is outside"),
    ):
        assert words in said(parallel_cross_entropy, torch.zeros(2, 4), torch.tensor(targets))


def test_a_plan_that_does_not_fit_is_one_sentence():
    for plan, words in (
        ({"rows": "column"}, "cuts 'rows' by 'column', which is for Linear, not for Embedding"),
        ({"up": "diagonal"}, "cuts 'up' by 'diagonal': choose one of column, row, vocabulary"),
        ({"mlp.*": "row"}, "the plan names mlp.*, and no module of this model fits"),
    ):
        assert words in said(cut, Small(), plan, error=PlanError)
