"""CO-2: the best model and the best amount of text for a budget."""

from helpers.cost import ScalingLaw
from helpers.grade import Task

TASK = Task(
    id="CO-2",
    title="find the best N and D for a budget",
    file="TP/model_training_cost_analysis.py",
    function="get_optimal_N_D",
    notebook="15",
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


def run(module, case):
    """What the work takes for the best (N, D).

    case: {"budget": FLOPs, "law": the constants of a law, or None for the default}.
    """
    law = () if case["law"] is None else (ScalingLaw(**case["law"]),)
    answer = module.get_optimal_N_D(case["budget"], *law)
    return answer if isinstance(answer, tuple | list) else repr(answer)[:60]
