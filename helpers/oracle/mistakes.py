"""The known mistakes: when each explains all of the evidence; mistakes.csv has what is said of it.

`FIRST` makes every other question pointless: the first that holds is said alone. Of `CAUSES` all
that hold are said, the simplest first. Where none does, the first of `SEEN` says what there is to
see. To add a mistake, add a row there, and here a function that returns the facts that the sentence
names, or None where it doesn't hold.
"""

import csv
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
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

Facts = Mapping[str, object] | None
SHORTER = {torch.float64: (torch.float32,), torch.float32: (torch.bfloat16, torch.float16)}


def name_mistakes(evidence: Evidence) -> list[str]:
    """Return the sentences that explain what differs, the simplest first; [] for a right step."""
    if said := list(islice(_said(evidence, FIRST), 1)):
        return said
    found = list(_said(evidence, FROZEN))
    if evidence.wrong:
        found += _said(evidence, CAUSES)
    if evidence.wrong_weights:
        found += _said(evidence, STEPPED)
    return found or _on_a_part(evidence) or list(islice(_said(evidence, SEEN), 1))


def _said(evidence: Evidence, table: Mapping[str, Callable[[Evidence], Facts]]) -> Iterator[str]:
    rows = ((mistake, when(evidence)) for mistake, when in table.items())
    return (sentences()[name].format_map(facts) for name, facts in rows if facts is not None)


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
    found = list(_said(part, CAUSES)) or _said(part, {"any factor": _any_factor})
    return [f"only in {span(evidence.names, names)}, and all else is right: {s}" for s in found]


# --- names, shapes and weights to begin with -----------------------------------------------------


def _silent(e: Evidence) -> Facts:
    for rank, step in enumerate(e.ranks):
        if not (step.before or step.gradients or step.after):
            return {"rank": rank}
    return None


def _names(e: Evidence):
    right = list(e.expected.before or e.expected.gradients)
    for rank, step in enumerate(e.ranks):
        held = list(step.before | step.gradients | step.after)
        missing = [name for name in right if name not in held]
        extra = [name for name in held if name not in right]
        if missing or extra:
            facts = {"on": e.on(rank), "right": right[0], "held": held[0], "all": len(right)}
            return missing, extra, facts
    return [], [], {}


def _no_name(e: Evidence) -> Facts:
    missing, _, facts = _names(e)
    return facts if missing and len(missing) == facts["all"] else None


def _missing(e: Evidence) -> Facts:
    missing, _, facts = _names(e)
    return facts | {"name": missing[0], "count": len(missing)} if missing else None


def _extra(e: Evidence) -> Facts:
    _, extra, facts = _names(e)
    return facts | {"name": extra[0]} if extra else None


def _differs(kind: str) -> Callable[[Evidence], Facts]:
    """The first tensor that differs in its shape, its dtype, or that holds no numbers."""

    def when(e: Evidence) -> Facts:
        for tensors, words in KINDS.items():
            for rank, found in e.differing[tensors]:
                if found.kind == kind:
                    facts = {"what": words, "name": found.name, "on": e.on(rank)}
                    return facts | {"text": found.text}
        return None

    return when


def _other_start(e: Evidence) -> Facts:
    found = e.differing["before"]
    if not found:
        return None
    wrong = sorted({rank for rank, _ in found})
    worst = max((d for _, d in found), key=lambda d: d.error)
    return {"ranks": _list(wrong), "start": "start" + "s" * (len(wrong) == 1), "worst": worst}


def _no_gradient(e: Evidence) -> Facts:
    ranks = [r for r, g in enumerate(e.gradients) if g and all(map(is_zero, g.values()))]
    if not ranks or not e.names or all(map(is_zero, e.expected.gradients.values())):
        return None
    everywhere = len(ranks) == e.n_ranks
    return {"where": "" if everywhere else f" on rank {', '.join(map(str, ranks))}"}


FIRST = {
    "says nothing": _silent,
    "no name": _no_name,
    "missing name": _missing,
    "extra name": _extra,
    "shape": _differs("shape"),
    "dtype": _differs("dtype"),
    "other start": _other_start,
    "no gradient": _no_gradient,
    "not finite": _differs("not finite"),
}

# --- causes of wrong gradients -------------------------------------------------------------------


def _moved(e: Evidence) -> Facts:
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
                return {"name": name, "did": did, "on": e.on(rank), "cause": cause}
    return None


FROZEN = {
    "frozen": _moved,
}


