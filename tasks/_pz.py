"""What the puzzle tasks share: run a step on the simulated cluster, and judge what it took.

Many steps are right, so there is no mutant: a task says what time and memory are enough, and
`judge` makes its `explain` of it.
"""

import importlib
import random
import sys
from dataclasses import asdict
from math import inf

from helpers.grade.task import ROOT
from helpers.grade.verdict import Score

ELEMENTS = 512 * 512  # of a layer, in the profile "steps"


def library():
    """Import lib, utils and the cluster of this repository, whatever else has these names.

    Their folder doesn't stay on the path, so no step can import the one that lies beside them.
    """
    sys.path.insert(0, str(ROOT / "puzzles"))
    try:
        for name in ("lib", "utils"):
            importlib.import_module(name)
        return importlib.import_module("cluster")
    finally:
        sys.path.remove(str(ROOT / "puzzles"))


cluster = library()  # before the work, which imports from it


def observing(function):
    """Return `observe` of the task whose step has this name."""

    def observe(module, case):
        """{"took": what the step took} or {"error": why the cluster refused it}."""
        step = getattr(module, function)
        try:
            models = cluster.run(step, *sizes(case), *case["more"], profile=case["profile"])
            return {"took": asdict(cluster.outcome(models))}
        except cluster.PuzzleError as error:
            place = sys.modules["utils"].line_of(error)
            return {"error": f"{error} (at {place})" if place else str(error)}

    return observe


def sizes(case):
    return case["ranks"], case["layers"], case["samples"]


def case(ranks, layers, samples, *more, profile="steps"):
    """A cluster to run on. more: further arguments of the step, a micro-batch."""
    return {"ranks": ranks, "layers": layers, "samples": samples, "more": more, "profile": profile}


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


def outcome_of(seen):
    """Return what an observed step took. Raises PuzzleError, with the sentence, if it's refused."""
    if "error" in seen:
        raise cluster.PuzzleError(seen["error"])
    return cluster.Outcome(**seen["took"])


def star(enough):
    """Return the score of a pass: a star for work that needs less memory than the published one."""

    def passed(cases, seen):
        found = outcome_of(seen[0])
        _, memory = enough(*sizes(cases[0]))
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
            found = outcome_of(seen)
        except cluster.PuzzleError as error:
            return str(error)
        time, memory = enough(*sizes(case)) or (inf, inf)
        if found.time > time * (1 + 1e-9):
            return f"it takes {found.time:.6g} {found.unit}, and {time:.6g} are enough: {slow}"
        if found.memory > memory * (1 + 1e-9):
            return (
                f"rank {found.rank} holds {found.memory:,.0f} {found.memory_unit}, and "
                f"{memory:,.0f} are enough: {large}"
            )
        return None

    return explain
