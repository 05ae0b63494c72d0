"""The executor: runs any schedule for real, on ranks that send each other messages."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from helpers.pipeline.batch import Batch, count_targets, cut
from helpers.pipeline.mail import Mail
from helpers.pipeline.pace import Pace
from helpers.pipeline.peers import (
    connect_both_ways,
    find_peers,
    require_agreement,
    require_stages,
)
from helpers.pipeline.step import Loss, Step
from helpers.schedules import Schedule, check
from helpers.trace import Recorder


@dataclass(frozen=True)
class Outcome:
    """What a step gave.

    loss: the mean over all tokens of the batch; losses: that of each micro-batch, in their order;
        tokens: how many each of them has. On the rank of the last stage; else None, (), ().
    most_in_flight: the most micro-batches that this rank kept at one time from F until B or I.
    most_kept: the same until B or W. As `helpers.schedules.in_flight` counts them.
    """

    loss: torch.Tensor | None
    losses: tuple[torch.Tensor, ...]
    tokens: tuple[int, ...]
    most_in_flight: int
    most_kept: int


class Pipeline:
    """This rank's part of a pipeline.

        pipeline = Pipeline(one_f_one_b(3, 8), {rank: stage}, loss=cross_entropy)
        optimizer.zero_grad()
        outcome = pipeline.step(inputs, targets)        # the gradients are in .grad
        optimizer.step()

    schedule: the same on all ranks, one rank of it for each rank of the group.
    stages: the stages that the schedule puts on this rank, by their number. Each is a function of
        one tensor (B, ...) that gives one tensor with as many rows.
    group: the process group of this pipeline; None: all ranks.
    loss: loss(output, target) -> the mean over the tokens of a micro-batch; for the last stage.
    tokens: tokens(target) -> how many tokens that mean is over. A micro-batch weighs as much, so
        that the gradients are those of the mean over the whole batch.
    recorder: writes down F, B, I, W, send, recv, and what is kept.
    pace: lets each action take a chosen time (see `Pace`).
    ahead: how many receives are posted on each link before they are needed; of small messages more.

    Raises BadSchedule, or ValueError: a group of another size, a stage that is missing or does not
    belong here, ranks that disagree about the schedule or the dtype. Every rank must build it.
    """

    def __init__(
        self,
        schedule: Schedule,
        stages: Mapping[int, nn.Module],
        group: Any = None,
        loss: Loss | None = None,
        tokens: Callable[[torch.Tensor], int] = count_targets,
        recorder: Recorder | None = None,
        pace: Pace | None = None,
        ahead: int = 3,
    ):
        self.schedule, self.stages = check(schedule), dict(stages)
        self.peers = find_peers(group)
        require_stages(schedule, self.stages, self.peers)
        require_agreement(schedule, self.stages, self.peers, group)
        self.loss, self.tokens = loss, tokens
        self.pace = pace.require(schedule) if pace is not None else None
        recorder = recorder or Recorder(self.peers.rank, enabled=False)
        self.peers = connect_both_ways(self.peers)
        self.mail = Mail(schedule, self.peers, recorder, ahead)
        self.is_first, self.is_last = 0 in self.stages, schedule.stages - 1 in self.stages
        if self.is_last and loss is None:
            raise ValueError(
                f"rank {self.peers.rank} holds the last stage and has no loss: give "
                "Pipeline(loss=...), a function of output and target"
            )

    def step(self, inputs: Batch | None = None, targets: Batch | None = None) -> Outcome:
        """Run the schedule once, and add the gradients of the batch's mean loss to `.grad`.

        inputs: the batch (B, ...), needed where the first stage is; targets: where the last one
        is. Elsewhere they are not looked at. Each is cut into micro-batches along the first
        dimension, or is a list of them.

        Raises ValueError for fewer rows than micro-batches, inputs and targets that do not fit
        together, and a stage whose output cannot be sent.
        """
        m = self.schedule.micro_batches
        ins = cut(self._needed(inputs, "inputs"), m, "inputs") if self.is_first else []
        outs = cut(self._needed(targets, "targets"), m, "targets") if self.is_last else []
        counts = tuple(int(self.tokens(target)) for target in outs)
        if outs and sum(counts) <= 0:
            raise ValueError("no target of the batch counts: there is nothing to learn from")
        shares = [count / sum(counts) for count in counts]
        step = Step(self.stages, self.mail, self.loss, self.pace, ins, outs, shares)
        step.run()
        losses = tuple(step.losses[i] for i in sorted(step.losses))
        loss = sum(map(operator.mul, losses, shares)) if losses else None
        return Outcome(loss, losses, counts, step.alive.most_in_flight, step.alive.most_kept)

    def _needed(self, batch: Batch | None, what: str) -> Batch:
        if batch is None:
            end = "first" if what == "inputs" else "last"
            raise ValueError(
                f"rank {self.peers.rank} holds the {end} stage and step() got no {what}: give it "
                "the batch there"
            )
        return batch
