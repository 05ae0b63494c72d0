"""The known mistakes: when each explains all of the evidence; mistakes.csv has what is said of it.

Each function yields (mistake, the facts that its sentence names). What `first` yields makes every
other question pointless: it is said alone. Of the causes all that hold are said, the simplest
first. Where none does, the first of `seen` says what there is to see. To add a mistake, add a row
to the table, and the lines here that find it.
"""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path

import torch

from helpers.oracle.compare import (
    TOLERANCES,
    Tensors,
    combine,
    common_factor,
    distance,
    is_zero,
    on_ranks,
    same,
)
from helpers.oracle.evidence import Evidence
from helpers.oracle.step import KINDS, Step
from helpers.words import many

Found = Iterator[tuple[str, dict]]
SHORTER = {torch.float64: (torch.float32,), torch.float32: (torch.bfloat16, torch.float16)}


def name_mistakes(evidence: Evidence) -> list[str]:
    """Return the sentences that explain what differs, the simplest first; [] for a right step."""
    if said := list(islice(_said(evidence, first), 1)):
        return said
    found = list(_said(evidence, frozen))
    if evidence.wrong:
        found += _said(evidence, *CAUSES)
    if evidence.wrong_weights:
        found += _said(evidence, stepped)
    return found or _on_a_part(evidence) or list(islice(_said(evidence, seen), 1))


def _said(e: Evidence, *functions: Callable[[Evidence], Found]) -> Iterator[str]:
    always = {"ranks": e.n_ranks, "micro": e.n_micro, "both": e.n_ranks * e.n_micro}
    found = chain.from_iterable(function(e) for function in functions)
    return (sentences()[mistake].format_map(always | facts) for mistake, facts in found)


