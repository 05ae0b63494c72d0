"""Schedules that split the backward: W fills the time in which a rank would wait.

Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, section 2. The stage before waits
for the gradient of the input (I) alone. Nobody waits for the gradient of the weights (W), so it
can be done later, when there is nothing else to do.
"""

from helpers.schedules.action import Action
from helpers.schedules.builders import checked_sizes
from helpers.schedules.schedule import Schedule


def zb_h1(stages: int, micro_batches: int) -> Schedule:
    """Return 1F1B with W put off: a third of its bubble in the memory of its first rank.

    Bubble: (p-1)(F+I-W) for m >= p and W <= F; more where W takes longer than F. Rank r keeps p-r
    micro-batches from F until I, and p until W.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = [_order(s, m, ahead=p - 1 - s, late=s) for s in range(p)]
    return Schedule("ZB-H1", ranks, range(p), m)


def zb_h2(stages: int, micro_batches: int) -> Schedule:
    """Twice the forwards ahead: no bubble between a rank's first and last action where F=I=W.

    Rank r keeps 2(p-r)-1 micro-batches from F until I, 2p-1 until W. For m >= 2p-1.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = [_order(s, m, ahead=2 * (p - 1 - s), late=2 * s) for s in range(p)]
    return Schedule("ZB-H2", ranks, range(p), m)


def _order(s: int, m: int, ahead: int, late: int) -> list[Action]:
    """F runs `ahead` micro-batches before I, and W follows `late` micro-batches after it."""
    ahead = min(ahead, m)
    actions = [Action("F", s, i) for i in range(ahead)]
    for i in range(m):
        if i + ahead < m:
            actions.append(Action("F", s, i + ahead))
        actions.append(Action("I", s, i))
        if i >= late:
            actions.append(Action("W", s, i - late))
    return actions + [Action("W", s, i) for i in range(max(0, m - late), m)]
