"""Compare what the work did with the reference, and then with each known mistake.

A task (`tasks/dp_1.py`) is a module with

    cases(seed)          a list of inputs, plain data, drawn from the seed
    MUTANTS              {how the solution is changed to make a mistake: what is said of it}; see
                         `helpers.grade.reference`

and, only where it needs it,

    name(case)           a few words for a case: "three hosts"; they stand before a sentence
    explain(case, seen)  a sentence from the facts of a wrong observation, or None. Where many are
                         right (an order, a program), it stands without MUTANTS: None is right
    stopped(sentence)    another sentence for work that raised an error, or None
    stuck(waits)         another for work that hung, or None; waits: (rank, operation, its peer) of
                         each rank that waited: (2, "recv", 3)
    MISFITS              {what differs: another sentence}, where operations of ranks don't fit; its
                         keys are among those of `helpers.hang.cases.MISFITS`
    passed(cases, seen)  the `Score` of a pass: what it says, and the number that ranks a class
    TOLERANCE            relative; without it 1e-5 for float32, 1e-9 for float64 and Python's floats

An observation is plain data: dicts, lists, tuples, numbers, text, tensors and arrays. The keys of
dicts are words of the sentence that says where two observations differ. What stands below a key
that begins with "_" is not compared: it's there for `explain`.
"""

import math
from collections.abc import Iterator
from numbers import Number
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helpers.grade.reference import Reference

TOLERANCES = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2, "bfloat16": 2e-2}


def verify(
    task: ModuleType, cases: list, seen: list, ranks: int = 0, reference: "Reference | None" = None
) -> str | None:
    """Say what is wrong with the observations of all cases, in one sentence; None if they're right.

    Args:
        task: the whole module of the task.
        cases: as `task.cases` drew them.
        seen: what `task.observe` returned for each case.
        ranks: where it isn't 0, an observation is a list with one entry for each rank.
        reference: what right work and each mistake lead to; None where `explain` alone judges.
    """
    if len(seen) != len(cases):
        return f"results came back for {len(seen)} of {len(cases)} cases"
    if reference is None:
        explained = (task.explain(case, one) for case, one in zip(cases, seen, strict=True))
        number, sentence = next(
            ((n, s) for n, s in enumerate(explained) if s is not None), (0, None)
        )
    else:
        number, sentence = _compared(task, cases, seen, ranks, reference)
    before = task.name(cases[number]) if sentence and hasattr(task, "name") else ""
    return f"{before}: {sentence}" if before else sentence


def _compared(task, cases: list, seen: list, ranks: int, reference) -> tuple[int, str | None]:
    """The first case in which the work differs from the reference, and what is said of it."""
    tolerance = getattr(task, "TOLERANCE", None)
    pairs = enumerate(zip(reference.right, seen, strict=True))
    wrong = [n for n, (right, one) in pairs if not same(right, one, tolerance)]
    if not wrong:
        return 0, None
    first = wrong[0]
    where = _where(reference.right[first], seen[first], ranks, tolerance)
    if mistake := _known_mistake(reference, seen, wrong, tolerance):
        return first, f"{mistake} ({where})"
    explained = task.explain(cases[first], seen[first]) if hasattr(task, "explain") else None
    return first, explained or where


def same(expected: Any, seen: Any, tolerance: float | None = None) -> bool:
    """Return whether two observations agree: what they contain, shapes, dtypes, and values."""
    return next(differences(expected, seen, tolerance), None) is None


