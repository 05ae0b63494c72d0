"""Watch a training that knows nothing of it, and keep one of its steps.

    with recording(at=3) as seen:      # the fourth step
        train()
    step = seen.step()                 # a Step, for judge()

Nothing is changed: torch calls us at the first forward, at each backward and at each
`optimizer.step()`. The model is the module that is called from outside; names lose what DDP,
`torch.compile` and the like put before them, and DTensors (FSDP2, tensor parallelism) are gathered.
"""

import inspect
import os
import runpy
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from helpers.oracle.compare import Tensors, common_factor
from helpers.oracle.step import Part, Step, copied, ties_of
from helpers.private import FLAT
from helpers.words import many

WRAPPERS = ("module.", "_orig_mod.", "_checkpoint_wrapped_module.", "_fsdp_wrapped_module.")


class CannotRecord(ValueError):
    """There is no step that could be compared; one sentence says why, or which script failed."""


class _Enough(BaseException):
    """The step is known, so the rest of the script needn't run."""


class Recording:
    """One step of a training in this process; `backwards`: what each added to the gradients."""

    def __init__(self, at: int = 0, stop: bool = False):
        self.at, self._stop, self._count, self._clock = at, stop, 0, None
        self._roots: list[torch.nn.Module] = []
        self._inside: set[int] = set()
        self._hooks = {}
        self.before: Tensors = {}
        self.gradients: Tensors = {}
        self.after: Tensors = {}
        self.backwards: list[Tensors] = []
        self.optimizer: tuple[type, dict] | None = None

    def step(self) -> Step:
        """Return the step that was recorded; raise CannotRecord if there was none."""
        if not self.before:
            raise CannotRecord(
                f"the training ended after {many(self._count, 'call')} of optimizer.step(), and "
                f"step {self.at}, counted from 0, was to be compared: let it run longer, or take "
                "an earlier step"
            )
        kind, settings = self.optimizer
        fresh = self.at == 0 and bool(settings)
        known = fresh or kind is torch.optim.SGD  # where Adam has a past, weights say little
        after = self.after if known else {}
        step = Step(self.before, self.gradients, after, self.ties, self._parts())
        if not fresh:
            return step
        return replace(step, optimizer=kind.__name__, make_optimizer=partial(kind, **settings))

    def _parts(self) -> tuple[Part, ...]:
        """Each backward as a micro-batch, where together they make the gradients."""
        if len(self.backwards) < 2:
            return ()
        total = {n: sum(b[n] for b in self.backwards if n in b) for n in self.backwards[0]}
        known = {n: g for n, g in self.gradients.items() if g is not None}
        factor = common_factor(total, known) if set(known) == set(total) else None
        if factor is None:
            return ()
        times = len(self.backwards) * factor  # and clipping, if there was any
        none = dict.fromkeys(self.gradients)
        return tuple(
            Part(1, none | {n: g * times for n, g in each.items()}) for each in self.backwards
        )

    # --- what torch calls ------------------------------------------------------------------------

    def _forward(self, module: torch.nn.Module, args: tuple) -> None:
        if id(module) in self._inside or next(module.parameters(), None) is None:
            return
        inside = {id(m) for m in module.modules()}
        self._roots = [root for root in self._roots if id(root) not in inside] + [module]
        self._inside |= inside
        for name, p in module.named_parameters():
            if p.requires_grad and p.is_leaf and not _is_dtensor(p):
                if id(p) in self._hooks:  # a part of this module was called alone before
                    self._hooks[id(p)].remove()
                self._hooks[id(p)] = p.register_hook(partial(self._backward, plain_name(name)))

    def _backward(self, name: str, added: torch.Tensor) -> None:
        if self._count == self.at:
            if all(name in backward for backward in self.backwards):
                self.backwards.append({})
            next(b for b in self.backwards if name not in b)[name] = copied(added)

    def _optimizer(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
        first = optimizer.param_groups[0]["params"][0]  # a script may make its optimizer anew
        self._clock = first if self._clock is None else self._clock
        if first is not self._clock:
            return  # a second optimizer of the same step
        if self._count == self.at:
            named = self._named()
            self.before = {n: copied(p) for n, p in named.items()}
            self.gradients = {n: copied(p.grad) for n, p in named.items()}
            groups = optimizer.param_groups
            known = len(groups) == 1 and not optimizer.state
            # AdamW's defaults hold an entry that only Adam's constructor takes.
            takes = optimizer.defaults.keys() & inspect.signature(type(optimizer)).parameters.keys()
            settings = {k: v for k, v in groups[0].items() if k in takes} if known else {}
            self.optimizer = (type(optimizer), settings)
        elif self._count == self.at + 1:
            self._finish()
        self._count += 1

    def _stepped(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
        """Keep the weights now: DTensors can't be gathered once the script has disconnected."""
        first = optimizer.param_groups[0]["params"][0]
        if first is self._clock and self._count == self.at + 1:
            self.after = {name: copied(p) for name, p in self._named().items()}

    def _finish(self) -> None:
        """Keep the weights of the step's end: it may have averaged them."""
        if self._count == self.at + 1:
            named = self._named()
            if torch.distributed.is_initialized() or not any(map(_is_dtensor, named.values())):
                self.after = {name: copied(p) for name, p in named.items()}
            if self._stop:
                raise _Enough

    def _named(self) -> dict[str, torch.nn.Parameter]:
        if len(self._roots) != 1:
            kinds = ", ".join(type(root).__name__ for root in self._roots) or "none"
            raise CannotRecord(
                f"one module with parameters must be called in a step, and {len(self._roots)} were "
                f"({kinds}): put the parts of the model into one torch.nn.Module and call it"
            )
        names = dict(self._roots[0].named_parameters())
        if any(FLAT in name for name in names):
            raise CannotRecord(
                "FSDP1 keeps its parameters in flat tensors without their names: use fully_shard "
                "(FSDP2), or FullyShardedDataParallel with use_orig_params=True and one rank"
            )
        self.ties = ties_of(self._roots[0], plain_name)
        return {plain_name(name): p for name, p in names.items()}


@contextmanager
def recording(at: int = 0, stop: bool = False):
    """Record step `at`, counted from 0, of the training inside; yield the Recording.

    stop: end the training as soon as the step is known.
    """
    seen = Recording(at, stop)
    handles = [
        register_module_forward_pre_hook(seen._forward),
        register_optimizer_step_pre_hook(seen._optimizer),
        register_optimizer_step_post_hook(seen._stepped),
    ]
    try:
        yield seen
        seen._finish()
    except _Enough:
        pass
    finally:
        for handle in [*handles, *seen._hooks.values()]:
            handle.remove()


def plain_name(name: str) -> str:
    """Return a parameter's name without what wrappers have put into it."""
    for wrapper in WRAPPERS:
        name = name.removeprefix(wrapper).replace(f".{wrapper}", ".")
    return name


def _is_dtensor(tensor: torch.Tensor) -> bool:
    return hasattr(tensor, "full_tensor")


def main(folder: str, at: str, script: str, *arguments: str) -> None:
    """Run a script as `python SCRIPT ARGUMENT …` would, and save what was recorded of it."""
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    out = Path(folder, os.environ.get("RANK", "0"))
    try:
        with recording(int(at), stop=True) as seen:
            try:
                runpy.run_path(script, run_name="__main__")
            except SystemExit as end:
                if end.code:
                    raise
        torch.save(seen.step(), out.with_suffix(".pt"))
    except CannotRecord as error:
        out.with_suffix(".txt").write_text(str(error), "utf-8")
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
