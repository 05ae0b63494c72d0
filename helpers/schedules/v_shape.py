"""ZB-V: two chunks a rank in the form of a V, and no bubble with the memory of 1F1B.

Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241, section 6. Rank r of p holds stage
r on the way down and stage 2p-1-r on the way up. So the last stage sits on rank 0, beside the
first, and a micro-batch turns round within the last rank.
"""

from collections import Counter

from helpers.schedules.action import Action
from helpers.schedules.builders import checked_sizes
from helpers.schedules.schedule import Schedule


def zb_v(ranks: int, micro_batches: int) -> Schedule:
    """No bubble between a rank's first and last action where F=I=W and m >= 2p-1.

    Each rank keeps 2p chunks until W; a chunk is half of what a rank of 1F1B has for a stage.
    """
    p, m = checked_sizes(ranks, micro_batches)
    places = [*range(p), *reversed(range(p))]
    return Schedule("ZB-V", [_order(r, p, m) for r in range(p)], places, m)


def _order(r: int, p: int, m: int) -> list[Action]:
    """The phases of rank r, each a pattern that is repeated: down the V and up again."""
    f_down, i_down, w_down = [(kind, r) for kind in "FIW"]
    f_up, i_up, w_up = [(kind, 2 * p - 1 - r) for kind in "FIW"]
    # The pattern is made for 2p-1 micro-batches and more: of fewer, those not there fall out.
    full = max(m, 2 * p - 1)
    phases = [
        (2 * (p - r) - 1, [f_down]),  # until the first one comes back up
        (r, [f_up, f_down]),
        (p - r, [f_up, i_up, w_up]),  # until the first gradient comes back up
        (full - p, [f_down, i_down, w_down, f_up, i_up, w_up]),
        (r, [i_down, i_up]),  # the rest: others wait for I, so W comes later
        (p - r, [i_down, w_down]),
        (full, [w_up]),
        (full, [w_down]),
    ]
    done: Counter[tuple[str, int]] = Counter()
    order = []
    for times, pattern in phases:
        for kind, stage in pattern * times:
            i = done[kind, stage]
            if i < full:
                done[kind, stage] += 1
                order.append(Action(kind, stage, i))
    return [action for action in order if action.micro_batch < m]