@cache
def sentences() -> dict[str, str]:
    """Return {mistake: sentence}, in the order in which they are tried."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {row["mistake"]: row["sentence"] for row in csv.DictReader(file)}


def _on_a_part(evidence: Evidence) -> list[str]:
    """The mistakes that explain the wrong gradients where all others are right on every rank."""
    names = [name for name in evidence.names if name in evidence.wrong_names]
    if not names or len(names) == len(evidence.names):
        return []
    part = evidence.only(names)
    found = list(_said(part, *CAUSES)) or _said(part, _any_factor)
    return [f"only in {span(evidence.names, names)}, and all else is right: {s}" for s in found]


# --- what cannot be compared, and weights to begin with ------------------------------------------


def first(e: Evidence) -> Found:
    right = list(e.expected.before or e.expected.gradients)
    for rank, step in enumerate(e.ranks):
        held = list(step.before | step.gradients | step.after)
        missing = [name for name in right if name not in held]
        extra = [name for name in held if name not in right]
        facts = {"rank": rank, "on": e.on(rank), "count": len(missing), "all": len(right)}
        if not held:
            yield "says nothing", facts
        elif len(missing) == len(right):
            yield "no name", facts | {"right": right[0], "held": held[0]}
        elif missing:
            yield "missing name", facts | {"name": missing[0]}
        elif extra:
            yield "extra name", facts | {"name": extra[0]}
    yield from _of_kind(e, "shape")
    yield from _of_kind(e, "dtype")
    if found := e.differing["before"]:
        wrong = sorted({rank for rank, _ in found})
        worst = max((d for _, d in found), key=lambda d: d.error)
        facts = {"who": _list(wrong), "start": "start" + "s" * (len(wrong) == 1)}
        yield "other start", facts | {"name": worst.name, "text": worst.text}
    ranks = [r for r, g in enumerate(e.gradients) if g and all(map(is_zero, g.values()))]
    if ranks and not all(map(is_zero, e.expected.gradients.values())):
        where = "" if len(ranks) == e.n_ranks else f" on rank {shown(ranks)}"
        yield "no gradient", {"where": where}
    yield from _of_kind(e, "not finite")


def _of_kind(e: Evidence, kind: str) -> Found:
    """The tensors that differ in their shape, their dtype, or that hold no numbers."""
    for tensors, what in KINDS.items():
        for rank, found in e.differing[tensors]:
            if found.kind == kind:
                yield kind, {"what": what, "name": found.name, "on": e.on(rank), "text": found.text}


def frozen(e: Evidence) -> Found:
    """The first parameter without a gradient that has moved, or has got one."""
    for rank, step in enumerate(e.ranks):
        for name in (n for n, g in e.expected.gradients.items() if g is None):
            before, after = e.expected.after.get(name), step.after.get(name)
            moved = 0.0 if before is None or after is None else distance(before, after)
            gradient = not is_zero(step.gradients.get(name))
            if moved or gradient:
                did = f"moved by up to {moved:.3g}" if moved else "has a gradient"
                facts = {"name": name, "did": did, "on": e.on(rank)}
                yield "frozen and trained" if gradient else "frozen and moved", facts
                return


# --- causes of wrong gradients -------------------------------------------------------------------


def mixtures(e: Evidence) -> Found:
    """Sums for means, divisions too many, means of means; where micro-batches are unequal, of what
    a rank makes of its own."""
    ranks, micro, parts, total = e.n_ranks, e.n_micro, len(e.parts), int(e.tokens.sum())
    own, of_ranks = e.own[:2], (e.inside @ e.tokens).tolist() if e.own else []
    # The mean over the ranks of what each has of its own, by tokens and plain.
    by_tokens, plain = [[e.shares @ each, each.mean(dim=0)] for each in own] or ([], [])
    first, last = (torch.eye(micro).double()[place].repeat(ranks) for place in (0, -1))
    facts = {"total": total, "of_ranks": shown(map(int, of_ranks), 6)}
    facts |= {"times": e.times, "of_parts": shown(map(int, e.tokens), 6)}
    for mistake, possible, candidates in (
        ("summed micro-batches", micro > 1, [micro, *(micro * mean for mean in plain)]),
        ("summed ranks", ranks > 1, [ranks, *(each.sum(dim=0) for each in own)]),
        ("summed both", min(ranks, micro) > 1, [ranks * micro, torch.ones(parts)]),
        ("summed tokens", total > parts, [total / n for n in {1, ranks, micro, parts or 1}]),
        ("divided by ranks twice", ranks > 1, [1 / ranks]),
        ("divided by micro-batches twice", micro > 1, [1 / micro]),
        ("divided by both twice", min(ranks, micro) > 1, [1 / ranks / micro]),
        ("ranks alike", ranks > 1, by_tokens[1:]),
        ("micro-batches alike", micro > 1, [torch.ones(parts) / (parts or 1), *plain]),
    ):
        if possible and e.holds(*candidates):
            yield mistake, facts
    for mistake, one in (("last alone", last), ("first alone", first)):
        if micro > 1 and any(e.factor(e.mixed(w)) for w in (one * e.tokens, one)):
            yield mistake, {}


def averages(e: Evidence) -> Found:
    for own in map(e.mixed, e.own if e.n_ranks > 1 else ()):
        if factor := e.factor(own):
            of = f"times {factor:.4g}"
            if abs(factor * e.n_ranks - 1) < 1e-4:
                of = "divided by world_size"
            if abs(factor - 1) > 1e-4:
                yield "own times", {"of": of}
            elif _weights_averaged(e, own):
                yield "weights averaged", {"alike": "" if e.wrong_weights else " (as it did here)"}
            else:
                yield "never averaged", {}
            return


def _weights_averaged(e: Evidence, gradients: list) -> bool:
    """Whether the ranks have the mean of the weights that their gradients lead to."""
    if not e.knows_weights or not e.expected.make_optimizer:
        return False
    after = [e.expected.update(own) for own in gradients]
    means = (combine(after, by) for by in (e.shares.tolist(), [1 / e.n_ranks] * e.n_ranks))
    return any(e.after_is([mean] * e.n_ranks) for mean in means)


def tied(e: Evidence) -> Found:
    """One tensor under two names: its gradient is the sum over its uses, once."""
    wrong = [name for name in e.expected.ties if name in e.wrong_names]
    for name in wrong:
        names, right = e.expected.ties[name], e.expected.gradients[name]
        for rank, step in enumerate(e.raw):
            held = [g for n in names if (g := step.gradients.get(n)) is not None]
            if len(held) > 1 and same({name: right}, {name: sum(held)}):
                facts = {"shown": " = ".join(names), "held": len(held), "on": e.on(rank)}
                yield "tied apart", facts
                return
    if len(wrong) == len(e.wrong_names):
        both = " = ".join(e.expected.ties[wrong[0]])
        yield "tied twice" if e.only(wrong).holds(2) else "tied wrong", {"shown": both}


def without(e: Evidence) -> Found:
    order = [name for name in e.names if name in e.wrong_names]
    zero = all(is_zero(g.get(name)) for g in e.gradients for name in order)
    if zero and len(e.names) > len(order) == len(e.wrong_names):
        if order == e.names[: len(order)]:
            yield "backward stops", {"next": e.names[len(order)], "last": order[-1]}
        else:
            yield "layer skipped", {"shown": shown(order, 3)}


CAUSES = mixtures, averages, tied, without

# --- wrong weights after the step ----------------------------------------------------------------


def stepped(e: Evidence) -> Found:
    if e.after_is([rank.before for rank in e.ranks]):
        yield "no step", {}
    if not e.wrong and e.n_ranks > 1 and e.expected.make_optimizer:
        moved = ([e.expected.update(gradients) for gradients in e.mixed(own)] for own in e.own)
        if any(map(e.after_is, moved)):
            yield "too early", {}


# --- what is seen where no known cause explains it -----------------------------------------------


def seen(e: Evidence) -> Found:
    if e.wrong:
        yield from _seen_in_gradients(e)
    elif e.wrong_weights:
        right, moved = _moved([e.expected] * e.n_ranks), _moved(e.ranks)
        if factor := common_factor(right, moved, tolerance=1e-3):
            yield "moved by a factor", {"factor": factor}
        wrong = sorted({rank for rank, _ in e.wrong_weights})
        if len(wrong) < e.n_ranks:
            yield "some weights", {"wrong": shown(wrong)}
    names, words, found = e.names, "gradients", e.wrong
    if not found:
        names, words, found = list(e.expected.after), "weights after the step", e.wrong_weights
    if found:  # the worst one's numbers, and where in the model they all are
        rank, worst = max(found, key=lambda one: one[1].error / (one[1].scale or 1e-300))
        wrong = {difference.name for _, difference in found}
        where = f"; all are in {span(names, wrong)}" if len(wrong) < len(names) else ""
        differ = f"{words} differ{'s' if len(wrong) == 1 else ''}"
        facts = {"wrong": len(wrong), "all": len(names), "differ": differ, "where": where}
        yield "unknown", facts | {"name": worst.name, "on": e.on(rank), "text": worst.text}


def _moved(steps: Sequence[Step]) -> Tensors:
    both = ([(n, s.before[n], s.after[n]) for n in s.before if n in s.after] for s in steps)
    return on_ranks([{n: after.double() - before for n, before, after in each} for each in both])


def _seen_in_gradients(e: Evidence) -> Found:
    wrong = sorted({rank for rank, _ in e.wrong})
    if right := [rank for rank in range(e.n_ranks) if rank not in wrong]:
        have = "has" if len(right) == 1 else "have"
        yield "some ranks", {"right": _list(right), "have": have, "wrong": _list(wrong)}
    yield from _any_factor(e)
    if e.counts is not None:
        yield from _wrong_group(e)
        alike = not bool((e.counts - e.counts[0]).abs().gt(1e-3).any())
        where = "" if alike else " in the gradients of rank 0"  # else some ranks are right: told
        words = (f"{0 if abs(count) < 1e-3 else count:.3g}" for count in e.counts[0].tolist())
        yield "counted differently", {"shown": shown(words, 12), "where": where}
    dtype = e.expected.gradients[e.names[0]].dtype
    for shorter in SHORTER.get(dtype, ()):
        near = all(same(e.expected.gradients, g, 2 * TOLERANCES[shorter]) for g in e.gradients)
        if near and all(_fits(g, shorter, {1, e.n_ranks, e.n_micro}) for g in e.gradients):
            name, kept = (str(d).removeprefix("torch.") for d in (shorter, dtype))
            yield "rounded", {"name": name, "kept": kept}


def _fits(gradients: Tensors, dtype: torch.dtype, whole: set[int]) -> bool:
    """Whether the gradients, or a whole number of times them, are numbers of a shorter dtype."""
    if dtype == torch.float32:
        return True
    held = torch.cat([g.flatten() for g in gradients.values() if g is not None])
    allowed = 4 * torch.finfo(held.dtype).eps
    wide = [held * number for number in whole]
    return any(bool(((w.to(dtype).to(w.dtype) - w).abs() <= allowed * w.abs()).all()) for w in wide)


def _any_factor(e: Evidence) -> Found:
    if e.times is not None:
        ranks, micro = many(e.n_ranks, "rank"), many(e.n_micro, "micro-batch", "es")
        yield "any factor", {"times": e.times, "ranks": ranks, "micro": micro}


def _wrong_group(e: Evidence) -> Found:
    """Where each rank has the gradients of the micro-batches of whole ranks, itself among them."""
    if e.inside is None or e.n_ranks < 3:
        return
    held = (e.counts.abs() > 1e-3).double() @ e.inside.T / e.n_micro  # 1: all of that rank's
    short = [rank for rank, row in enumerate(held) if 1 < row.sum() < e.n_ranks]
    if short and bool((held == held.round()).all()) and bool(held.diagonal().all()):
        group = held[short[0]].nonzero().flatten().tolist()
        everybody = _list(list(range(e.n_ranks)))
        yield "wrong group", {"rank": short[0], "group": _list(group), "all": everybody}


def span(names: Sequence[str], chosen: Collection[str]) -> str:
    """Return words for some of the tensors: "layers.0 to layers.3", or their names."""
    layers = list(dict.fromkeys(layer(name) for name in names))
    inside = list(dict.fromkeys(layer(name) for name in names if name in chosen))
    start = layers.index(inside[0])
    whole = all((name in chosen) == (layer(name) in inside) for name in names)
    if whole and layers[start : start + len(inside)] == inside:
        return inside[0] if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"
    return shown((name for name in names if name in chosen), 4)


def layer(name: str) -> str:
    """Return the layer of a tensor: "layers.0" of "layers.0.weight", "head" of "head.bias"."""
    parts = name.split(".")
    numbers = [place for place, part in enumerate(parts[:-1]) if part.isdigit()]
    return ".".join(parts[: numbers[0] + 1]) if numbers else ".".join(parts[:-1]) or name


def shown(items: Iterable, most: int = 8) -> str:
    words = list(map(str, items))
    return ", ".join(words[:most]) + (", …" if len(words) > most else "")


def _list(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {shown(ranks)}"
