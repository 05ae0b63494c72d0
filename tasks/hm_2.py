"""HM-2: gather weights early enough, and not too many."""

import random

from helpers.grade import Task

TASK = Task(
    title="gather the next units' weights early, and free each one in time",
    file="primer/hiding/prefetch.py",
    function="Prefetch.need",
    also=("Prefetch.done",),
    lesson="hiding_messages",
    minutes=15,
    hints=(
        "Play it with four units and ahead = 1: which gathers start when unit 0 is about to "
        "compute, which when unit 1 is? Then go backward. Which unit is the last one forward, and "
        "which the first one backward?",
        "The units that should be here or on their way are n and the next `ahead` in the direction "
        "of the pass. Some numbers among them don't exist, and some units are in memory already. "
        "Keep what start() returns until that unit is needed.",
        "for k from n to n + ahead, or down to n - ahead: if it exists and isn't in_memory, "
        "arriving[k] = units[k].start(). Then, if n is in arriving, pop it and call it. done: free "
        "unit n, but forward not the last one, with which backward begins.",
    ),
)


class Noted:
    """A unit that notes what is done with it."""

    def __init__(self, number, notes):
        self.number, self.notes, self.in_memory = number, notes, False

    def start(self):
        self.notes["starts"].append(self.number)
        self.in_memory = True
        return lambda: self.notes["waits"].append(self.number)

    def free(self):
        self.notes["frees"].append(self.number)
        self.in_memory = False


def observe(module, case):
    """For each unit that computes, forward and then backward: what `need` and `done` did, and how
    many units were in memory meanwhile."""
    seen, notes = [], {}
    units = [Noted(number, notes) for number in range(case["units"])]
    prefetch = module.Prefetch(units, case["ahead"])
    order = [(n, False) for n in range(len(units))]
    for n, backward in order + [(n, True) for n, _ in reversed(order)]:
        notes.update(starts=[], waits=[], frees=[])
        prefetch.need(n, backward=backward)
        in_memory = sum(unit.in_memory for unit in units)
        prefetch.done(n, backward=backward)
        said = {"unit": n, "pass": "backward" if backward else "forward", "in memory": in_memory}
        seen.append(said | {name: list(each) for name, each in notes.items()})
    return seen


def cases(seed):
    """Draw how many units there are, for none, one and two or three ahead."""
    chosen = random.Random(seed)
    return [{"units": chosen.randint(5, 7), "ahead": n} for n in (0, 1, chosen.randint(2, 3))]


def name(case):
    return f"{case['ahead']} ahead"


RANGE = "range(n, n + step * (self.ahead + 1), step)"
FREE = "backward or n < len(self.units) - 1"
MUTANTS = {
    (RANGE, "(n,)"): "no unit is gathered before it is needed: start those of the next `ahead` "
    "units too",
    (RANGE, "(n, n + step) if self.ahead else (n,)"): "only one unit is gathered early, however "
    "large `ahead` is",
    ("(self.ahead + 1)", "(self.ahead + 2)"): "one unit more than `ahead` is gathered early: it "
    "takes memory and saves no time",
    (RANGE, "range(n, n + self.ahead + 1)"): "backward gathers the units above, which have just "
    "been used: there the next ones are n - 1, n - 2, …",
    (RANGE, "(n,) if backward else range(n, n + self.ahead + 1)"): "backward gathers nothing early",
    (
        "if n in self.arriving:\n    self.arriving.pop(n)()",
        "for k in list(self.arriving):\n    self.arriving.pop(k)()",
    ): "every gather is awaited as soon as it was started: wait for unit n only",
    (FREE, "True"): "the last unit is freed after its forward pass and gathered again at once: "
    "backward begins with it, so keep it",
    (FREE, "backward"): "no unit is freed after its forward pass: that is ZeRO-2's memory",
    (FREE, "not backward and n < len(self.units) - 1"): "no unit is freed after its backward pass",
}
