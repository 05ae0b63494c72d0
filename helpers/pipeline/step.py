"""One training step on one rank: take what an action needs, compute, pass on what it gives."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import nn

from helpers.pipeline.backward import Branches, input_grad, nodes_below, weight_grad, whole
from helpers.pipeline.mail import DIMENSIONS, DTYPES, Mail, Size
from helpers.pipeline.memory import Alive
from helpers.pipeline.pace import Metronome, Pace
from helpers.pipeline.saved import saved_bytes
from helpers.schedules import Action, needed_stage, target_of

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass
class Kept:
    """What stays of a forward pass until the backward pass.

    x: the stage's input. value: its output; of the last stage, the loss. gradient: of the step's
    loss with respect to value, where it is known already. branches: after I, what W has to do.
    """

    x: torch.Tensor | None
    value: torch.Tensor | None
    gradient: torch.Tensor | None = None
    branches: list[Branches] = field(default_factory=list)


class Step:
    """One step of one rank. A new one is made for each step, and holds all that changes in it.

    inputs: the micro-batches, on the rank of the first stage. targets: on that of the last, with
    shares: the part of each in the loss; they add up to 1.
    """

    def __init__(
        self,
        stages: Mapping[int, nn.Module],
        mail: Mail,
        loss: Loss | None,
        pace: Pace | None,
        inputs: list[torch.Tensor],
        targets: list[torch.Tensor],
        shares: list[float],
    ):
        self.stages, self.mail, self.loss = stages, mail, loss
        self.metronome = Metronome(pace)
        self.inputs, self.targets, self.shares = inputs, targets, shares
        self.schedule, self.rank, self.recorder = mail.schedule, mail.peers.rank, mail.recorder
        self.alive = Alive()
        self.kept: dict[tuple[int, int], Kept] = {}
        self.at_hand: dict[tuple[str, int, int], torch.Tensor] = {}  # passed on within the rank
        self.losses: dict[int, torch.Tensor] = {}

    def run(self) -> None:
        """All actions of this rank, in the order of the schedule."""
        self.mail.begin()
        for action in self.schedule.ranks[self.rank]:
            asked = time.perf_counter()
            needed = self.take(action)
            given = time.perf_counter()
            with self.span(action):
                result = self.compute(action, needed)
                self.metronome.rest(action, asked, given)
            self.pass_on(action, result)
            self.count(action)
        self.mail.finish()

    def span(self, action: Action):
        """An event of the trace, for the time in which the rank computes."""
        kind, stage, i = action
        return self.recorder.span(kind, stage=stage, micro_batch=i)

    def take(self, action: Action) -> torch.Tensor | None:
        """What the action needs: from the batch, from a stage of this rank, or from a message."""
        kind, stage, i = action
        before = needed_stage(self.schedule, action)
        if before is None:
            return self.inputs[i] if kind == "F" else None
        if self.schedule.rank_of[before] == self.rank:
            return self.at_hand.pop((direction(kind), stage, i))
        return self.mail.receive(action)

    def compute(self, action: Action, given: torch.Tensor | None) -> torch.Tensor | None:
        """Do the action; what the next stage, or the one before, gets of it."""
        kind, stage, i = action
        if kind == "F":
            return self.forward(stage, i, given)
        kept = self.kept[stage, i]
        if kind == "W":
            weight_grad(kept.branches)
            del self.kept[stage, i]
            return None
        gradient = kept.gradient if given is None else given.to(kept.value.device)
        x = kept.x
        if kind == "B":
            whole(kept.value, gradient)
            found = x.grad
            del self.kept[stage, i]
        else:
            found, branches = input_grad(kept.value, gradient, x)
            self.kept[stage, i] = Kept(None, None, None, branches)  # all that W needs
        if stage == 0:
            return None
        return torch.zeros_like(x) if found is None else found  # none: the input is not used

    def forward(self, stage: int, i: int, given: torch.Tensor) -> torch.Tensor | None:
        """F: the stage's output; of the last stage None, for its loss stays here."""
        module = self.stages[stage]
        x = given.detach().to(device_of(module, given.device))
        if stage > 0:
            x.requires_grad_()
        y = module(x)
        self.kept[stage, i] = kept = Kept(x, y)
        if stage == self.schedule.stages - 1:
            self.finish_forward(kept, i)
            return None
        self.note_size(stage, i, y)
        return y.detach()

    def finish_forward(self, kept: Kept, i: int) -> None:
        """The loss of a micro-batch, and its share in the loss of the step."""
        y, target = kept.value, self.targets[i]
        if len(target) != len(kept.x):
            raise ValueError(
                f"micro-batch {i} has {len(kept.x)} rows of inputs and {len(target)} of targets: "
                "give step() inputs and targets of the same batch"
            )
        if not self.shares[i]:
            # Nothing to learn from: the mean over no tokens is no number, and must not spread.
            kept.gradient = torch.zeros_like(y)
            self.losses[i] = y.new_zeros(())
            return
        loss = self.loss(y, target.to(y.device))
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise ValueError(
                f"the loss gave {_told(loss)} for micro-batch {i}: it must give one number, the "
                "mean over the tokens of the micro-batch"
            )
        kept.value, kept.gradient = loss, torch.full_like(loss, self.shares[i])
        self.losses[i] = loss.detach()

    def pass_on(self, action: Action, result: torch.Tensor | None) -> None:
        """Hand the result to whoever needs it: a stage of this rank, or another rank."""
        if result is None:
            return
        kind, stage, i = action
        if target_of(self.schedule, action) == self.rank:
            next_stage = stage + 1 if kind == "F" else stage - 1
            self.at_hand[direction(kind), next_stage, i] = result
        else:
            self.mail.send(action, result)

    def note_size(self, stage: int, i: int, y: torch.Tensor) -> None:
        """What a stage gives must be what its first output of the step lets the others expect."""
        rows = self.mail.sizes[stage - 1].rows if stage else tuple(map(len, self.inputs))
        if not isinstance(y, torch.Tensor) or y.dtype not in DTYPES or y.dim() > DIMENSIONS:
            raise ValueError(
                f"stage {stage} gives {_told(y)}: what goes to the next stage must be one tensor "
                f"of floating-point numbers, with at most {DIMENSIONS} dimensions"
            )
        size = self.mail.sizes.setdefault(stage, Size(rows, tuple(y.shape[1:]), y.dtype))
        if tuple(y.shape) != size.shape(i) or y.dtype != size.dtype:
            raise ValueError(
                f"stage {stage} gives {_told(y)} for micro-batch {i}, and {size.shape(i)} was "
                f"expected: it must keep the rows of its input, {rows[i]} here, and only their "
                "number may differ from one micro-batch to the next"
            )

    def count(self, action: Action) -> None:
        """What is kept after the action."""
        kind, stage, i = action
        if kind == "F":
            self.alive.begins(stage, i, len(self.kept[stage, i].x))
        else:
            self.alive.ends(kind, stage, i)
        if self.recorder.enabled:
            self.measure(kind, stage, i)
            self.recorder.count("in flight", self.alive.in_flight)
            self.recorder.count("memory", self.alive.bytes())

    def measure(self, kind: str, stage: int, i: int) -> None:
        """The bytes that the first micro-batch of a stage keeps, after F and after I."""
        known = {"F": self.alive.row_bytes, "I": self.alive.later_bytes}.get(kind)
        if known is None or stage in known:
            return
        kept, rows = self.kept[stage, i], self.alive.kept[stage, i]
        if kind == "I":
            nodes = {node for group in kept.branches for node in group.nodes}
        else:
            nodes = nodes_below(kept.value.grad_fn) if kept.value.requires_grad else ()
        known[stage] = saved_bytes(nodes, self.stages[stage]) / max(1, rows)


def direction(kind: str) -> str:
    """ "F" for activations, "B" for gradients, whichever of B and I they come from."""
    return "F" if kind == "F" else "B"


def device_of(module: nn.Module, otherwise: torch.device) -> torch.device:
    """Where a stage computes."""
    return next((p.device for p in module.parameters()), otherwise)


def _told(value: object) -> str:
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
