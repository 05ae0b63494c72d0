"""CO-2: the best (N, D) for a budget, in closed form; and with one step of the way done wrong."""

import math
import random

from helpers.cost import ScalingLaw
from helpers.grade.verify import same

TOLERANCE = 2e-3


def cases(seed):
    """The exercise itself, and two budgets with laws of other constants."""
    draw = random.Random(seed)
    return [{"budget": 1.23e22, "law": None}, _drawn(draw), _drawn(draw)]


def _drawn(draw):
    """A budget and a law whose best model somebody could build, so that a grid search finds it."""
    while True:
        case = {
            "budget": 10 ** draw.uniform(18, 25),
            "law": {
                "a": draw.uniform(100, 900),
                "alpha": draw.uniform(0.25, 0.5),
                "b": draw.uniform(300, 2500),
                "beta": draw.uniform(0.2, 0.45),
                "floor": draw.uniform(0.5, 2),
            },
        }
        if all(1e6 < x < 1e14 for x in truth(case)):
            return case


def law_of(case):
    return ScalingLaw(**(case["law"] or {}))


def name(case):
    law = law_of(case)
    return (
        f"budget {case['budget']:.3g}, law {law.a:.4g}/N^{law.alpha:.3g} + "
        f"{law.b:.4g}/D^{law.beta:.3g}"
    )


def truth(case, law=None, derived=True, exchanged=False, multiple=6, split=None):
    """[N, D]. split: D / N, where it doesn't come from the law. Another keyword is a mistake."""
    law = law or law_of(case)
    product = case["budget"] / multiple
    if split:
        return [(product / split) ** 0.5, (product * split) ** 0.5]
    ratio = law.a / law.b * (law.alpha / law.beta if derived else 1)
    power = law.alpha if exchanged else law.beta
    n = (ratio * product**power) ** (1 / (law.alpha + law.beta))
    return [n, product / n]


MISTAKES = {
    "N and D are in the wrong order: parameters first, then tokens": lambda c: truth(c)[::-1],
    "N D is the budget, and 6 N D must be: two forward, four backward": {"multiple": 1},
    "D is 20 N: a rule of thumb that does not follow from this law": {"split": 20},
    "N and D are alike: the law weighs them differently": {"split": 1},
    "the exponents come in front when one takes the derivative: alpha a / N^alpha = beta b / "
    "D^beta": {"derived": False},
    "N grows with budget^(beta / (alpha + beta)): alpha and beta are exchanged": {
        "exchanged": True
    },
    "the constants are those of the default law: take them from `law`": {"law": ScalingLaw()},
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    if not isinstance(seen, list | tuple) or len(seen) != 2:
        return f"give two numbers, (N, D), and not {seen}"
    if not all(isinstance(x, int | float) and 0 < x < math.inf for x in seen):
        return f"N and D are numbers above 0, and not {seen}"
    n, d = seen
    budget, law, best = case["budget"], law_of(case), truth(case)
    if not same(float(budget), 6 * n * d, TOLERANCE):
        return f"6 N D is {6 * n * d / budget:.3g} times the budget"
    side = "too large" if n > best[0] else "too small"
    return (
        f"the model is {side}: the loss is {law.loss(n, d):.4f}, and {law.loss(*best):.4f} is "
        "possible"
    )
