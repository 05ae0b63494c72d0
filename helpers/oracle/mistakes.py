"""The known mistakes: when each explains all of the evidence; mistakes.csv has what is said of it.

Each function yields (mistake, the facts that its sentence names). What `first` yields makes every
other question pointless: it is said alone. Of the causes all that hold are said, the simplest
first. Where none does, the first of `seen` says what there is to see. To add a mistake, add a row
to the table, and the lines here that find it.
"""

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
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
    mean_of,
    on_ranks,
    same,
)
from helpers.oracle.evidence import Evidence, copies
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


def _said(evidence: Evidence, *functions: Callable[[Evidence], Found]) -> Iterator[str]:
    found = chain.from_iterable(function(evidence) for function in functions)
    return (sentences()[mistake].format_map(facts) for mistake, facts in found)


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
        if not held:
            yield "says nothing", {"rank": rank}
            return
        missing = [name for name in right if name not in held]
        facts = {"on": e.on(rank), "right": right[0], "held": held[0], "all": len(right)}
        if len(missing) == len(right):
            yield "no name", facts
        elif missing:
            yield "missing name", facts | {"name": missing[0], "count": len(missing)}
        for name in held:
            if name not in right:
                yield "extra name", facts | {"name": name}
    yield from _of_kind(e, "shape")
    yield from _of_kind(e, "dtype")
    if found := e.differing["before"]:
        wrong = sorted({rank for rank, _ in found})
        worst = max((d for _, d in found), key=lambda d: d.error)
        start = "start" + "s" * (len(wrong) == 1)
        yield "other start", {"ranks": _list(wrong), "start": start, "worst": worst}
    ranks = [r for r, g in enumerate(e.gradients) if g and all(map(is_zero, g.values()))]
    if ranks and e.names and not all(map(is_zero, e.expected.gradients.values())):
        everywhere = len(ranks) == e.n_ranks
        where = "" if everywhere else f" on rank {', '.join(map(str, ranks))}"
        yield "no gradient", {"where": where}
    yield from _of_kind(e, "not finite")


def _of_kind(e: Evidence, kind: str) -> Found:
    """The tensors that differ in their shape, their dtype, or that hold no numbers."""
    for tensors, words in KINDS.items():
        for rank, found in e.differing[tensors]:
            if found.kind == kind:
                facts = {"what": words, "name": found.name, "on": e.on(rank)}
                yield kind, facts | {"text": found.text}


def frozen(e: Evidence) -> Found:
    """The first parameter without a gradient that has moved, or has got one."""
    for rank, step in enumerate(e.ranks):
        for name in (n for n, g in e.expected.gradients.items() if g is None):
            moved = 0.0
            if name in e.expected.after and step.after.get(name) is not None:
                moved = distance(e.expected.after[name], step.after[name])[0]
            gradient = not is_zero(step.gradients.get(name))
            if moved or gradient:
                cause = (
                    "a gradient was written to it: look at how the parts of a flat tensor find "
                    "their way back to their parameters, and set requires_grad to False"
                    if gradient
                    else "leave it out of the optimizer, and out of every average of weights"
                )
                did = f"moved by up to {moved:.3g}" if moved else "has a gradient"
                yield "frozen", {"name": name, "did": did, "on": e.on(rank), "cause": cause}
                return


# --- causes of wrong gradients -------------------------------------------------------------------


