"""What the puzzles share: run a step on the simulated cluster, and judge what it took.

Many steps are right, so there is no mutant: a task says what time and memory are enough.
"""

import importlib
import random
import sys
from dataclasses import asdict
from math import inf
from types import SimpleNamespace

from helpers.check import Score
from helpers.check.task import ROOT


def library():
    """Import lib, utils and the cluster of this repository, whatever else has these names.

    Their folder doesn't stay on the path, so no step can import the one that lies beside them.
    """
    sys.path.insert(0, str(ROOT / "puzzles"))
    try:
        return [importlib.import_module(name) for name in ("lib", "utils", "cluster")]
    finally:
        sys.path.remove(str(ROOT / "puzzles"))


_, utils, cluster = library()  # before the work, which imports from it


def sizes(case):
    return case["ranks"], case["layers"], case["samples"]


def outcome_of(seen):
    """Return what an observed step took. Raises PuzzleError, with the sentence, if it's refused."""
    if "error" in seen:
        raise cluster.PuzzleError(seen["error"])
    return cluster.Outcome(**seen["took"])


def case(ranks, layers, samples, *more, profile="steps"):
    """A cluster to run on. more: further arguments of the step, a micro-batch."""
    name = f"{ranks} rank{'s' * (ranks > 1)}, {layers} layers, {samples} samples"
    name += f", micro-batches of {more[0]}" if more else ""
    facts = {"ranks": ranks, "layers": layers, "samples": samples, "more": more}
    return facts | {"profile": profile, "name": name}


def drawn(lab, draw):
    """Return `cases`: the lab's cluster, and one that `draw` makes."""
    return lambda: [case(*lab), case(*draw())]


def alone():
    return 1, random.randint(3, 6), random.randint(2, 7)


def one_sample_each():
    ranks = random.randint(3, 7)
    return ranks, random.randint(3, 6), ranks


def stages():
    """Equally many layers on each rank."""
    ranks = random.randint(3, 7)
    return ranks, ranks * random.randint(1, 3), random.randint(4, 7)


def listed(*clusters, profile="classic"):
    return lambda: [case(*each, profile=profile) for each in clusters]


def puzzle(function, minutes, title, hints, cases, enough, slow, large, *,
           page="", star=False, seconds=60.0):  # fmt: skip
    """Return a task.

    enough: the time and the memory that are enough, by (ranks, layers, samples): a function, or a
    table; what isn't in it has no limit. slow, large: what to think of where it takes more. star:
    whether less memory than the published is a score.
    """
    limits = enough if callable(enough) else lambda *at: enough.get(at, (inf, inf))

    def limited():
        return [each | {"enough": limits(*sizes(each))} for each in cases()]

    def observe(module, case):
        """{"took": what the step took} or {"error": why the cluster refused it}."""
        step = getattr(module, function)
        try:
            models = cluster.run(step, *sizes(case), *case["more"], profile=case["profile"])
            return {"took": asdict(cluster.outcome(models))}
        except cluster.PuzzleError as error:
            place = utils.line_of(error)
            return {"error": f"{error} (at {place})" if place else str(error)}

    def explain(case, seen):
        try:
            found = outcome_of(seen)
        except cluster.PuzzleError as error:
            return str(error)
        time, memory = case["enough"]
        if found.time > time * (1 + 1e-9):
            return f"it takes {found.time:.6g} {found.unit}, and {time:.6g} are enough: {slow}"
        if found.memory > memory * (1 + 1e-9):
            return (
                f"rank {found.rank} holds {found.memory:,.0f} {found.memory_unit}, and "
                f"{memory:,.0f} are enough: {large}"
            )

    def passed(cases, seen):
        memory, target = outcome_of(seen[0]).memory, cases[0]["enough"][1]
        words = f"{memory:,.0f} elements, the target; a star is for less"
        if memory < target:
            below = f"{100 * (1 - memory / target):.0f} % below the target"
            words = f"a star: {memory:,.0f} elements, {below}"
        return Score(words, round(memory))

    return SimpleNamespace(
        LESSON="training_puzzles", MINUTES=minutes, TITLE=title, HINTS=hints, PAGE=page,
        SECONDS=seconds, cases=limited, observe=observe, explain=explain,
        **({"passed": passed} if star else {}),
    )  # fmt: skip
