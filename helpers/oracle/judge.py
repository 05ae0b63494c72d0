"""Judge the step of any layout against one device's."""

from collections.abc import Sequence

from helpers.oracle.align import aligned
from helpers.oracle.case import Case
from helpers.oracle.compare import TOLERANCES, Tensors, distance
from helpers.oracle.mistakes import name_mistakes
from helpers.oracle.step import Step
from helpers.oracle.verdict import Row, Verdict

KINDS = {"gradients": "gradient", "after": "weight", "state": "state"}


def judge(
    one_device: Step,
    ranks: Step | Sequence[Step],
    shares: Sequence[Sequence[int]] | None = None,
    previous: Step | Tensors | None = None,
    tolerance: float | None = None,
) -> Verdict:
    """Compare the step of each rank with one device's, and name the mistake.

    one_device: from `one_step`. ranks: one Step for each rank that holds the whole model, or the
    one Step that `gather` made of the stages of a pipeline.
    shares: for each rank the numbers of its micro-batches; by default all have as many, and rank 0
    has the first ones. previous: the gradients of the step before, where a stale buffer may be
    found. tolerance: relative to a tensor's largest entry; by default `TOLERANCES` of its dtype.

    Raises ValueError where the facts do not fit together.
    """
    raw = (ranks,) if isinstance(ranks, Step) else tuple(ranks)
    if not raw:
        raise ValueError("there is nothing to judge: give the Step of each rank")
    case = Case(
        expected=one_device,
        ranks=tuple(aligned(one_device, rank) for rank in raw),
        raw=raw,
        shares=_shares(len(one_device.parts), len(raw), shares),
        previous=previous.gradients if isinstance(previous, Step) else previous,
        tolerance=tolerance,
    )
    sentences = name_mistakes(case)
    mistake, also = (sentences[0], tuple(sentences[1:])) if sentences else (None, ())
    note = _hidden(case) or (_NOISE if case.noise else "")
    return Verdict(mistake, also, note, _rows(case), len(raw))


_NOISE = (
    "Some weights differ though their gradients are right, and count as right: this optimizer "
    "divides each gradient by its own size, so where one is nearly zero its rounding decides."
)


def _shares(parts: int, ranks: int, shares: Sequence[Sequence[int]] | None):
    if shares is None:
        if not parts or parts % ranks:
            return None
        each = parts // ranks
        return tuple(tuple(range(r * each, (r + 1) * each)) for r in range(ranks))
    shares = tuple(map(tuple, shares))
    if len(shares) != ranks:
        raise ValueError(f"there are {ranks} ranks and {len(shares)} shares: give one for each")
    if sorted(number for share in shares for number in share) != list(range(parts)):
        raise ValueError(
            f"the shares are {[list(share) for share in shares]}: each of the {parts} micro-batches"
            f" of the one device, 0 to {parts - 1}, must be in exactly one of them"
        )
    return shares


def _hidden(case: Case) -> str:
    """Words where the weights do not show what is wrong with the gradients."""
    if not case.knows_weights or not case.expected.before:
        return ""
    adaptive = case.expected.optimizer not in ("", "SGD")
    if adaptive and not all(case.gradients):
        return (
            f"Only weights were compared, after {case.expected.optimizer}, which hides a factor on "
            "the gradients: compare gradients too, or take SGD."
        )
    if case.times is None:
        return ""
    apart, moved = case.moved_differently()
    if apart > 0.1 * abs(case.times - 1) * moved:
        return ""
    name = case.expected.optimizer if adaptive else "the optimizer"
    return (
        f"The weights do not show it: they are {apart:.1g} off, and the step moved them by "
        f"{moved:.1g}. {name} divides each gradient by its own size, so a factor on all of them "
        "disappears. Judge the gradients, or take SGD."
    )


def _rows(case: Case) -> tuple[Row, ...]:
    """For each tensor the rank where it is furthest off."""
    rows = []
    for kind, word in KINDS.items():
        right = getattr(case.expected, kind)
        wrong = {(rank, d.name): d for rank, d in case.differing(kind)}
        if kind == "after":
            wrong = {place: d for place, d in wrong.items() if place not in case.noise}
        for name, tensor in right.items():
            found = []
            for rank, step in enumerate(case.ranks):
                held = getattr(step, kind)
                if not held or (tensor is None and (rank, name) not in wrong):
                    continue
                found.append(_row(case, word, name, tensor, rank, held, wrong.get((rank, name))))
            if found:
                rows.append(max(found, key=lambda row: (not row.ok, row.relative)))
    return tuple(rows)


def _row(case, word, name, tensor, rank, held, difference) -> Row:
    shown = " = ".join(case.expected.ties.get(name, (name,)))
    if difference and difference.kind != "value":
        return Row(word, shown, rank, float("inf"), 0.0, 0.0, False, difference.text)
    error, scale = distance(tensor, held[name])
    allowed = TOLERANCES.get(tensor.dtype, 0.0) if case.tolerance is None else case.tolerance
    text = difference.text if difference else ""
    return Row(word, shown, rank, error, scale, allowed, difference is None, text)