def factors(e: Evidence) -> Found:
    """Sums for means, and divisions too many: of one device's gradients, or where the micro-batches
    are unequal, of what a rank makes of its own."""
    ranks, micro, total = e.n_ranks, e.n_micro, sum(e.tokens)
    facts = {"ranks": ranks, "micro": micro, "both": ranks * micro}
    own = e.owns[:2] if e.shares else ()
    parts = [part.gradients for part in e.expected.parts]
    if micro > 1 and (
        e.is_times(micro) or e.everywhere(combine([g], [micro]) for g in e.over_ranks(e.owns[1]))
    ):
        yield "summed micro-batches", facts
    if ranks > 1 and (
        e.is_times(ranks) or e.everywhere(combine(each, [1.0] * ranks) for each in own)
    ):
        yield "summed ranks", facts
    if min(ranks, micro) > 1 and (
        e.is_times(ranks * micro) or e.everywhere([combine(parts, [1.0] * len(parts))])
    ):
        yield "summed both", facts
    divisors = {1, ranks, micro, len(e.tokens)}
    if total > len(e.tokens) and e.is_times(*(total / divisor for divisor in divisors)):
        yield "summed tokens", {"times": e.times, "total": total}
    twice = []
    if ranks > 1 and e.is_times(1 / ranks):
        twice.append(
            f"the {ranks} ranks: divide by world_size once, before the all_reduce or after it, and "
            "never where the loss is divided by the tokens of all ranks"
        )
    if micro > 1 and e.is_times(1 / micro):
        twice.append(
            f"the {micro} micro-batches: divide the loss of each by their number, and the gradient "
            "no more"
        )
    if min(ranks, micro) > 1 and e.is_times(1 / ranks / micro):
        twice.append(f"the {ranks} ranks and the {micro} micro-batches: divide once for each")
    if twice:
        yield "divided twice", {"small": round(1 / e.times), "found": "; or for ".join(twice)}


def averages(e: Evidence) -> Found:
    """Averages that were not taken, or over the wrong things."""
    if not e.shares:
        return
    if e.n_ranks > 1:
        own = next((own for own in e.owns if e.each(own)), None)
        factor = next((f for each in e.owns if (f := e.factor(each))), None)
        if own is None and factor is not None:
            divided = abs(factor * e.n_ranks - 1) < 1e-4
            yield "own times", {"of": "divided by world_size" if divided else f"times {factor:.4g}"}
        elif own is not None:
            known = e.knows_weights and e.expected.make_optimizer
            each = [e.expected.update(gradients) for gradients in own] if known else []
            if known and any(e.after_is([mean] * e.n_ranks) for mean in e.over_ranks(each)):
                yield "weights averaged", {"alike": "" if e.wrong_weights else " (as it did here)"}
            else:
                yield "never averaged", {}
    for mistake, place in (("last alone", -1), ("first alone", 0)):
        if min(map(len, e.shares)) > 1:
            one = [e.parts(rank)[place] for rank in range(e.n_ranks)]
            tokens = [e.tokens_of(rank)[place] for rank in range(e.n_ranks)]
            means = mean_of(one, tokens), mean_of(one)
            if any(e.factor([mean] * e.n_ranks) for mean in means):
                yield mistake, {}
    micro = [mean_of([p.gradients for p in e.expected.parts]), *e.over_ranks(e.owns[1])]
    counts = [sum(e.tokens_of(rank)) for rank in range(e.n_ranks)]
    found = [("ranks", counts)] if e.everywhere(e.over_ranks(e.owns[0])[1:]) else []
    if counts != e.tokens and e.everywhere(micro):
        found.append(("micro-batches", e.tokens))
    alike = ", or ".join(
        f"the {what} count alike, though they have {', '.join(map(str, counts[:6]))}"
        f"{', …' if len(counts) > 6 else ''} tokens"
        for what, counts in found
    )
    if found:
        yield "mean of means", {"alike": alike}


def left_over(e: Evidence) -> Found:
    """What is left of the step before."""
    if e.previous is None:
        return
    if e.everywhere([combine([e.previous, e.expected.gradients], [1.0, 1.0])]):
        yield "not zeroed", {}
    if e.everywhere([e.previous]):
        yield "stale", {}


