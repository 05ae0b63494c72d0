"""What the puzzle tasks share: play a tape again, and compare what it took with what is enough."""

from math import inf

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


def star(enough):
    """Return what a pass says: a star for work that needs less memory than the published one."""

    def passed(cases, seen):
        found = tapes.outcome_of(seen[0], cases[0], SECONDS)
        _, memory = enough(*tapes.sizes(cases[0]))
        if found.memory >= memory:
            return f"{found.memory:,.0f} elements, the target; a star is for less"
        below = f"{100 * (1 - found.memory / memory):.0f} % below the target"
        return f"a star: {found.memory:,.0f} elements, {below}"

    return passed


def judge(enough, slow, large):
    """Return agrees and explain of a task.

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

    return lambda case, seen: explain(case, seen) is None, explain
