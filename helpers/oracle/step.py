"""One training step as facts: weights before, gradients, weights after, by name.

`one_step` takes it on one device; `snapshot` and `between` record it on a rank; `gather` joins what
the stages of a pipeline, or replicas, hold of it.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from helpers.oracle.compare import Tensors, combine, differences

MakeOptimizer = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]

KINDS = {
    "before": "weight before the step",
    "gradients": "gradient",
    "after": "weight after the step",
}


class GatherError(ValueError):
    """The ranks don't make up one model; one sentence says which tensor, and on which ranks."""


@dataclass(frozen=True)
class Part:
    """One micro-batch alone: the gradients of its mean loss over its `tokens`."""

    tokens: int
    gradients: Tensors


@dataclass(frozen=True)
class Step:
    """What is known of one training step. An empty dict means that it isn't known."""

    before: Tensors  # the weights by name, in the model's order
    gradients: Tensors  # None where a parameter has none
    after: Tensors
    ties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # {first name: all of them}
    # Known of one device (`one_step`); they explain mistakes.
    parts: tuple[Part, ...] = ()
    optimizer: str = ""
    make_optimizer: MakeOptimizer | None = field(default=None, repr=False, compare=False)

    def update(self, gradients: Tensors) -> dict[str, torch.Tensor]:
        """Return the weights that these gradients lead to."""
        parameters = {}
        for name, weight in self.before.items():
            gradient = gradients.get(name)
            parameters[name] = torch.nn.Parameter(weight.clone(), gradient is not None)
            parameters[name].grad = None if gradient is None else gradient.clone()
        self.make_optimizer(list(parameters.values())).step()
        return {name: parameter.detach() for name, parameter in parameters.items()}


def snapshot(model: torch.nn.Module) -> Step:
    """Copy the weights and the gradients to the CPU, by parameter name. Take one before the step,
    and one after it and before `zero_grad`; `between` joins them. Of a DTensor it holds the whole,
    so if a model has some, all ranks must call it."""
    named = dict(model.named_parameters())
    weights = {name: copied(p) for name, p in named.items()}
    return Step(weights, {name: copied(p.grad) for name, p in named.items()}, {}, ties_of(model))


def between(before: Step, after: Step) -> Step:
    return replace(after, before=before.before, after=after.before)


def one_step(
    model: torch.nn.Module,
    loss_of: Callable[[torch.nn.Module, Any], Any],
    micro_batches: Iterable[Any],
    make_optimizer: MakeOptimizer,
) -> Step:
    """Take one device's step on all micro-batches; `model` itself is left alone.

    The gradient is that of sum(loss * tokens) / all tokens. loss_of: called with the model and a
    micro-batch; its mean loss and the number of its tokens, or the loss alone, where all
    micro-batches count alike. make_optimizer: called with the parameters; a fresh optimizer.
    """
    model = copy.deepcopy(model)
    parameters = dict(model.named_parameters())
    trained = {name: p for name, p in parameters.items() if p.requires_grad}
    parts = []
    for number, micro_batch in enumerate(micro_batches):
        answer = loss_of(model, micro_batch)
        loss, tokens = answer if isinstance(answer, Sequence) else (answer, 1)
        if not tokens > 0:
            cure = "give (loss, tokens), and leave out a micro-batch that has nothing to predict"
            raise ValueError(f"micro-batch {number} has {tokens} tokens: loss_of must {cure}")
        if loss.numel() != 1 or not bool(torch.isfinite(loss)):
            words = f"the loss of micro-batch {number} is {loss.tolist()}"
            cure = "loss_of must give one finite number, the mean over the tokens"
            raise ValueError(f"{words}: {cure}")
        found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        gradients = dict(zip(trained, map(copied, found), strict=True))
        parts.append(Part(int(tokens), dict.fromkeys(parameters) | gradients))
    if not parts:
        raise ValueError("one_step got no micro-batches: give at least one")
    total = sum(part.tokens for part in parts)
    step = Step(
        before={name: copied(p) for name, p in parameters.items()},
        gradients=combine([p.gradients for p in parts], [p.tokens / total for p in parts]),
        after={},
        ties=ties_of(model),
        parts=tuple(parts),
        optimizer=type(make_optimizer(list(parameters.values()))).__name__,
        make_optimizer=make_optimizer,
    )
    return replace(step, after=step.update(step.gradients))


def gather(parts: Sequence[Step], names: Iterable[str] = ()) -> Step:
    """Join what each rank holds of a model (stages of a pipeline, replicas) into one step.

    parts: one Step for each rank, with some of the names. Where two hold the same name, their
        values must agree.
    names: all names that there must be, in the model's order, as `one_device.before` has them.
    """
    names, joined = list(names), {}
    if not parts:
        raise GatherError("there is nothing to gather: give one Step for each rank")
    ties = {first: tied for part in parts for first, tied in part.ties.items()}
    others = {name: first for first, tied in ties.items() for name in tied}
    for kind, words in KINDS.items():
        held = _join([getattr(part, kind) for part in parts], words)
        lost = [name for name in names if name not in held and others.get(name) not in held]
        stray = [name for name in held if name not in names]
        if lost and held:
            named = (f" (the ranks hold {n!r}, which one device doesn't have)" for n in stray)
            instead = next(named, "")
            raise GatherError(
                f"nobody holds the {words} of {lost[0]!r}{instead}: each name must be on at least "
                "one rank; look at how the layers are split, and at the names of each stage"
            )
        joined[kind] = {name: held[name] for name in [*names, *stray] if name in held}
    return Step(**joined, ties=ties)


def _join(ranks: Sequence[Tensors], words: str) -> dict:
    joined, holder = {}, {}
    for rank, tensors in enumerate(ranks):
        for name, tensor in tensors.items():
            if name not in joined:
                joined[name], holder[name] = tensor, rank
            elif found := differences({name: joined[name]}, {name: tensor}):
                raise GatherError(
                    f"replicas disagree: ranks {holder[name]} and {rank} both hold the {words} "
                    f"of {name!r}, and on rank {rank} it {found[0].text}; ranks that hold the same "
                    "tensor must average its gradient (a replica) or add it up (a tied parameter) "
                    "before they step"
                )
    return joined


def copied(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Return a copy on the CPU, of a DTensor the whole: then all ranks must call it."""
    if hasattr(tensor, "full_tensor"):  # a DTensor, of which this rank holds a part
        tensor = tensor.detach().full_tensor()
    return None if tensor is None else tensor.detach().cpu().clone()


def ties_of(module: torch.nn.Module, name_of: Callable[[str], str] = str) -> dict:
    """Return {first name: all names} of the parameters with several, as `name_of` spells them."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name_of(name))
    return {same[0]: tuple(same) for same in names.values() if len(same) > 1}
