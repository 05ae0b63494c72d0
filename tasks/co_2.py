"""CO-2: the best model and the best amount of text for a budget."""

import math
import random

from helpers.cost import ScalingLaw
from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="CO-2",
    title="find the best N and D for a budget",
    file="TP/model_training_cost_analysis.py",
    function="get_optimal_N_D",
    notebook="12",
    points=15,
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

NEAR = 2e-3


def cases(seed):
    """The exercise itself, and two budgets with laws of other constants."""
    draw = random.Random(seed)
    drawn = []
    for _ in range(2):
        numbers = [
            draw.uniform(100, 900),
            draw.uniform(0.25, 0.5),
            draw.uniform(300, 2500),
            draw.uniform(0.2, 0.45),
        ]
        drawn.append((10 ** draw.uniform(18, 25), ScalingLaw(*numbers, draw.uniform(0.5, 2))))
    return [(1.23e22, ScalingLaw()), *drawn]


def work(module, seed):
    """On one rank, beside the student's code: its answer for each case."""
    default = module.get_optimal_N_D(cases(seed)[0][0])
    return [default, *(module.get_optimal_N_D(*case) for case in cases(seed)[1:])]


def verify(submission: Submission) -> None:
    """Compare with the closed form. Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for (budget, law), answer in zip(cases(submission.seed), answers, strict=True):
        judge(budget, law, answer)


def judge(budget, law, answer):
    """Raises Mistake, which names the mistake where it is a known one."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Mistake(f"give two numbers, (N, D), and not {answer!r}")
    n, d = answer
    if not all(isinstance(x, int | float) and x > 0 for x in answer):
        raise Mistake(f"N and D are numbers above 0, and not {answer!r}")
    best = law.best(budget)
    where = f"budget {budget:.3g}, law {law.a:.4g}/N^{law.alpha:.3g} + {law.b:.4g}/D^{law.beta:.3g}"
    if near(n, best.tokens) and near(d, best.parameters) and not near(n, d):
        raise Mistake(f"N and D are in the wrong order: parameters first, then tokens ({where})")
    if near(n * d, budget):
        raise Mistake(f"N D is the budget, and 6 N D must be: two forward, four backward ({where})")
    if not near(6 * n * d, budget):
        raise Mistake(f"6 N D is {6 * n * d / budget:.3g} times the budget ({where})")
    if near(n, best.parameters):
        return
    if near(d / n, 20):
        raise Mistake(
            f"D is 20 N: a rule of thumb that does not follow from this law, where D is "
            f"{best.tokens_per_parameter:.3g} N ({where})"
        )
    if near(n, d):
        raise Mistake(f"N and D are alike: the law weighs them differently ({where})")
    for wrong, sentence in known(budget, law).items():
        if near(n, wrong):
            raise Mistake(f"{sentence} ({where})")
    side = "too large" if n > best.parameters else "too small"
    raise Mistake(
        f"the model is {side}: the loss is {law.loss(n, d):.4f}, and {best.loss:.4f} is possible "
        f"({where})"
    )


def near(a, b):
    return math.isclose(a, b, rel_tol=NEAR)


def known(budget, law):
    """{wrong N: what was done}."""
    root, product = 1 / (law.alpha + law.beta), budget / 6
    forgot = (law.a / law.b) ** root * product ** (law.beta * root)
    swapped = (law.alpha * law.a / (law.beta * law.b)) ** root * product ** (law.alpha * root)
    other = ScalingLaw().best(budget).parameters
    return {
        forgot: "the exponents come in front when one takes the derivative: alpha a / N^alpha = "
        "beta b / D^beta",
        swapped: "N grows with budget^(beta / (alpha + beta)): alpha and beta are exchanged",
        other: "the constants are those of the default law: take them from `law`",
    }
