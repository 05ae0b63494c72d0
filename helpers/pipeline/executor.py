"""The executor: run one rank's part of any schedule, with real messages.

A schedule is a list of actions for each rank, and every action takes the same three steps: receive
its input, compute, deliver the result. A pair (F&B) takes each step for both actions before the
next: its two results leave together, and travel while the rank computes on. The schedule alone
decides the order, and with it the kind of pipeline.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from helpers.pipeline.observers import Observer
from helpers.pipeline.split_backward import Branches, full_backward, input_grad, weight_grad
from helpers.pipeline.transport import Transport
from helpers.schedules import Action, Schedule, needed_stage, target_of


@dataclass
class SavedForward:
    """What a stage keeps of a micro-batch from its forward until its backward, or its W, is done.

    x: the input (b, ...). y: the output, or on the last stage the loss. gradient: of the loss of
    the step with respect to y, on the last stage. branches: what W still has to do, once I is done.
    """

    x: Tensor | None = None
    y: Tensor | None = None
    gradient: Tensor | None = None
    branches: list[Branches] = field(default_factory=list)


@dataclass
class Executor:
    """One training step on one rank.

    inputs: the micro-batches, on the rank of the first stage. loss: maps (micro-batch, x, y) of the
    last stage to where its backward starts, and the gradient to start with. transport: moves
    messages between ranks, as local_inbox does between stages of this rank. gradients_ready: called
    with each stage after its last B or W.
    """

    schedule: Schedule
    rank: int
    stages: Mapping[int, nn.Module]
    inputs: Sequence[Tensor]
    loss: Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]]
    transport: Transport
    observer: Observer
    gradients_ready: Callable[[int], None]
    saved: dict[tuple[int, int], SavedForward] = field(default_factory=dict)
    local_inbox: dict[tuple[bool, int, int], Tensor] = field(default_factory=dict)

    def run(self) -> None:
        """Run all actions of this rank, in the order of the schedule."""
        actions = self.schedule.ranks[self.rank]
        last_backward = {action.stage: action for action in actions if action.kind in ("B", "W")}
        self.transport.begin_step([len(x) for x in self.inputs])
        for _, turn in self.schedule.turns(self.rank):  # an action, or the two of a pair
            received = [self.receive(action) for action in turn]
            results = []
            for action, x in zip(turn, received, strict=True):
                with self.observer.computing(action, self.saved, turn):
                    results.append(self.compute(action, x))
            for action, result in zip(turn, results, strict=True):
                self.deliver(action, result)
            for action in turn:
                self.observer.finished(action, self.saved)
                if action == last_backward[action.stage]:
                    self.gradients_ready(action.stage)
        self.transport.end_step()

    def receive(self, action: Action) -> Tensor | None:
        """Return what the action needs: from the batch, from a stage of this rank, or a message."""
        kind, stage, i = action
        source = needed_stage(self.schedule, action)
        if source is None:
            return self.inputs[i] if kind == "F" else None
        if self.schedule.rank_of[source] == self.rank:
            return self.local_inbox.pop((kind == "F", stage, i))
        return self.transport.receive(action)

    def compute(self, action: Action, received: Tensor | None) -> Tensor | None:
        """Run one action and return what the neighboring stage needs; None if it needs nothing."""
        kind, stage, i = action
        if kind == "F":
            return self.forward(stage, i, received)
        saved = self.saved.pop((stage, i))
        if kind == "W":
            weight_grad(saved.branches)
            return None
        gradient = saved.gradient if received is None else received.to(saved.y.device)
        if kind == "B":
            input_gradient = full_backward(saved.y, gradient, saved.x)
        else:
            input_gradient, branches = input_grad(saved.y, gradient, saved.x)
            self.saved[stage, i] = SavedForward(branches=branches)  # all that W needs
        if stage == 0:
            return None
        return torch.zeros_like(saved.x) if input_gradient is None else input_gradient

    def forward(self, stage: int, i: int, x: Tensor) -> Tensor | None:
        """Run F: return the output of the stage, or None on the last one, where the loss stays."""
        module = self.stages[stage]
        x = x.detach().to(next((p.device for p in module.parameters()), x.device))
        if stage > 0:
            x.requires_grad_()  # so that the backward computes what the stage before needs
        y, gradient = module(x), None
        if is_last := stage == self.schedule.stages - 1:
            y, gradient = self.loss(i, x, y)
        self.saved[stage, i] = SavedForward(x, y, gradient)
        return None if is_last else y

    def deliver(self, action: Action, result: Tensor | None) -> None:
        """Hand a result to the stage that needs it, on this rank or on another one."""
        if result is None:
            return
        kind, stage, i = action
        neighbor = stage + 1 if kind == "F" else stage - 1
        if target_of(self.schedule, action) == self.rank:
            self.local_inbox[kind == "F", neighbor, i] = result.detach()
        else:
            self.transport.send(action, result.detach())
