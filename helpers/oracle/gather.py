"""Join what each rank holds of a model, by name: stages of a pipeline, replicas."""

from collections.abc import Iterable, Sequence

from helpers.oracle.compare import Tensors, differences
from helpers.oracle.step import Step

KINDS = {
    "before": "the weight before the step of",
    "gradients": "the gradient of",
    "after": "the weight after the step of",
    "state": "the optimizer's",
}


class GatherError(ValueError):
    """The ranks do not make up one model: one sentence says which tensor, on which ranks."""


def gather(
    parts: Sequence[Step], names: Iterable[str] = (), tolerance: float | None = None
) -> Step:
    """One step of the whole model, from what each rank holds of it.

    parts: one Step a rank; each holds some of the names. Where two hold the same name, their
    values must agree (`tolerance` as for `differences`).
    names: all names that there must be, in the model's order, as `one_device.before` has them.

    Raises GatherError where replicas disagree, and where nobody holds a name.
    """
    names = list(names)
    if not parts:
        raise GatherError("there is nothing to gather: give one Step for each rank")
    ties = {first: tied for part in parts for first, tied in part.ties.items()}
    others = {name: first for first, tied in ties.items() for name in tied}
    joined = {}
    for kind, words in KINDS.items():
        held = _join([getattr(part, kind) for part in parts], words, tolerance)
        if kind != "state" and held:
            for name in names:
                if name not in held and others.get(name) not in held:
                    raise GatherError(
                        f"nobody holds {words} {name!r}: each name must be on at least one rank; "
                        "look at how the layers are split, and at the names of each stage"
                    )
        place = {name: number for number, name in enumerate(names)}
        joined[kind] = dict(sorted(held.items(), key=lambda item: place.get(item[0], len(place))))
    return Step(**joined, ties=ties)


def _join(ranks: Sequence[Tensors], words: str, tolerance: float | None) -> dict:
    joined, holder = {}, {}
    for rank, tensors in enumerate(ranks):
        for name, tensor in tensors.items():
            if name not in joined:
                joined[name], holder[name] = tensor, rank
                continue
            found = differences({name: joined[name]}, {name: tensor}, tolerance)
            if found:
                raise GatherError(
                    f"replicas disagree: ranks {holder[name]} and {rank} both hold {words} "
                    f"{name!r}, and on rank {rank} it {found[0].text}; ranks that hold the same "
                    "tensor must average its gradient (a replica) or add it up (a tied parameter) "
                    "before they step"
                )
    return joined
