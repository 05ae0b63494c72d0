"""Layers in parts, and a LLaMA of them, have the losses and gradients of one device."""

import copy

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from helpers import parallel
from helpers.grid import Grid, make_groups
from helpers.parallel import LLAMA, PlanError, add_up_shared, cut, join, parallel_cross_entropy
from helpers.pipeline import Pipeline, add_tied, make_tie
from helpers.ranks import launch
from helpers.schedules import one_f_one_b
from simplellm.slicing import slice_stages, whole_name
from tests.said import said
from tests.simplellm.small import small

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


VOCABULARY, LENGTH = 32, 8
SIZES = {"vocab_size": VOCABULARY, "ctx_size": LENGTH, "padding_idx": 0, "dmodel": 16}
CASES = {"plain": {}, "tied": {"shared": True}, "grouped queries": {"num_kv_heads": 2}}


def make_model(**sizes):
    return small(1, times=2, **SIZES | sizes).double()  # far from where all gradients are small


def make_batch():
    draw = torch.Generator().manual_seed(2)
    ids = torch.randint(1, VOCABULARY, (4, LENGTH), generator=draw)
    ids[0, [2, -1]] = 0  # padding
    return ids


def following(ids):
    """The next token of each position; -100 where there is none, and where it is padding."""
    shifted = F.pad(ids[:, 1:], (0, 1), value=-100)
    return shifted.where(shifted != 0, -100)


def tokens(ids):
    return int((following(ids) != -100).sum())


def one_device(**sizes):
    net, ids = make_model(**sizes), make_batch()
    F.cross_entropy(net(ids).flatten(0, 1), following(ids).flatten()).backward()
    return gradients(net)


def wrong(found, right):
    assert found.keys() == right.keys()
    off = {name: (found[name] - gradient).abs().max() for name, gradient in right.items()}
    return {name for name in right if off[name] > 1e-12 * right[name].abs().max()}


def train(grid, runs):
    """On a rank of a grid, of each run: the gradients of its part of its stage. A run is a model's
    stages, whether the sequence is cut too, and whether somebody adds up the norms' gradients."""
    here, groups, ids, found = (
        grid.coordinates(dist.get_rank()),
        make_groups(grid),
        make_batch(),
        [],
    )
    last, mine, schedule = (
        here.pp == grid.pp - 1,
        ids.chunk(grid.dp)[here.dp],
        one_f_one_b(grid.pp, 2),
    )
    for stages, sequence, add in runs:
        stage = copy.deepcopy(stages[here.pp])
        config = stage.config
        cut(stage, LLAMA, groups.tp, sequence, heads=(config.num_heads, config.num_kv_heads))
        if sequence:
            layers = getattr(stage, "model", stage).layers
            parallel.sequence_parallel(layers, groups.tp, ends_here=not last)

        def loss(logits, ids):
            return parallel_cross_entropy(logits, following(ids), groups.tp)

        Pipeline(schedule, {here.pp: stage}, groups.pp, loss, tokens).step(mine, mine)
        if add:
            add_up_shared(stage, groups.tp, lambda name: "norm" in name)
        if config.shared and grid.pp > 1:
            held = stage.lm_head.weight if last else stage._embedding.weight
            add_tied([held], make_tie(schedule, groups.pp))
        for p in stage.parameters():
            p.grad *= tokens(mine) / tokens(ids)  # the replicas have different numbers
            dist.all_reduce(p.grad, group=groups.dp)
        first = getattr(stage, "first_layer", 0)
        found.append({whole_name(name, first): p.grad for name, p in stage.named_parameters()})
    dropout = said(cut, make_model(dropout_prob=0.1), LLAMA)
    assert "layers.0.self_attn has dropout_prob=0.1, and ranks" in dropout
    return found


ON_TWO = [(case, sequence, sequence) for case in CASES for sequence in (False, True)]
ON_TWO += [("tied", True, False)]
ON_EIGHT = [("plain", True, True), ("tied", False, False)]


@pytest.mark.parametrize(
    ("grid", "runs"),
    [(Grid(tp=2), ON_TWO), pytest.param(Grid(2, 2, 2), ON_EIGHT, marks=pytest.mark.slow)],
)
def test_a_llama_is_one_device_but_for_norms_that_nobody_adds_up(grid, runs):
    # Made here and sent: to make a model imports what takes each rank seconds.
    models = {case: slice_stages(make_model(**CASES[case]), grid.pp) for case, *_ in runs}
    given = [(models[case], *how) for case, *how in runs]
    ranks = launch(train, grid.size, (grid, given), quiet=True)
    for (case, sequence, add), *found in zip(runs, *ranks, strict=True):
        right, forgotten = one_device(**CASES[case]), sequence and not add
        for replica in range(grid.dp):
            whole = {}
            for pp in range(grid.pp):
                parts = [found[rank] for rank in grid.group(grid.rank(replica, pp), "tp")]
                whole |= join(parts, LLAMA)
                for name in parts[0] if not forgotten else ():
                    if "norm" in name:  # what is whole is the same on every rank to the bit
                        assert parts[0][name].equal(parts[1][name])
            if case == "tied" and grid.pp > 1:
                assert whole.pop("lm_head.weight").equal(whole["model.embed_tokens.weight"])
            named = {name for name in right if forgotten and "norm" in name}
            assert wrong(whole, right) == named, case
