"""CO-2: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "20 tokens a parameter",
        "n = (budget / 120) ** 0.5; return n, 20 * n",
        says="D is 20 N: a rule of thumb",
    ),
)

RIGHT = {
    "on a grid": """
        sizes = [10 ** (k / 2000) for k in range(2000, 28000)]
        n = min(sizes, key=lambda n: law.loss(n, budget / 6 / n))
        return n, budget / 6 / n
        """,
    "by the library": "best = law.best(budget); return best.parameters, best.tokens",
}