def _counts(e: Evidence) -> dict:
    return {"ranks": e.n_ranks, "micro": e.n_micro, "both": e.n_ranks * e.n_micro}


def _summed(e: Evidence, count: int, candidates: Callable) -> Facts:
    large = count > 1 and (e.is_times(count) or e.everywhere(candidates()))
    return _counts(e) if large else None


def _summed_micro(e: Evidence) -> Facts:
    micro = e.n_micro
    return _summed(
        e, micro, lambda: (combine([g], [micro]) for g in e.over_ranks(e.own_unweighted))
    )


def _summed_ranks(e: Evidence) -> Facts:
    own = [e.own, e.own_unweighted] if e.shares else []
    return _summed(e, e.n_ranks, lambda: (combine(each, [1.0] * e.n_ranks) for each in own))


def _summed_both(e: Evidence) -> Facts:
    parts = [part.gradients for part in e.expected.parts]
    if min(e.n_ranks, e.n_micro) < 2:
        return None
    return _summed(e, e.n_ranks * e.n_micro, lambda: [combine(parts, [1.0] * len(parts))])


def _summed_tokens(e: Evidence) -> Facts:
    total = sum(e.tokens)
    divisors = {1, e.n_ranks, e.n_micro, len(e.tokens)}
    if total > len(e.tokens) and e.is_times(*(total / divisor for divisor in divisors)):
        return {"times": e.times, "total": total}
    return None


def _divided_twice(e: Evidence) -> Facts:
    ranks, micro, found = e.n_ranks, e.n_micro, []
    if ranks > 1 and e.is_times(1 / ranks):
        found.append(
            f"the {ranks} ranks: divide by world_size once, before the all_reduce or after it, and "
            "never where the loss is divided by the tokens of all ranks"
        )
    if micro > 1 and e.is_times(1 / micro):
        found.append(
            f"the {micro} micro-batches: divide the loss of each by their number, and the gradient "
            "no more"
        )
    if min(ranks, micro) > 1 and e.is_times(1 / ranks / micro):
        found.append(f"the {ranks} ranks and the {micro} micro-batches: divide once for each")
    return {"small": round(1 / e.times), "found": "; or for ".join(found)} if found else None


def _weights_averaged(e: Evidence) -> Facts:
    if not e.shares or e.n_ranks == 1 or not e.knows_weights or not e.expected.make_optimizer:
        return None
    own = next((own for own in e.owns if e.each(own)), None)
    if own is None:
        return None
    stepped = [e.expected.update(gradients) for gradients in own]
    if not any(e.after_is([mean] * e.n_ranks) for mean in e.over_ranks(stepped)):
        return None
    return {"alike": "" if e.wrong_weights else " (as it did here)"}


def _never_averaged(e: Evidence) -> Facts:
    if not e.shares or e.n_ranks == 1 or _weights_averaged(e) is not None:
        return None
    return {} if any(e.each(own) for own in e.owns) else None


def _own_times(e: Evidence) -> Facts:
    if not e.shares or e.n_ranks == 1 or any(e.each(own) for own in e.owns):
        return None
    factor = next((f for own in e.owns if (f := e.factor(own))), None)
    if factor is None:
        return None
    divided = abs(factor * e.n_ranks - 1) < 1e-4
    return {"of": "divided by world_size" if divided else f"times {factor:.4g}"}


def _one_micro_batch(place: int) -> Callable[[Evidence], Facts]:
    def when(e: Evidence) -> Facts:
        if not e.shares or min(map(len, e.shares)) < 2:
            return None
        one = [e.parts(rank)[place] for rank in range(e.n_ranks)]
        tokens = [e.tokens_of(rank)[place] for rank in range(e.n_ranks)]
        means = mean_of(one, tokens), mean_of(one)
        return {} if any(e.factor([mean] * e.n_ranks) for mean in means) else None

    return when


def _not_zeroed(e: Evidence) -> Facts:
    if e.previous is None:
        return None
    both = combine([e.previous, e.expected.gradients], [1.0, 1.0])
    return {} if e.everywhere([both]) else None


def _stale(e: Evidence) -> Facts:
    return {} if e.previous is not None and e.everywhere([e.previous]) else None


def _mean_of_means(e: Evidence) -> Facts:
    if not e.shares:
        return None
    micro = [mean_of([p.gradients for p in e.expected.parts]), *e.over_ranks(e.own_unweighted)]
    counts = [sum(e.tokens_of(rank)) for rank in range(e.n_ranks)]
    found = [("ranks", counts)] if e.everywhere(e.over_ranks(e.own)[1:]) else []
    if counts != e.tokens and e.everywhere(micro):
        found.append(("micro-batches", e.tokens))
    alike = ", or ".join(
        f"the {what} count alike, though they have {', '.join(map(str, counts[:6]))}"
        f"{', …' if len(counts) > 6 else ''} tokens"
        for what, counts in found
    )
    return {"alike": alike} if found else None


