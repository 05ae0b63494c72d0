"""What the puzzle tasks share: play a tape again, and compare what it took with what is enough."""

import random
from math import inf

from helpers.grade.verdict import Score
from tasks._pz import tapes

ELEMENTS = 512 * 512  # of a layer, in the profile "steps"
SECONDS = 60.0  # to play one tape


def case(ranks, layers, samples, *more, profile="steps"):
    """A cluster to run on. more: further arguments of the step, a micro-batch."""
    return {
        "ranks": ranks,
        "layers": layers,
        "samples": samples,
        "more": more,
        "profile": profile,
    }


def name(case):
    micro = f", micro-batches of {case['more'][0]}" if case["more"] else ""
    ranks = f"{case['ranks']} rank{'s' * (case['ranks'] > 1)}"
    return f"{ranks}, {case['layers']} layers, {case['samples']} samples{micro}"


def cases(lab, drawn):
    """Return `cases` of a task: the lab's cluster, and one that `drawn` makes of a generator."""
    return lambda seed: [case(*lab), case(*drawn(random.Random(seed)))]


def alone(draw):
    return 1, draw.randint(3, 6), draw.randint(2, 7)


def one_sample_each(draw):
    ranks = draw.randint(3, 7)
    return ranks, draw.randint(3, 6), ranks


def stages(draw):
    """Equally many layers on each rank."""
    ranks = draw.randint(3, 7)
    return ranks, ranks * draw.randint(1, 3), draw.randint(4, 7)


def listed(table, profile="classic"):
    """Return `cases` and `enough` of {(ranks, layers, samples[, micro-batch]): (time, memory)}."""
    enough = {sizes[:3]: both for sizes, both in table.items()}
    return (
        lambda seed: [case(*sizes, profile=profile) for sizes in table],
        lambda *sizes: enough[sizes],
    )


def star(enough):
    """Return the score of a pass: a star for work that needs less memory than the published one."""

    def passed(cases, seen):
        found = tapes.outcome_of(seen[0], cases[0], SECONDS)
        _, memory = enough(*tapes.sizes(cases[0]))
        words = f"{found.memory:,.0f} elements, the target; a star is for less"
        if found.memory < memory:
            below = f"{100 * (1 - found.memory / memory):.0f} % below the target"
            words = f"a star: {found.memory:,.0f} elements, {below}"
        return Score(words, round(found.memory), "elements", best="lowest")

    return passed


def judge(enough, slow, large):
    """Return explain of a task.

    enough: the time and the memory that are enough, a function of ranks, layers and samples; None
    where any is. slow, large: what to think of where it takes more.
    """

    def explain(case, seen):
        try:
            found = tapes.outcome_of(seen, case, SECONDS)
        except tapes.PuzzleError as error:
            return str(error)
        time, memory = enough(*tapes.sizes(case)) or (inf, inf)
        if found.time > time * (1 + 1e-9):
            return f"it takes {found.time:.6g} {found.unit}, and {time:.6g} are enough: {slow}"
        if found.memory > memory * (1 + 1e-9):
            return (
                f"rank {found.rank} holds {found.memory:,.0f} {found.memory_unit}, and "
                f"{memory:,.0f} are enough: {large}"
            )
        return None

    return explain
