"""The search: many greedy walks, each with a style a little better than the one before."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from helpers.schedules import SCHEDULES, Action, Schedule, check
from helpers.schedules.builders import checked, checked_sizes
from helpers.search.greedy import Style, greedy_walk
from helpers.simulate import Costs, OutOfMemory, Simulated, simulate
from helpers.words import bytes_text, percent, time_text

GOALS = ("step", "span")
TIMES = ("forward", "input_grad", "weight_grad")
PATIENCE = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5)
AHEAD = (1.0, 1.25, 1.5, 1.75, 2.0, 3.0)


@dataclass(frozen=True)
class Found:
    """The result of a search.

    simulated: the best step. rivals: the named schedules that fit, best first. too_large: of those
    that do not fit, the sentence that says why, by name. goal: what "best" means, "step" or "span".
    """

    simulated: Simulated
    rivals: tuple[Simulated, ...]
    too_large: dict[str, str]
    goal: str

    @property
    def schedule(self) -> Schedule:
        """The best order of all."""
        return self.simulated.schedule

    def __str__(self) -> str:
        new = () if self.simulated in self.rivals else (self.simulated,)
        rows = [_row(each, self.goal) for each in (*new, *self.rivals)]
        rows += [(name, "", "", "does not fit") for name in self.too_large]
        whole = "step" if self.goal == "step" else "longest rank"
        head = ("schedule", self.goal, f"bubble of the {whole}", "most memory")
        widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
        lines = [zip(row, widths, strict=True) for row in (head, *rows)]
        return "\n".join("  ".join(f"{x:<{n}}" for x, n in line).rstrip() for line in lines)


def search(
    ranks: int,
    micro_batches: int,
    costs: Costs | None = None,
    places: Sequence[int] | None = None,
    walks: int = 300,
    goal: str = "step",
) -> Found:
    """Search for the best schedule; the result is never worse than a named one.

    costs: of each stage, of messages, and the memory limit; left out: F = I = W = 1 s.
    places: places[stage] is its rank; left out: one stage a rank. [0, 1, 1, 0] is a V.
    walks: how many orders to try; a hundred walks over 8 ranks and 24 micro-batches take a second.
    goal: "step": until the last rank has finished; "span": a rank's first action to its last, on
        the rank where that is longest (as the zero-bubble paper counts).
    The same arguments give the same schedule.

    Raises:
        ValueError: if a time isn't above zero.
        OutOfMemory: if no schedule fits the memory limit.
    """
    checked_sizes(ranks, micro_batches)
    places = tuple(range(ranks)) if places is None else _checked_places(places, ranks)
    if goal not in GOALS:
        raise ValueError(f"search(goal={goal!r}): choose 'step' or 'span'")
    full = _checked(costs or Costs(), one_at_a_time(places, micro_batches))
    named, too_large = _judged(places, micro_batches, full, goal)
    best, champion, lowest = named[0], None, math.inf
    starts, rng = _starts(places, full), random.Random(0)
    for walk in range(checked(walks, "walks")):
        if walk >= len(starts) and champion is None:
            break  # each of them led to a dead end
        style = starts[walk] if walk < len(starts) else _changed(champion, rng)
        schedule = greedy_walk(places, micro_batches, full, style)
        if schedule is None:
            continue
        done = simulate(schedule, full, proven=True)  # a walk does nothing that cannot be done
        if score_of(done, goal) <= lowest:
            champion, lowest = style, score_of(done, goal)
            best = min(best, done, key=lambda each: score_of(each, goal))
    check(best.schedule)
    return Found(best, tuple(named), too_large, goal)


def rivals(places: Sequence[int], micro_batches: int) -> Iterator[Schedule]:
    """Yield the named schedules that put the stages on these ranks; one at a time first."""
    places, m = tuple(places), micro_batches
    size, chunks = max(places) + 1, len(places) // (max(places) + 1)
    first = one_at_a_time(places, m)
    yield first
    for each in SCHEDULES.values():
        if chunks > 1 or not each.chunked:  # of one chunk it would be another's twin
            schedule = each.made(size, m, chunks)
            if schedule.rank_of == places and schedule != first:
                yield schedule


def one_at_a_time(places: Sequence[int], micro_batches: int) -> Schedule:
    """Build the one in which a micro-batch ends before the next begins: none needs less memory."""
    ranks: list[list[Action]] = [[] for _ in range(max(places) + 1)]
    for i in range(micro_batches):
        for stage, rank in enumerate(places):
            ranks[rank].append(Action("F", stage, i))
        for stage, rank in reversed(list(enumerate(places))):
            ranks[rank].append(Action("B", stage, i))
    return Schedule("naive", ranks, places, micro_batches)


def score_of(done: Simulated, goal: str) -> float:
    """Return the seconds that the goal counts; less is better."""
    return done.step_time if goal == "step" else done.span


def _starts(places: tuple[int, ...], costs: Costs) -> list[Style]:
    """Return the styles to begin with: from as far ahead as 1F1B runs to three times that.

    First of all, the one in which each rank has just enough to do until its first gradient arrives.
    """
    size = max(places) + 1
    chunks = len(places) // size
    enough = _until_first_gradient(costs) if places == tuple(range(size)) else (2 * size,) * size
    styles = [Style(enough, (0.0,) * size)]
    for factor, patience in product(AHEAD, PATIENCE):
        ahead = [round(factor * chunks * (size - 1 - r)) + chunks for r in range(size)]
        if chunks > 1:  # in a V or a loop all ranks keep as much
            ahead = [max(1, round(factor * chunks * size / 2))] * size
        styles.append(Style(tuple(ahead), (patience,) * size))
    return styles


def _until_first_gradient(costs: Costs) -> tuple[int, ...]:
    """Return, for one stage a rank, how many F fit in until the first gradient has come back.

    One fewer leaves a gap before the first I. One more delays that I, and with it all ranks before.
    """
    counts, gap = [1], 0.0
    for s in reversed(range(len(costs.forward) - 1)):
        message = costs.latency[s] + costs.message_bytes[s] / costs.bandwidth[s]
        gap += costs.forward[s + 1] + costs.input_grad[s + 1] + 2 * message
        counts.insert(0, 1 + math.floor(gap / costs.forward[s] + 1e-9))
    return tuple(counts)


def _changed(style: Style, rng: random.Random) -> Style:
    """Return the same style but for one rank, or for a few."""
    ahead, patience = list(style.ahead), list(style.patience)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rank = rng.randrange(len(ahead))
        if rng.random() < 0.6:
            ahead[rank] = max(1, ahead[rank] + rng.choice((-2, -1, 1, 2)))
        else:
            patience[rank] = rng.choice(PATIENCE)
    return Style(tuple(ahead), tuple(patience))


def _judged(
    places: tuple[int, ...], m: int, costs: Costs, goal: str
) -> tuple[list[Simulated], dict[str, str]]:
    """Return the named schedules that fit, best first; why the others do not."""
    fit, too_large = [], {}
    for schedule in rivals(places, m):
        try:
            fit.append(simulate(schedule, costs))
        except OutOfMemory as error:
            too_large[schedule.name] = str(error)
    return sorted(fit, key=lambda done: score_of(done, goal)), too_large


def _checked(costs: Costs, schedule: Schedule) -> Costs:
    """Return the costs with a list in every field, if there is a schedule for them."""
    full = costs.for_schedule(schedule)
    for name in TIMES:
        for stage, value in enumerate(getattr(full, name)):
            if value <= 0:
                raise ValueError(
                    f"search: {name} of stage {stage} is {value}: give the seconds that it really "
                    "takes, above 0, or the search would put it anywhere"
                )
    limit = full.memory_limit
    for rank in range(schedule.size) if limit is not None else ():
        needed = sum(full.activation_bytes[stage] for stage in schedule.stages_of(rank))
        if needed > limit:
            raise OutOfMemory(
                f"rank {rank} keeps {bytes_text(needed)} of activations for a single micro-batch, "
                f"and the limit is {bytes_text(limit)}: no schedule fits; make the micro-batches "
                "smaller, or give each rank fewer layers"
            )
    return full


def _checked_places(places: Sequence[int], ranks: int) -> tuple[int, ...]:
    places = tuple(places)
    if sorted(set(places)) != list(range(ranks)):
        raise ValueError(
            f"search(places={list(places)}): places[stage] is the rank of a stage, and each of the "
            f"ranks 0 to {ranks - 1} must have one at least"
        )
    return places


def _row(done: Simulated, goal: str) -> tuple[str, ...]:
    return (
        done.schedule.name,
        time_text(score_of(done, goal)),
        percent(done.bubble({"step": "total", "span": "span"}[goal])),
        bytes_text(max(done.peak_memory)),
    )