def _tied_apart(e: Evidence) -> Facts:
    """One tensor under two names: its gradient is the sum over its uses, once."""
    for name, names in e.expected.ties.items():
        right = e.expected.gradients.get(name)
        for rank, step in enumerate(e.raw):
            held = copies(e.expected, name, step.gradients)
            if right is None or len(held) < 2 or name not in e.wrong_names:
                continue
            if same({name: right}, {name: sum(held)}):
                return {"shown": " = ".join(names), "held": len(held), "on": e.on(rank)}
    return None


def _tied(e: Evidence, twice: bool) -> Facts:
    wrong, ties = e.wrong_names, e.expected.ties
    if not wrong <= set(ties) or _tied_apart(e) is not None:
        return None
    right = {name: e.expected.gradients[name] for name in wrong}
    factors = [common_factor(right, {n: g.get(n) for n in wrong}) for g in e.gradients]
    doubled = all(factor is not None and abs(factor - 2) < 1e-4 for factor in factors)
    return {"shown": " = ".join(ties[sorted(wrong)[0]])} if doubled is twice else None


def _without_gradient(e: Evidence) -> list[str]:
    wrong = e.wrong_names
    if not wrong < set(e.names):
        return []
    if not all(is_zero(g.get(name)) for g in e.gradients for name in wrong):
        return []
    return [name for name in e.names if name in wrong]


def _stops(e: Evidence) -> Facts:
    order = _without_gradient(e)
    if not order or order != e.names[: len(order)]:
        return None
    return {"next": e.names[len(order)], "last": order[-1]}


def _skipped(e: Evidence) -> Facts:
    order = _without_gradient(e)
    if not order or order == e.names[: len(order)]:
        return None
    return {"shown": ", ".join(order[:3]) + (", …" if len(order) > 3 else "")}


CAUSES = {
    "summed micro-batches": _summed_micro,
    "summed ranks": _summed_ranks,
    "summed both": _summed_both,
    "summed tokens": _summed_tokens,
    "divided twice": _divided_twice,
    "weights averaged": _weights_averaged,
    "never averaged": _never_averaged,
    "own times": _own_times,
    "last alone": _one_micro_batch(-1),
    "first alone": _one_micro_batch(0),
    "not zeroed": _not_zeroed,
    "stale": _stale,
    "mean of means": _mean_of_means,
    "tied apart": _tied_apart,
    "tied twice": partial(_tied, twice=True),
    "tied wrong": partial(_tied, twice=False),
    "backward stops": _stops,
    "layer skipped": _skipped,
}

# --- wrong weights after the step ----------------------------------------------------------------


def _not_stepped(e: Evidence) -> Facts:
    return {} if e.after_is([rank.before for rank in e.ranks]) else None


def _too_early(e: Evidence) -> Facts:
    if e.wrong or not e.shares or e.n_ranks == 1 or not e.expected.make_optimizer:
        return None
    stepped = ([e.expected.update(gradients) for gradients in own] for own in e.owns)
    return {} if any(map(e.after_is, stepped)) else None


STEPPED = {
    "no step": _not_stepped,
    "too early": _too_early,
}

# --- what is seen where no known cause explains it -----------------------------------------------


def _some_ranks(e: Evidence) -> Facts:
    wrong = sorted({rank for rank, _ in e.wrong})
    right = [rank for rank in range(e.n_ranks) if rank not in wrong]
    if not wrong or not right:
        return None
    return {"right": _list(right), "have": "has" if len(right) == 1 else "have"} | {
        "wrong": _list(wrong)
    }


def _any_factor(e: Evidence) -> Facts:
    if e.times is None:
        return None
    ranks, micro = many(e.n_ranks, "rank"), many(e.n_micro, "micro-batch", "es")
    return {"times": e.times, "ranks": ranks, "micro": micro}


