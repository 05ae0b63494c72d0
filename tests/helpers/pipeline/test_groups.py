"""Ranks that are in different numbers of groups: torch names a group after that number."""

from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch import nn

from helpers.pipeline import Pipeline, add_tied, make_tie
from helpers.pipeline import pipeline as pipeline_module
from helpers.pipeline.transport import group_each_way
from helpers.ranks import launch
from helpers.schedules import interleaved, one_f_one_b, parse, zb_v

from .models import cut_model, loss, make_batch, make_model, right_gradients

pytestmark = pytest.mark.ranks

# Two schedules with other ends: stages 0 and 2 are on ranks 2 and 1, or on ranks 0 and 2.
TURNED = parse("""
rank 0: 1F0 1B0
rank 1: 2F0 2B0
rank 2: 0F0 0B0
""")
STRAIGHT = one_f_one_b(3, 1)
# The last one sends its second micro-batch last and needs it first.
SCHEDULES = [
    one_f_one_b(2, 5),
    interleaved(2, 4),
    zb_v(2, 5),
    parse("""
    rank 0: 0F0 0F1 0B1 0B0
    rank 1: 1F1 1B1 1F0 1B0
    """),
]


def ties():
    """On each of three ranks: the gradients of a copy, twice, over two pairs of ends."""
    rank = dist.get_rank()
    dist.new_group([0, 1])  # rank 2 is in one group less
    weight, found = nn.Parameter(torch.zeros(3, 2)), []
    for schedule in (STRAIGHT, TURNED, STRAIGHT):
        ends = {schedule.rank_of[0], schedule.rank_of[-1]}
        tie = make_tie(schedule)
        assert (tie is None) == (rank not in ends)
        for _ in range(2):
            weight.grad = torch.full((2, 3), 10.0**-rank).t()  # not contiguous, as from a product
            add_tied([weight] if rank in ends else [], tie)
            found.append(weight.grad.clone() if rank in ends else None)
    return found


def test_a_tie_between_ranks_in_different_numbers_of_groups():
    found = launch(ties, ranks=3, quiet=True, timeout=60)
    for number in range(6):
        ends = (1, 2) if number in (2, 3) else (0, 2)
        right = torch.full((3, 2), 10.0 ** -ends[0]) + torch.full((3, 2), 10.0 ** -ends[1])
        answers = [answer[number] for answer in found]
        assert all(torch.equal(answers[end], right) for end in ends)
        assert sum(answer is None for answer in answers) == 1


def without_tags():
    """On each of two ranks, the gradients of each schedule, with messages as over NCCL."""
    rank, answers = dist.get_rank(), []
    if rank:
        for _ in range(3):
            dist.new_group([rank], use_local_synchronization=True)
    with mock.patch.object(pipeline_module, "connect_both_ways", group_each_way):
        for schedule in SCHEDULES:
            model = make_model()
            parts = cut_model(model, schedule.stages)
            stages = {number: parts[number] for number in schedule.stages_of(rank)}
            pipeline = Pipeline(schedule, stages, loss=loss)
            assert not pipeline.peers.tags and pipeline.peers.up is not pipeline.peers.down
            pipeline.step(*make_batch())
            answers.append({n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    return answers


def test_a_group_for_each_direction_and_no_tags():
    right = right_gradients()
    for parts in zip(*launch(without_tags, ranks=2, quiet=True, timeout=60), strict=True):
        found = parts[0] | parts[1]
        assert found.keys() == right.keys()
        for name, tensor in right.items():
            torch.testing.assert_close(found[name], tensor, rtol=1e-10, atol=1e-12, msg=name)
