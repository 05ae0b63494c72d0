"""The blocks of GPT-2 with one process for each device, beside `Pipe` and its threads."""

import time

import torch
import torch.distributed as dist
from project.models import make_model
from torch import nn

from helpers.pipeline import Pipeline
from helpers.schedules import gpipe
from helpers.trace import Recorder, Trace


def loss_of(hidden: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Something to go back from: the mean square of what the last block gives."""
    return (hidden - target).square().mean()


def one_step(config, hidden: torch.Tensor, micro_batches: int, repeat: int = 3):
    """On each rank: a step of GPipe over its part of the blocks, forward and backward.

    config: of GPT-2; each rank makes the same weights from it. hidden (B, S, width): the input of
    the first block, and what the last should give. repeat: how often; the last time is reported.
    Returns the trace of this rank, the seconds of the step, and the gradients by name.
    """
    torch.set_num_threads(1)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    blocks = make_model(config).transformer.h
    mine = range(rank * len(blocks) // ranks, (rank + 1) * len(blocks) // ranks)
    stage = nn.Sequential(*(blocks[number] for number in mine))
    for _ in range(repeat):
        recorder = Recorder(rank)
        schedule = gpipe(ranks, micro_batches)
        pipeline = Pipeline(schedule, {rank: stage}, loss=loss_of, recorder=recorder)
        stage.zero_grad()
        dist.barrier()
        begun = time.perf_counter()
        pipeline.step(hidden, hidden)
        seconds = time.perf_counter() - begun
    named = {f"{n}.{name}": p.grad for n in mine for name, p in blocks[n].named_parameters()}
    return recorder.trace(), seconds, named


def together(traces: list[Trace]) -> Trace:
    """The traces of all ranks as one."""
    return traces[0].merged(*traces[1:])
