"""One walk over a schedule: when each action starts and ends, or where the ranks get stuck.

No queue of events is needed. An action starts when the action before it on its rank has ended and
everything it needs has arrived; a pair (F&B), when everything that both need has. So each rank goes
on until something has not arrived yet, falls asleep, and is woken by the rank that computes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from helpers.schedules.rule import needs, user_of
from helpers.schedules.schedule import KINDS, Schedule

Channel = tuple[tuple[int, int], float, float]


@dataclass
class Times:
    """When everything happens, in seconds from the start of the step.

    starts, ends: of each rank's actions, in its order. Where they are fewer than the rank's
        actions, it is stuck at the next one.
    given: for F, and for B or I: when the result of (stage, micro-batch) has been computed, at
        index stage * micro_batches + micro_batch; below 0: never.
    arrived: the same, when it has reached the rank that needs it.
    """

    starts: list[list[float]]
    ends: list[list[float]]
    given: tuple[list[float], list[float]]
    arrived: tuple[list[float], list[float]]


def walk(
    schedule: Schedule,
    seconds: Mapping[str, Sequence[float]] | None = None,
    links: tuple[Sequence[Channel | None], Sequence[Channel | None]] | None = None,
    pair_share: float = 1.0,
) -> Times:
    """Run a schedule without computing anything. O(actions).

    schedule: every action at most once, on the rank of its stage, and B or its halves, not both.
    seconds: of each kind, by stage; left out, nothing takes any time.
    links: for each stage that sends activations, and for each that sends gradients: the link
        (from rank, to rank), its latency, and the seconds that a message occupies it. None where
        the result stays on its rank; left out, messages arrive as they are sent.
    pair_share: the share of the seconds of its two actions that a pair takes.
    """
    m, stages = schedule.micro_batches, schedule.stages
    size = stages * m
    given, arrived = ([-1.0] * size, [-1.0] * size), ([-1.0] * size, [-1.0] * size)
    asleep: tuple[dict[int, int], dict[int, int]] = ({}, {})  # what is waited for: the rank

    def step(kind: str, stage: int) -> tuple:
        """Everything about an action that doesn't depend on its micro-batch."""
        needed = []
        for need in needs(kind, stage, stages):
            back = need.kinds != "F"
            come = (given if need.stage == stage else arrived)[back]
            needed.append((come, (need.stage - stage) * m, asleep[back]))
        took = seconds[kind][stage] if seconds else 0.0
        back = kind != "F"
        if kind == "W":
            return needed, took, None, None, None, None
        sleeping = asleep[back] if user_of(kind, stage, stages) is not None else {}
        link = links[back][stage] if links else None
        return needed, took, given[back], arrived[back], link, sleeping

    steps = {kind: [step(kind, stage) for stage in range(stages)] for kind in KINDS}
    free: dict[tuple[int, int], float] = {}  # when a link has room for the next message

    def leave(computed, there, link, sleeping, key: int, now: float) -> None:
        """A result is computed: send it, and wake the rank that sleeps until it is there."""
        computed[key] = there[key] = now
        if link is not None:
            pair, latency, transfer = link
            left = now
            if transfer:  # it leaves when the message before it has left
                left = free[pair] = max(now, free.get(pair, 0.0)) + transfer
            there[key] = left + latency
        if key in sleeping:
            awake.append(sleeping.pop(key))

    starts: list[list[float]] = [[] for _ in schedule.ranks]
    ends: list[list[float]] = [[] for _ in schedule.ranks]
    awake = list(range(schedule.size))
    while awake:
        rank = awake.pop()
        actions, start, end = schedule.ranks[rank], starts[rank], ends[rank]
        now = end[-1] if end else 0.0
        first, held = set(schedule.pairs[rank]), ()  # held: the result of a pair's first
        for position in range(len(start), len(actions)):
            kind, s, i = actions[position]
            needed, took, computed, there, link, sleeping = steps[kind][s]
            key = s * m + i
            paired = first and position in first
            if paired:  # both start when both can, so the second never waits after the first
                other, s, i = actions[position + 1]
                more, shift = steps[other][s][0], s * m + i - key
                needed = [*needed, *((come, by + shift, who) for come, by, who in more)]
            for come, shift, sleepers in needed:
                ready = come[key + shift]
                if ready > now:
                    now = ready
                elif ready < 0:
                    sleepers[key + shift] = rank
                    break
            else:
                start.append(now)
                now += took * pair_share if paired or held else took
                end.append(now)
                if paired:  # its result leaves with that of the second
                    held = (computed, there, link, sleeping, key)
                    continue
                if held:
                    leave(*held, now)
                    held = ()
                if computed is not None:
                    leave(computed, there, link, sleeping, key, now)
                continue
            break
    return Times(starts, ends, given, arrived)
