"""CO-2: the best model and the best amount of text for a budget."""

import math
import random

from helpers.cost import ScalingLaw
from helpers.grade import Task
from helpers.grade.verify import same

TASK = Task(
    title="find the best N and D for a budget",
    file="TP/model_training_cost_analysis.py",
    function="get_optimal_N_D",
    lesson="what_training_costs",
    minutes=30,
    hints=(
        "6 N D = budget leaves one unknown: D = budget / (6 N). Put it into the law. Now the loss "
        "is a function of N alone, large on the left and on the right. Where is its lowest point?",
        "Set the derivative to zero: alpha a / N^alpha = beta b / D^beta. In words: one percent "
        "more parameters gains as much as one percent more tokens. Put D = budget / (6 N) in.",
        "N^(alpha + beta) = alpha a / (beta b) x (budget / 6)^beta. Take the root, then "
        "D = budget / (6 N). (Trying many N on a fine logarithmic grid is right too, if it is "
        "fine enough: 0.1 %.)",
    ),
)


def observe(module, case):
    """Return what the work takes for the best (N, D).

    case: {"budget": FLOPs, "law": the constants of a law, or None for the default}.
    """
    law = () if case["law"] is None else (ScalingLaw(**case["law"]),)
    answer = module.get_optimal_N_D(case["budget"], *law)
    if isinstance(answer, tuple | list) and len(answer) == 2:
        return {"N": answer[0], "D": answer[1]}
    return repr(answer)[:60]


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
        best = law_of(case).best(case["budget"])
        if all(1e6 < x < 1e14 for x in (best.parameters, best.tokens)):
            return case


def law_of(case):
    return ScalingLaw(**(case["law"] or {}))


def name(case):
    law = law_of(case)
    return (
        f"budget {case['budget']:.3g}, law {law.a:.4g}/N^{law.alpha:.3g} + "
        f"{law.b:.4g}/D^{law.beta:.3g}"
    )


MUTANTS = {
    ("return n, budget / (6 * n)", "return budget / (6 * n), n"): "N and D are in the wrong order: "
    "parameters first, then tokens",
    (("(budget / 6)", "budget"), ("budget / (6 * n)", "budget / n")): "N D is the budget, and 6 N "
    "D must be: two forward, four backward",
    "n = (budget / 120) ** 0.5\nreturn n, 20 * n": "D is 20 N: a rule of thumb that does not "
    "follow from this law",
    "return (budget / 6) ** 0.5, (budget / 6) ** 0.5": "N and D are alike: the law weighs them "
    "differently",
    ("law.alpha * law.a / (law.beta * law.b)", "law.a / law.b"): "the exponents come in front when "
    "one takes the derivative: alpha a / N^alpha = beta b / D^beta",
    ("** law.beta)", "** law.alpha)"): "N grows with budget^(beta / (alpha + beta)): alpha and "
    "beta are exchanged",
    ("ratio =", "law = EXERCISE\nratio ="): "the constants are those of the default law: take them "
    "from `law`",
}


def explain(case, seen):
    """Say what the budget and the law make of it, where it is none of the known mistakes."""
    if not isinstance(seen, dict):
        return f"give two numbers, (N, D), and not {seen}"
    n, d = seen["N"], seen["D"]
    if not all(isinstance(x, int | float) and 0 < x < math.inf for x in (n, d)):
        return f"N and D are numbers above 0, and not {n} and {d}"
    budget, law = case["budget"], law_of(case)
    best = law.best(budget)
    if not same(float(budget), 6 * n * d, TOLERANCE):
        return f"6 N D is {6 * n * d / budget:.3g} times the budget"
    side = "too large" if n > best.parameters else "too small"
    return f"the model is {side}: the loss is {law.loss(n, d):.4f}, and {best.loss:.4f} is possible"