def differences(
    expected: Any, seen: Any, tolerance: float | None = None, place: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield every place where `seen` isn't what was expected, in the order of `expected`.

    A difference is a sentence with the way there: "rank 2, gradient, weight: 1.5 in place of 0.5";
    a text in place of a dict is one already.
    Lists and tuples are alike, numbers of Python and of NumPy too; True isn't 1.
    """
    expected, seen = _as_python(expected), _as_python(seen)
    if isinstance(expected, dict):
        if not isinstance(seen, dict):
            plain = isinstance(seen, str)  # `observe` says itself what it can't look at
            yield _at(place, seen if plain else f"{short(seen)} in place of a dict")
            return
        for key, value in expected.items():
            if str(key).startswith("_"):
                continue
            if key in seen:
                yield from differences(value, seen[key], tolerance, (*place, str(key)))
            else:
                yield _at((*place, str(key)), "is missing")
        for key in seen.keys() - expected.keys():
            yield _at((*place, str(key)), "should not be there")
    elif isinstance(expected, list | tuple):
        if not isinstance(seen, list | tuple):
            yield _at(place, f"{short(seen)} in place of a list of {len(expected)}")
        elif len(expected) != len(seen):
            yield _at(place, f"{len(seen)} entries in place of {len(expected)}")
        else:
            for number, (one, other) in enumerate(zip(expected, seen, strict=True)):
                yield from differences(one, other, tolerance, (*place, f"number {number}"))
    elif _has_shape(expected) and _has_shape(seen):
        if what := _compare_tensors(expected, seen, tolerance):
            yield _at(place, what)
    elif _has_shape(expected) or _has_shape(seen) or not _equal(expected, seen, tolerance):
        yield _at(place, f"{short(seen)} in place of {short(expected)}")


def _at(place: tuple[str, ...], what: str) -> str:
    return f"{', '.join(place)}: {what}" if place else what


def short(value: Any) -> str:
    """Return a value as a sentence shows it, at most 60 characters."""
    if _has_shape(value):
        sizes = " x ".join(map(str, value.shape))
        return f"a tensor of {sizes}" if sizes else f"a tensor with {value.item():.4g}"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def common_factor(expected: Any, seen: Any) -> float | None:
    """Return f where every number seen is f times what was expected, with f not 1; else None."""
    pairs = list(_numbers(expected, seen))
    pairs = [(a, b) for a, b in pairs if a is not None] if None not in pairs else []
    largest = max(pairs, key=lambda pair: abs(pair[0]), default=(0, 0))
    if not largest[0] or not largest[1] or not math.isfinite(largest[1]):
        return None
    factor = largest[1] / largest[0]
    scale = abs(largest[0]) * abs(factor)
    fits = all(abs(b - factor * a) <= 1e-4 * abs(factor * a) + 1e-6 * scale for a, b in pairs)
    return factor if fits and not math.isclose(factor, 1, rel_tol=1e-4) else None


def _known_mistake(
    reference: "Reference", seen: list, wrong: list[int], tolerance: float | None
) -> str | None:
    """The mistake that explains the first wrong case, and the most of the others.

    A mutant may need seconds, so only those that look alike run on more than the first wrong case
    and those before it, which may have left something behind.
    """
    first, last = wrong[0], wrong[-1]
    leads_to = reference.mutants(first + 1)
    fit = [each for each in leads_to if same(leads_to[each][first], seen[first], tolerance)]
    if len(fit) > 1 and last > first:
        leads_to = reference.mutants(last + 1, fit)
        fits = {s: sum(same(leads_to[s][n], seen[n], tolerance) for n in wrong) for s in fit}
        fit.sort(key=fits.get, reverse=True)
    return fit[0] if fit else None


def _where(right: Any, seen: Any, ranks: int, tolerance: float | None) -> str:
    if ranks and isinstance(seen, list) and len(right) == len(seen):
        right, seen = ({f"rank {n}": one for n, one in enumerate(all_)} for all_ in (right, seen))
    factor = None if isinstance(right, int | float) else common_factor(right, seen)
    found = list(differences(right, seen, tolerance))
    times = f"; every number is {factor:.4g} times what it should be" if factor else ""
    more = f" ({len(found)} places differ)" if len(found) > 1 else ""
    return f"{found[0]}{times}{more}"


def _as_python(value: Any) -> Any:
    """A number of NumPy as Python's own; everything else as it is."""
    return value.item() if isinstance(value, Number) and hasattr(value, "item") else value


def _has_shape(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "ndim")


def _compare_tensors(expected: Any, seen: Any, tolerance: float | None) -> str:
    import torch

    from helpers.oracle.compare import compare

    right, found = (torch.as_tensor(value) for value in (expected, seen))
    if tolerance is None:
        tolerance = TOLERANCES.get(str(right.dtype).removeprefix("torch."))
    difference = compare(right, found, tolerance)
    if difference is None or difference.at is None:
        return difference.text if difference else ""
    values = [value[difference.at].item() for value in (found, right)]
    here, there = map(short, values)
    if here == there:  # four digits don't show it
        here, there = map(repr, values)
    return f"{here} in place of {there}" + (f" at {difference.at}" if right.ndim else "")


def _equal(expected: Any, seen: Any, tolerance: float | None) -> bool:
    if isinstance(expected, bool) or isinstance(seen, bool):
        return expected is seen
    if isinstance(expected, float) and isinstance(seen, int | float):
        return math.isclose(
            expected, seen, rel_tol=1e-9 if tolerance is None else tolerance, abs_tol=1e-12
        ) or (math.isnan(expected) and math.isnan(seen))
    if isinstance(expected, int) and isinstance(seen, float):
        return expected == seen
    return type(expected) is type(seen) and expected == seen


def _numbers(expected: Any, seen: Any) -> Iterator[tuple[float, float] | None]:
    """Pairs of all numbers of two observations; None where they aren't alike in shape."""
    if isinstance(expected, dict) and isinstance(seen, dict) and expected.keys() == seen.keys():
        for key in expected:
            if not str(key).startswith("_"):
                yield from _numbers(expected[key], seen[key])
    elif isinstance(expected, list | tuple) and isinstance(seen, list | tuple):
        if len(expected) != len(seen):
            yield None
        for one, other in zip(expected, seen, strict=False):
            yield from _numbers(one, other)
    elif _has_shape(expected) and _has_shape(seen):
        if tuple(expected.shape) == tuple(seen.shape) and "complex" not in str(seen.dtype):
            flat = (value.reshape(-1).tolist() for value in (expected, seen))
            yield from zip(*flat, strict=True)
        else:
            yield None
    elif isinstance(expected, int | float) and isinstance(seen, int | float):
        yield expected, seen
    elif _has_shape(expected) or _has_shape(seen) or expected != seen:
        yield None
