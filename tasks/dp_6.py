"""DP-6: take a step in which each rank updates its own part.

Only who is asked, and when, is looked at.
"""

import random

HINTS = (
    "Each unit of the model can average its gradients, so that this rank has its part, and can "
    "gather its weights from all ranks. Where does the optimizer's step belong?",
    "One loop over self.units that averages each; then one call of the optimizer's step, which "
    "knows the parts of all units; then one more loop that gathers each.",
)
LESSON, MINUTES = "sharding", 10


class Asked:
    """A unit, or the optimizer, that only notes what it is asked for."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def __getattr__(self, call):
        return lambda: self.log.append((call, self.name))


def observe(module, case):
    log, trainer = [], module.Zero1.__new__(module.Zero1)
    trainer.units = [Asked(number, log) for number in range(case)]
    trainer.optimizer = Asked("optimizer", log)
    trainer.step()
    return log


def cases():
    return [random.randint(3, 5)]


def explain(case, seen):
    seen = [tuple(call) for call in seen if call[0] in ("average", "step", "gather")]
    calls, updates = [call for call, _ in seen], seen.count(("step", "optimizer"))
    if not updates:
        return "the weights don't change: the optimizer must take its step"
    if updates > 1:
        loop = "is called in a loop over the units"
        how = loop if updates == case else f"updates {updates} times"
        return f"the optimizer {how}: it knows the parts of all units, so call it once a step"
    if "average" not in calls:
        return "no unit averages its gradients: call unit.average() for each"
    if "gather" not in calls:
        return (
            "this rank has its own part updated, and the parts of the others are old: call "
            "unit.gather() for each unit"
        )
    for call in ("average", "gather"):
        for unit in range(case):
            if (call, unit) not in seen:
                which = {0: "first", case - 1: "last"}.get(unit, f"{unit + 1}th")
                return f"the {which} unit is left out: it is never asked to {call}()"
    if len(calls) > 2 * case + 1:
        return "a unit is asked twice where once is enough"
    if "average" in calls[calls.index("step") :]:
        return "the optimizer takes its step before all gradients are averaged"
    if "gather" in calls[: calls.index("step")]:
        return "weights are gathered before the optimizer has updated them"
