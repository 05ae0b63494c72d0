"""TP 2 x PP 2 x DP 2 on eight ranks: one step of one device."""

import pytest
import torch.distributed as dist

from helpers.grid import Grid, make_groups
from helpers.oracle import Step, judge
from helpers.parallel import LLAMA, add_up_shared, cut, join, sequence_parallel
from helpers.pipeline import Pipeline, add_tied, make_tie
from helpers.ranks import launch
from helpers.schedules import one_f_one_b
from simplellm.slicing import slice_stages, whole_name

from .models import make_batch, make_model, one_device, part_loss, sgd_step, tokens

pytestmark = pytest.mark.ranks

GRID = Grid(dp=2, pp=2, tp=2)
KINDS = ("before", "gradients", "after")


def train(stages, sequence, shared):
    here, groups = GRID.coordinates(dist.get_rank()), make_groups(GRID)
    stage = stages[here.pp]
    last = here.pp == GRID.pp - 1
    cut(stage, LLAMA, groups.tp, sequence, heads=(stage.config.num_heads,))
    if sequence:
        sequence_parallel(stage.layers, groups.tp, ends_here=not last)
    schedule = one_f_one_b(GRID.pp, 2)
    pipeline = Pipeline(
        schedule,
        {here.pp: stage},
        groups.pp,
        loss=lambda logits, ids: part_loss(logits, ids, groups.tp),
        tokens=tokens,
    )
    tie = make_tie(schedule, groups.pp) if shared else None
    copy = stage.lm_head.weight if last else stage._embedding.weight
    mine = make_batch().chunk(GRID.dp)[here.dp]
    share = GRID.dp * tokens(mine) / tokens(make_batch())  # the replicas have different numbers

    def one():
        pipeline.step(mine, mine)
        if sequence:
            add_up_shared(stage, groups.tp, lambda name: "norm" in name)
        if shared:
            add_tied([copy], tie)
        for p in stage.parameters():
            p.grad *= share
            dist.all_reduce(p.grad, group=groups.dp)
            p.grad /= GRID.dp

    step = sgd_step(stage, one)
    first = stage.first_layer
    return {
        kind: {whole_name(name, first): t for name, t in getattr(step, kind).items()}
        for kind in KINDS
    }


def train_both(plain, shared):
    return train(plain, sequence=True, shared=False), train(shared, sequence=False, shared=True)


@pytest.mark.slow
def test_eight_ranks_are_one_device():
    # Made here and sent: to make a model imports what takes each rank seconds.
    stages = [slice_stages(make_model(shared=shared), GRID.pp) for shared in (False, True)]
    answers = launch(train_both, GRID.size, stages, quiet=True)
    parts = [make_batch()[row : row + 1] for row in range(4)]
    for shared, found in enumerate(zip(*answers, strict=True)):
        right = one_device(make_model(shared=bool(shared)), parts)
        for replica in range(GRID.dp):
            whole = {kind: {} for kind in KINDS}
            for pp in range(GRID.pp):
                ranks = GRID.group(GRID.rank(replica, pp), "tp")
                for kind in KINDS:
                    whole[kind] |= join([found[rank][kind] for rank in ranks], LLAMA)
            verdict = judge(right, Step(**whole, ties=right.ties))
            assert verdict.ok, str(verdict)
            assert len(verdict.rows) == 2 * len(right.before)
