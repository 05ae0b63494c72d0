"""CO-2: wrong and right work."""

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
}
