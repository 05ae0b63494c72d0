"""A LLaMA in parts has the gradients of one device: with parts of the sequence, tied, on a grid."""

import copy

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F

from helpers import parallel
from helpers.grid import Grid, make_groups
from helpers.parallel import LLAMA, add_up_shared, cut, join, parallel_cross_entropy
from helpers.pipeline import Pipeline, add_tied, make_tie
from helpers.ranks import launch
from helpers.schedules import one_f_one_b
from simplellm.llama import CausalLLama, LLama
from simplellm.slicing import slice_stages, whole_name

pytestmark = pytest.mark.ranks

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


def same(found, right):
    assert found.keys() == right.keys()
    return {
        name: bool((found[name] - right[name]).abs().max() <= 1e-12 * right[name].abs().max())
        for name in right
    }


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
    with pytest.raises(ValueError, match="layers.0.self_attn has dropout_prob=0.1, and ranks"):
        cut(make_model(dropout_prob=0.1), LLAMA)
    return found


def test_its_gradients_are_those_of_one_device_and_norms_that_nobody_adds_up_are_not():
    # Made here and sent: to make a model imports what takes each rank seconds.
    models = {case: make_model(**sizes) for case, sizes in CASES.items()}
    ranks = launch(train, 2, (models,), quiet=True)
    for case, sequence in ranks[0]:
        right = one_device(**CASES[case])
        found = same(join([each[case, sequence] for each in ranks], LLAMA), right)
        forgotten = case == "tied" and sequence
        wrong = {name for name in right if forgotten and "norm" in name}
        assert {name for name, good in found.items() if not good} == wrong, case
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
            assert all(same(whole, right).values())