def tied(e: Evidence) -> Found:
    """One tensor under two names: its gradient is the sum over its uses, once."""
    wrong, ties = e.wrong_names, e.expected.ties
    for name, names in ties.items():
        right = e.expected.gradients.get(name)
        for rank, step in enumerate(e.raw):
            held = copies(e.expected, name, step.gradients)
            apart = right is not None and len(held) > 1 and name in wrong
            if apart and same({name: right}, {name: sum(held)}):
                facts = {"shown": " = ".join(names), "held": len(held), "on": e.on(rank)}
                yield "tied apart", facts
                return
    if wrong <= set(ties):
        right = {name: e.expected.gradients[name] for name in wrong}
        found = [common_factor(right, {n: g.get(n) for n in wrong}) for g in e.gradients]
        twice = all(factor is not None and abs(factor - 2) < 1e-4 for factor in found)
        yield "tied twice" if twice else "tied wrong", {"shown": " = ".join(ties[min(wrong)])}


def without(e: Evidence) -> Found:
    """Some parameters without a gradient, and all others right."""
    order = [name for name in e.names if name in e.wrong_names]
    if len(order) == len(e.names) or len(order) < len(e.wrong_names):
        return
    if all(is_zero(g.get(name)) for g in e.gradients for name in order):
        if order == e.names[: len(order)]:
            yield "backward stops", {"next": e.names[len(order)], "last": order[-1]}
        else:
            shown = ", ".join(order[:3]) + (", …" if len(order) > 3 else "")
            yield "layer skipped", {"shown": shown}


CAUSES = factors, averages, left_over, tied, without

# --- wrong weights after the step ----------------------------------------------------------------


def stepped(e: Evidence) -> Found:
    if e.after_is([rank.before for rank in e.ranks]):
        yield "no step", {}
    if not e.wrong and e.shares and e.n_ranks > 1 and e.expected.make_optimizer:
        moved = ([e.expected.update(gradients) for gradients in own] for own in e.owns)
        if any(map(e.after_is, moved)):
            yield "too early", {}


# --- what is seen where no known cause explains it -----------------------------------------------


def seen(e: Evidence) -> Found:
    if e.wrong:
        yield from _seen_in_gradients(e)
    elif e.wrong_weights:
        if all(rank.before for rank in e.ranks):
            right = on_ranks([_move(e.expected)] * e.n_ranks)
            moved = on_ranks([_move(rank) for rank in e.ranks])
            if factor := common_factor(right, moved, tolerance=1e-3):
                yield "moved by a factor", {"factor": factor}
        wrong = sorted({rank for rank, _ in e.wrong_weights})
        if len(wrong) < e.n_ranks:
            yield "some weights", {"wrong": ", ".join(map(str, wrong))}
    for names, words, found in (
        (e.names, "gradients", e.wrong),
        (list(e.expected.after), "weights after the step", e.wrong_weights),
    ):
        if found:  # the worst tensor's numbers, and where in the model they are
            rank, worst = max(found, key=lambda one: _far(one[1]))
            wrong = {difference.name for _, difference in found}
            where = f"; all are in {span(names, wrong)}" if len(wrong) < len(names) else ""
            differ = f"{words} differ{'s' if len(wrong) == 1 else ''}"
            facts = {"wrong": len(wrong), "all": len(names), "differ": differ, "where": where}
            yield "unknown", facts | {"name": worst.name, "on": e.on(rank), "text": worst.text}


