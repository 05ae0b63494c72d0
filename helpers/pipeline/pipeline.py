"""One rank's part of a pipeline: check that all parts fit together, then run step after step."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from helpers.pipeline.batch import Batch, BatchLoss, Loss, count_targets, split_batch
from helpers.pipeline.executor import Executor
from helpers.pipeline.observers import Observer
from helpers.pipeline.pace import Pace, Pacer
from helpers.pipeline.transport import Peers, Transport, connect_both_ways, find_peers
from helpers.schedules import Schedule, check
from helpers.trace import Recorder


@dataclass(frozen=True)
class Outcome:
    """What a step returns.

    loss: the mean over all tokens of the batch, on the rank of the last stage; elsewhere None.
    most_in_flight: the most micro-batches that this rank kept at one time from F until B or I.
    most_kept: the same until B or W. `helpers.schedules.in_flight` counts them the same way.
    """

    loss: Tensor | None
    most_in_flight: int
    most_kept: int


class Pipeline:
    """This rank's part of a pipeline.

        pipeline = Pipeline(one_f_one_b(3, 8), {rank: stage}, loss=cross_entropy)
        optimizer.zero_grad()
        outcome = pipeline.step(inputs, targets)        # the gradients are in .grad
        optimizer.step()

    Every rank must build it.

    Args:
        schedule: the same on all ranks, with as many ranks as the group.
        stages: the stages that the schedule puts on this rank, by their number. Each maps one
            tensor (B, ...) to one tensor with as many rows.
        group: the process group of this pipeline; None: all ranks.
        loss: loss(output, target) -> the mean over the tokens of a micro-batch. Only the rank of
            the last stage needs it.
        tokens: tokens(target) -> how many tokens that mean is over. It's the weight of the
            micro-batch, so that the gradients are those of the mean over the whole batch.
        recorder: records F, B, I, W, send, recv, and how much is kept.
        pace: lets each action take a chosen time (see `Pace`).
        gradients_ready: gradients_ready(stage) is called once per step for each stage of this rank,
            after the last backward (B or W) of that stage. The gradients of its weights are
            complete then, and averaging them over replicas can overlap with the rest of the step.

    Raises:
        BadSchedule: if the schedule can't run.
        ValueError: if the group has another size than the schedule, a stage is missing or doesn't
            belong here, the loss is missing, or ranks disagree about the schedule or the dtype.
    """

    def __init__(
        self,
        schedule: Schedule,
        stages: Mapping[int, nn.Module],
        group: Any = None,
        loss: Loss | None = None,
        tokens: Callable[[Tensor], int] = count_targets,
        recorder: Recorder | None = None,
        pace: Pace | None = None,
        gradients_ready: Callable[[int], None] | None = None,
    ):
        self.schedule, self.stages = check(schedule), dict(stages)
        peers = find_peers(group)
        require_stages(schedule, self.stages, peers)
        require_agreement(schedule, self.stages, peers)
        self.peers = connect_both_ways(peers)
        self.loss, self.tokens = loss, tokens
        self.pace = pace.require(schedule) if pace is not None else None
        self.recorder = recorder or Recorder(self.peers.rank, enabled=False)
        self.transport = Transport(schedule, self.peers, self.recorder)
        self.gradients_ready = gradients_ready or (lambda stage: None)
        self.is_first, self.is_last = 0 in self.stages, schedule.stages - 1 in self.stages
        if self.is_last and loss is None:
            raise ValueError(
                f"rank {self.peers.rank} holds the last stage and has no loss: give "
                "Pipeline(loss=...), a function of output and target"
            )

    def step(self, inputs: Batch | None = None, targets: Batch | None = None) -> Outcome:
        """Run the schedule once, and add the gradients of the batch's mean loss to `.grad`.

        Args:
            inputs: the batch (B, ...), needed on the rank of the first stage and ignored elsewhere.
                It's cut into micro-batches along the first dimension, or it's a list of them.
            targets: the same for the rank of the last stage.

        Raises:
            ValueError: if there are fewer rows than micro-batches, inputs and targets don't fit
                together, no target counts, or the output of a stage can't be sent.
        """
        m = self.schedule.micro_batches
        ins = split_batch(self._needed(inputs, "inputs"), m, "inputs") if self.is_first else []
        outs = split_batch(self._needed(targets, "targets"), m, "targets") if self.is_last else []
        loss = BatchLoss(self.loss, outs, tuple(int(self.tokens(target)) for target in outs))
        last = self.schedule.stages - 1
        observer = Observer(self.recorder, Pacer(self.pace), self.stages, last)
        Executor(
            schedule=self.schedule,
            rank=self.peers.rank,
            stages=self.stages,
            inputs=ins,
            loss=loss,
            transport=self.transport,
            observer=observer,
            gradients_ready=self.gradients_ready,
        ).run()
        count = observer.count
        return Outcome(loss.mean(), count.most_in_flight, count.most_kept)

    def _needed(self, batch: Batch | None, what: str) -> Batch:
        if batch is None:
            end = "first" if what == "inputs" else "last"
            raise ValueError(
                f"rank {self.peers.rank} holds the {end} stage and step() got no {what}: give it "
                "the batch there"
            )
        return batch


# --- the ranks -----------------------------------------------------------------------------------


def require_stages(schedule: Schedule, stages: Mapping[int, nn.Module], peers: Peers) -> None:
    """Raise ValueError unless this rank has the stages that the schedule puts on it."""
    if schedule.size != peers.size:
        raise ValueError(
            f"the schedule {schedule.name} is for {schedule.size} ranks and this group has "
            f"{peers.size}: start {schedule.size}, or build the schedule for {peers.size}"
        )
    needed, given = set(schedule.stages_of(peers.rank)), set(stages)
    for wrong, words in ((needed - given, "is missing"), (given - needed, "does not belong here")):
        if wrong:
            raise ValueError(
                f"on rank {peers.rank} stage {min(wrong)} {words}: {schedule.name} puts stages "
                f"{sorted(needed)} on it, and it was given {sorted(given)}"
            )


def require_agreement(schedule: Schedule, stages: Mapping[int, nn.Module], peers: Peers) -> None:
    """Compare the schedule and the dtype with all ranks; raise the same ValueError on all."""
    if peers.size == 1:
        return
    order = repr((str(schedule), schedule.rank_of, schedule.micro_batches))
    mine = {
        "schedule": (hashlib.sha256(order.encode()).hexdigest(), repr(schedule)),
        "dtype": _dtypes(stages),
    }
    all_ranks: list[Any] = [None] * peers.size
    dist.all_gather_object(all_ranks, mine, group=peers.down)
    for rank, theirs in enumerate(all_ranks):
        first = all_ranks[0]
        if theirs["schedule"] != first["schedule"]:
            raise ValueError(
                f"rank 0 has the schedule ({first['schedule'][1]}) and rank {rank} another one "
                f"({theirs['schedule'][1]}): build the pipeline from one schedule on all ranks"
            )
        if theirs["dtype"] and first["dtype"] and theirs["dtype"] != first["dtype"]:
            raise ValueError(
                f"the stages of rank 0 hold {first['dtype']} and those of rank {rank} hold "
                f"{theirs['dtype']}: convert the whole model before you cut it"
            )


def _dtypes(stages: Mapping[int, nn.Module]) -> str:
    kinds = {p.dtype for stage in stages.values() for p in stage.parameters()}
    names = sorted(str(kind).removeprefix("torch.") for kind in kinds if kind.is_floating_point)
    return " and ".join(names)
