"""DP-7: who computes must have its weights, and nobody else may; the log shows both."""

from helpers.grade.verify import same
from tasks.truth import dp_6

STEPS = dp_6.STEPS


def cases(seed):
    (case,) = dp_6.cases(seed)
    return [case, case | {"tied": True}]


def name(case):
    return "the last layer shares the weights of the first" if case["tied"] else ""


def explain(case, seen):
    log, units = [tuple(event) for event in seen["log"]], len(case["layers"])
    sentence = _computes(case, log, units) or _afterwards(log, units)
    if sentence:
        return sentence
    return (
        None if same(dp_6.right(case), seen["weights"]) else "the weights are not those of ZeRO-2"
    )


def _computes(case, log, units):
    """Say what is wrong with the weights that are there while a unit computes."""
    whole = set()
    for kind, unit, *there in log:
        if kind == "gather":
            if unit in whole:
                return f"unit {unit} is gathered although it is whole: ask shards.is_whole first"
            whole.add(unit)
        elif kind == "free":
            whole.discard(unit)
        elif kind in ("forward", "backward"):
            if not there[0]:
                return f"unit {unit} computes {kind} without its weights: gather before it"
            if others := whole - {unit} - ({0} if case["tied"] else set()):
                return (
                    f"while unit {unit} computes {kind}, unit {min(others)} still has its weights: "
                    + (
                        "free after forward"
                        if kind == "forward" or ("backward", min(others), True) not in log
                        else "free when its gradients are complete"
                    )
                )
        elif kind == "end of backward" and whole:
            return (
                f"after backward unit {min(whole)} still has its weights: free when its gradients "
                "are complete"
            )
    return None


def _afterwards(log, units):
    """Say what is wrong with how often each unit is averaged and gathered."""
    first = log[: log.index(("end of backward", None))]
    for unit in range(units):
        averaged, gathered = (first.count((kind, unit)) for kind in ("average", "gather"))
        shared = sum(event[:2] == ("forward", unit) for event in first) > 1
        if averaged != 1:
            return (
                f"unit {unit} is averaged {averaged} times in a backward: ZeRO-2's complete() does "
                "it, once, so call super().complete(p)"
            )
        if shared and gathered > 1:
            return (
                f"unit {unit} has two modules and is freed between them: its weights stay from the "
                "first forward until its gradients are complete"
            )
        if gathered > 2:
            return f"unit {unit} is gathered more than twice in a step"
    return None
