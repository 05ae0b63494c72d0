"""One tensor under two names: its gradient is the sum over its uses, once."""

from helpers.oracle.align import copies
from helpers.oracle.case import Case
from helpers.oracle.compare import common_factor, same


def tied_not_added(case: Case) -> str | None:
    """Copies of one tensor, each with the gradient of its own use."""
    for name, names in case.expected.ties.items():
        for rank, step in enumerate(case.raw):
            held = copies(case.expected, name, step.gradients)
            right = case.expected.gradients.get(name)
            if right is None or len(held) < 2 or name not in case.wrong_names:
                continue
            if same({name: right}, {name: sum(held)}, case.tolerance):
                return (
                    f"the tied parameter {' = '.join(names)} has {len(held)} "
                    f"gradients{case.on(rank)} that were never added: it is one tensor, so add the "
                    "gradients of all its copies, and give every copy the sum, before the step"
                )
    if case.wrong_names and case.wrong_names <= set(case.expected.ties) and not tied_twice(case):
        name = sorted(case.wrong_names)[0]
        return (
            f"only the tied parameter {' = '.join(case.expected.ties[name])} is wrong: each of its "
            "uses gives a gradient, and all of them must be added, once, before the step"
        )
    return None


def tied_twice(case: Case) -> str | None:
    names = case.wrong_names
    if not names or not names <= set(case.expected.ties):
        return None
    right = {name: case.expected.gradients[name] for name in names}
    factors = [common_factor(right, {n: g.get(n) for n in names}) for g in case.gradients]
    if any(factor is None or abs(factor - 2) > 1e-4 for factor in factors):
        return None
    tied = " = ".join(case.expected.ties[sorted(names)[0]])
    return (
        f"the tied parameter {tied} counts twice: it is one tensor with two names, so take "
        "model.parameters(), which gives it once, or add its gradients once only"
    )