def _wrong_group(e: Evidence) -> Facts:
    if not e.wrong or not e.shares or e.n_ranks < 3 or e.counts is None:
        return None
    groups = []
    for row in e.counts.abs() > 1e-3:
        group = [r for r, share in enumerate(e.shares) if bool(row[list(share)].all())]
        if int(row.sum()) != sum(len(e.shares[rank]) for rank in group):
            return None
        groups.append(group)
    short = [rank for rank, group in enumerate(groups) if 1 < len(group) < e.n_ranks]
    if not short or not all(rank in group for rank, group in enumerate(groups)):
        return None
    everybody = _list(list(range(e.n_ranks)))
    return {"rank": short[0], "group": _list(groups[short[0]]), "all": everybody}


def _left_out(e: Evidence) -> Facts:
    if not e.wrong or e.counts is None:
        return None
    counts = e.counts[0].tolist()
    usual = float(e.counts[0].median())
    odd = [number for number, count in enumerate(counts) if abs(count - usual) > 1e-3]
    alike = not bool((e.counts - e.counts[0]).abs().gt(1e-3).any())
    return {"odd": odd[0]} if alike and len(odd) == 1 and abs(counts[odd[0]]) < 1e-3 else None


def _counted_differently(e: Evidence) -> Facts:
    if not e.wrong or e.counts is None:
        return None
    rank = e.wrong[0][0]
    counts = e.counts[rank].tolist()
    alike = not bool((e.counts - e.counts[rank]).abs().gt(1e-3).any())
    shown = ", ".join(f"{0 if abs(count) < 1e-3 else count:.3g}" for count in counts[:12])
    shown += ", …" if len(counts) > 12 else ""
    return {"shown": shown, "where": "" if alike else f" in the gradients of rank {rank}"}


def _rounded(e: Evidence) -> Facts:
    if not e.wrong:
        return None
    dtype = e.expected.gradients[e.names[0]].dtype
    counts = {1, e.n_ranks, e.n_micro, e.n_ranks * e.n_micro}
    held = [
        torch.cat([g.flatten() for g in rank.values() if g is not None]) for rank in e.gradients
    ]
    for shorter in SHORTER.get(dtype, ()):
        near = all(same(e.expected.gradients, g, 2 * TOLERANCES[shorter]) for g in e.gradients)
        # The gradients, or a whole number of times them, are numbers of the shorter dtype.
        if near and all(any(_fits(g * n, shorter) for n in counts) for g in held):
            name, kept = (str(d).removeprefix("torch.") for d in (shorter, dtype))
            return {"name": name, "kept": kept}
    return None


def _fits(g: torch.Tensor, dtype: torch.dtype) -> bool:
    allowed = 4 * torch.finfo(g.dtype).eps * g.abs()
    return dtype == torch.float32 or bool(((g.to(dtype).to(g.dtype) - g).abs() <= allowed).all())


def _moved_by_a_factor(e: Evidence) -> Facts:
    if e.wrong or not e.wrong_weights or not all(rank.before for rank in e.ranks):
        return None
    right = on_ranks([_move(e.expected)] * e.n_ranks)
    factor = common_factor(right, on_ranks([_move(rank) for rank in e.ranks]), tolerance=1e-3)
    return {"factor": factor} if factor else None


def _move(step: Step) -> Tensors:
    names = [name for name in step.before if name in step.after]
    return {name: step.after[name].double() - step.before[name].double() for name in names}


def _some_weights(e: Evidence) -> Facts:
    wrong = sorted({rank for rank, _ in e.wrong_weights})
    if e.wrong or not wrong or len(wrong) == e.n_ranks:
        return None
    return {"wrong": ", ".join(map(str, wrong))}


def _unknown(e: Evidence) -> Facts:
    """The worst tensor's numbers, and where in the model they are."""
    for names, words, found in (
        (e.names, "gradients", e.wrong),
        (list(e.expected.after), "weights after the step", e.wrong_weights),
    ):
        if found:
            far = [d.error / d.scale if d.scale else float("inf") for _, d in found]
            rank, worst = found[far.index(max(far))]
            wrong = {difference.name for _, difference in found}
            where = f"; all are in {span(names, wrong)}" if len(wrong) < len(names) else ""
            differ = f"{words} differ{'s' if len(wrong) == 1 else ''}"
            facts = {"wrong": len(wrong), "all": len(names), "differ": differ, "where": where}
            return facts | {"name": worst.name, "on": e.on(rank), "text": worst.text}
    return None


SEEN = {
    "some ranks": _some_ranks,
    "any factor": _any_factor,
    "wrong group": _wrong_group,
    "left out": _left_out,
    "counted differently": _counted_differently,
    "rounded": _rounded,
    "moved by a factor": _moved_by_a_factor,
    "some weights": _some_weights,
    "unknown": _unknown,
}


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