def _seen_in_gradients(e: Evidence) -> Found:
    wrong = sorted({rank for rank, _ in e.wrong})
    if right := [rank for rank in range(e.n_ranks) if rank not in wrong]:
        have = "has" if len(right) == 1 else "have"
        yield "some ranks", {"right": _list(right), "have": have, "wrong": _list(wrong)}
    yield from _any_factor(e)
    if e.counts is not None:
        yield from _wrong_group(e)
        counts = e.counts[wrong[0]].tolist()
        alike = not bool((e.counts - e.counts[0]).abs().gt(1e-3).any())
        usual = float(e.counts[0].median())
        odd = [number for number, count in enumerate(counts) if abs(count - usual) > 1e-3]
        if alike and len(odd) == 1 and abs(counts[odd[0]]) < 1e-3:
            yield "left out", {"odd": odd[0]}
        shown = ", ".join(f"{0 if abs(count) < 1e-3 else count:.3g}" for count in counts[:12])
        shown += ", …" if len(counts) > 12 else ""
        where = "" if alike else f" in the gradients of rank {wrong[0]}"
        yield "counted differently", {"shown": shown, "where": where}
    dtype = e.expected.gradients[e.names[0]].dtype
    whole = {1, e.n_ranks, e.n_micro, e.n_ranks * e.n_micro}
    held = [
        torch.cat([g.flatten() for g in rank.values() if g is not None]) for rank in e.gradients
    ]
    for shorter in SHORTER.get(dtype, ()):
        near = all(same(e.expected.gradients, g, 2 * TOLERANCES[shorter]) for g in e.gradients)
        # The gradients, or a whole number of times them, are numbers of the shorter dtype.
        if near and all(any(_fits(g * n, shorter) for n in whole) for g in held):
            name, kept = (str(d).removeprefix("torch.") for d in (shorter, dtype))
            yield "rounded", {"name": name, "kept": kept}


def _any_factor(e: Evidence) -> Found:
    if e.times is not None:
        ranks, micro = many(e.n_ranks, "rank"), many(e.n_micro, "micro-batch", "es")
        yield "any factor", {"times": e.times, "ranks": ranks, "micro": micro}


def _wrong_group(e: Evidence) -> Found:
    """Where each rank has the gradients of the micro-batches of whole ranks, itself among them."""
    groups = []
    for row in e.counts.abs() > 1e-3 if e.shares and e.n_ranks > 2 else ():
        group = [r for r, share in enumerate(e.shares) if bool(row[list(share)].all())]
        if int(row.sum()) != sum(len(e.shares[rank]) for rank in group):
            return
        groups.append(group)
    short = [rank for rank, group in enumerate(groups) if 1 < len(group) < e.n_ranks]
    if short and all(rank in group for rank, group in enumerate(groups)):
        everybody = _list(list(range(e.n_ranks)))
        yield "wrong group", {"rank": short[0], "group": _list(groups[short[0]]), "all": everybody}


def _fits(g: torch.Tensor, dtype: torch.dtype) -> bool:
    allowed = 4 * torch.finfo(g.dtype).eps * g.abs()
    return dtype == torch.float32 or bool(((g.to(dtype).to(g.dtype) - g).abs() <= allowed).all())


def _move(step: Step) -> Tensors:
    names = [name for name in step.before if name in step.after]
    return {name: step.after[name].double() - step.before[name].double() for name in names}


def _far(difference) -> float:
    return difference.error / difference.scale if difference.scale else float("inf")


def span(names: Sequence[str], chosen: Collection[str]) -> str:
    """Return words for some of the tensors: "layers.0 to layers.3", or their names."""
    layers = list(dict.fromkeys(layer(name) for name in names))
    inside = list(dict.fromkeys(layer(name) for name in names if name in chosen))
    start = layers.index(inside[0])
    whole = all((name in chosen) == (layer(name) in inside) for name in names)
    if whole and layers[start : start + len(inside)] == inside:
        return inside[0] if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"
    shown = [name for name in names if name in chosen]
    return ", ".join(shown[:4]) + (", …" if len(shown) > 4 else "")


def layer(name: str) -> str:
    """Return the layer of a tensor: "layers.0" of "layers.0.weight", "head" of "head.bias"."""
    parts = name.split(".")
    numbers = [place for place, part in enumerate(parts[:-1]) if part.isdigit()]
    return ".".join(parts[: numbers[0] + 1]) if numbers else ".".join(parts[:-1]) or name


def _list(ranks: list[int]) -> str:
    words = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
    return f"rank {words}" if len(ranks) == 1 else f"ranks {words}"
