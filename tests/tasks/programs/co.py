"""Work in place of the solutions of CO: what the check must name, and what it must pass."""

from tests.tasks.planted import Program

PROGRAMS = (
    Program("CO-1", "a dictionary", "return {'parameters': 1}", says="give three numbers"),
    Program(
        "CO-1",
        "by the library",
        """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """,
    ),
    Program("CO-2", "N alone", {", budget / (6 * n)": ""}, says="give two numbers, (N, D)"),
    Program("CO-2", "half of D", {"(6 * n)": "(12 * n)"}, says="6 N D is 0.5 times the budget"),
    Program(
        "CO-2",
        "a third of N",
        {"return n, budget / (6 * n)": "return n / 3, budget / (2 * n)"},
        says="the model is too small: the loss is",
    ),
    Program(
        "CO-2",
        "on a grid",
        """
        sizes = [10 ** (k / 2000) for k in range(2000, 28000)]
        n = min(sizes, key=lambda n: law.loss(n, budget / 6 / n))
        return n, budget / 6 / n
        """,
    ),
    Program("CO-3", "memory forgotten", {"done.fits and ": ""}, says="does not fit:"),
    Program(
        "CO-3",
        "by the library",
        """
        from helpers.cluster import search

        return search(model, machine, gpus, batch)[0].layout
        """,
    ),
)
