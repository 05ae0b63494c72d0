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
from simplellm.llama import CausalLLama, LLama
from simplellm.slicing import slice_stages, whole_name
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


# --- a LLaMA: with parts of the sequence, tied, on a grid -----------------------------------------

VOCABULARY, LENGTH, GRID = 32, 8, Grid(dp=2, pp=2, tp=2)
SIZES = {"dmodel": 16, "num_heads": 4, "n_layers": 2, "ctx_size": LENGTH, "padding_idx": 0}
CASES = {"plain": {}, "tied": {"shared": True}, "grouped queries": {"num_kv_heads": 2}}


def make_model(**sizes):
    torch.manual_seed(1)
    model = LLama(CausalLLama, VOCABULARY, device="cpu", **SIZES | sizes).double()
    for p in model.parameters():  # start far from where all gradients are small
        p.data.mul_(5 if p.dim() > 1 else 1)
    return model


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


def gradients_of(net):
    first = getattr(net, "first_layer", 0)
    return {whole_name(name, first): p.grad for name, p in net.named_parameters()}


def one_device(**sizes):
    net, ids = make_model(**sizes), make_batch()
    F.cross_entropy(net(ids).flatten(0, 1), following(ids).flatten()).backward()
    return gradients_of(net)


def wrong(found, right):
    assert found.keys() == right.keys()
    off = {name: (found[name] - gradient).abs().max() for name, gradient in right.items()}
    return {name for name in right if off[name] > 1e-12 * right[name].abs().max()}


def train(models):
    """On every rank: the gradients of all models, with and without parts of the sequence, and those
    of norms that nobody adds up; and what is said of a model with dropout."""
    found, ids = {}, make_batch()
    for case, sequence, forget in [(c, s, s and c == "tied") for c in models for s in (0, 1)]:
        net = copy.deepcopy(models[case])
        cut(net, LLAMA, sequence=bool(sequence), heads=(4, net.config.num_kv_heads))
        if sequence:
            parallel.sequence_parallel(net.model.layers, ends_here=False)
        parallel_cross_entropy(net(ids), following(ids)).backward()
        if sequence and not forget:
            add_up_shared(net, None, lambda name: "norm" in name)
        found[case, sequence] = gradients_of(net)
    dropout = said(cut, make_model(dropout_prob=0.1), LLAMA)
    assert "layers.0.self_attn has dropout_prob=0.1, and ranks" in dropout
    return found


def test_its_gradients_are_those_of_one_device_and_norms_that_nobody_adds_up_are_not():
    # Made here and sent: to make a model imports what takes each rank seconds.
    models = {case: make_model(**sizes) for case, sizes in CASES.items()}
    ranks = launch(train, 2, (models,), quiet=True)
    for case, sequence in ranks[0]:
        right = one_device(**CASES[case])
        forgotten = case == "tied" and sequence
        found = wrong(join([each[case, sequence] for each in ranks], LLAMA), right)
        assert found == {name for name in right if forgotten and "norm" in name}, case
        for name in right if not forgotten else ():
            if "norm" in name:  # what is whole is the same on every rank to the bit
                assert ranks[0][case, sequence][name].equal(ranks[1][case, sequence][name])


def train_on_a_grid(stages, sequence, shared):
    """On a rank of TP 2 x PP 2 x DP 2: the gradients of its part of its stage."""
    here, groups = GRID.coordinates(dist.get_rank()), make_groups(GRID)
    stage, last, ids = stages[here.pp], here.pp == GRID.pp - 1, make_batch()
    cut(stage, LLAMA, groups.tp, sequence, heads=(stage.config.num_heads,))
    if sequence:
        parallel.sequence_parallel(stage.layers, groups.tp, ends_here=not last)

    def loss(logits, ids):
        return parallel_cross_entropy(logits, following(ids), groups.tp)

    schedule, mine = one_f_one_b(GRID.pp, 2), ids.chunk(GRID.dp)[here.dp]
    Pipeline(schedule, {here.pp: stage}, groups.pp, loss, tokens).step(mine, mine)
    if sequence:
        add_up_shared(stage, groups.tp, lambda name: "norm" in name)
    if shared:
        copy = stage.lm_head.weight if last else stage._embedding.weight
        add_tied([copy], make_tie(schedule, groups.pp))
    for p in stage.parameters():
        p.grad *= tokens(mine) / tokens(ids)  # the replicas have different numbers
        dist.all_reduce(p.grad, group=groups.dp)
    return gradients_of(stage)


@pytest.mark.slow
def test_eight_ranks_are_one_device():
    stages = [slice_stages(make_model(shared=shared), GRID.pp) for shared in (False, True)]

    def train_both(*given):
        return [train_on_a_grid(given[n], sequence=not n, shared=n) for n in (0, 1)]

    both = launch(train_both, GRID.size, stages, quiet=True)
    for shared, found in enumerate(zip(*both, strict=True)):
        right = one_device(shared=bool(shared))
        for replica in range(GRID.dp):
            whole = {}
            for pp in range(GRID.pp):
                ranks = GRID.group(GRID.rank(replica, pp), "tp")
                whole |= join([found[rank] for rank in ranks], LLAMA)
            if shared:
                assert whole.pop("lm_head.weight").equal(whole["model.embed_tokens.weight"])
            assert not wrong(whole, right)
