"""The facts of a rank under the names of one device."""

from dataclasses import replace

import torch

from helpers.oracle.compare import Tensors, distance
from helpers.oracle.step import Step
from helpers.oracle.tensors import is_zero


def aligned(expected: Step, rank: Step) -> Step:
    """The facts of a rank under one device's names, and None where it has zeros for a None.

    A tied tensor may come under any of its names. Where copies differ, the one furthest from what
    was expected counts.
    """
    return replace(
        rank,
        before=_aligned(expected, expected.before, rank.before),
        gradients=_aligned(expected, expected.gradients, rank.gradients),
        after=_aligned(expected, expected.after, rank.after),
    )


def copies(expected: Step, name: str, tensors: Tensors) -> list[torch.Tensor]:
    """What a rank holds of one tensor, under each of its names."""
    names = expected.ties.get(name, (name,))
    return [tensors[n] for n in names if tensors.get(n) is not None]


def _aligned(expected: Step, right: Tensors, tensors: Tensors) -> Tensors:
    if not tensors:
        return {}
    other = {name for names in expected.ties.values() for name in names}
    held = {n: any(m in tensors for m in expected.ties.get(n, (n,))) for n in right}
    found = {name: None for name in right if held[name]}
    for name in found:
        there = copies(expected, name, tensors)
        if right[name] is None and all(is_zero(tensor) for tensor in there):
            continue
        fits = [t for t in there if right[name] is not None and t.shape == right[name].shape]
        if there:
            far = [distance(right[name], tensor)[0] for tensor in fits]
            found[name] = fits[far.index(max(far))] if len(fits) == len(there) else there[0]
    return found | {n: t for n, t in tensors.items() if n not in found and n not in other}
