"""The first schedules, one stage a rank: naive, GPipe, 1F1B, and any of them in waves.

p stages, m micro-batches. What each costs in time and memory is simulated by `helpers.simulate`.
"""

from helpers.schedules.action import Action
from helpers.schedules.schedule import Schedule


def naive(stages: int, micro_batches: int = 1) -> Schedule:
    """One micro-batch at a time through all stages and back: one rank computes, the others wait.

    Bubble: (p-1)/p of the time, however many micro-batches there are.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = []
    for s in range(p):
        ranks.append([Action(kind, s, i) for i in range(m) for kind in "FB"])
    return Schedule("naive", ranks, range(p), m)


def gpipe(stages: int, micro_batches: int) -> Schedule:
    """All forwards, then all backwards (Huang et al., "GPipe", arXiv 1811.06965).

    Bubble: (p-1)/(m+p-1) of the time. Each rank keeps the activations of all m micro-batches.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = []
    for s in range(p):
        ranks.append([Action(kind, s, i) for kind in "FB" for i in range(m)])
    return Schedule("GPipe", ranks, range(p), m)


def one_f_one_b(stages: int, micro_batches: int) -> Schedule:
    """One forward, one backward in turn, once the pipeline is full.

    DAPPLE (Fan et al., arXiv 2007.01045); PipeDream-flush (Narayanan et al., arXiv 2104.04473,
    section 2.2.1). The bubble is that of GPipe, but rank r keeps min(m, p-r) micro-batches only.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = []
    for s in range(p):
        ahead = min(p - 1 - s, m)  # forwards until the first backward can be there
        actions = [Action("F", s, i) for i in range(ahead)]
        for i in range(ahead, m):
            actions += [Action("F", s, i), Action("B", s, i - ahead)]
        actions += [Action("B", s, i) for i in range(m - ahead, m)]
        ranks.append(actions)
    return Schedule("1F1B", ranks, range(p), m)


def waves(schedule: Schedule, count: int) -> Schedule:
    """The same schedule `count` times, for other micro-batches each time, before one update.

    Gradients add up over the waves. It bounds the memory of GPipe by a wave's micro-batches, and
    pays the bubble in every wave: ``waves(gpipe(4, 8), 3)`` takes 24 micro-batches.
    """
    checked(count, "waves")
    m = schedule.micro_batches
    ranks = []
    for actions in schedule.ranks:
        ranks.append([Action(k, s, i + m * wave) for wave in range(count) for k, s, i in actions])
    name = schedule.name if count == 1 else f"{schedule.name}, {count} waves"
    return Schedule(name, ranks, schedule.rank_of, m * count, schedule.waves * count)


def checked_sizes(stages: int, micro_batches: int) -> tuple[int, int]:
    """Both as they are. ValueError, one sentence, where one is not a whole number above 0."""
    return checked(stages, "stages"), checked(micro_batches, "micro-batches")


def checked(number: int, what: str) -> int:
    """The number as it is; ValueError, one sentence, if it is not a whole number above 0."""
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"a schedule of {number!r} {what}: give a whole number, 1 or more")
    return number
