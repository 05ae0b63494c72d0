"""Work in place of the solutions of CO: what the check must name, and what it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "CO-1",
        "one matrix of scores",
        {"+ 2 * scores": "+ scores", "+ scores + 4": "+ 4"},
        says="one of the two",
    ),
    Program(
        "CO-1",
        "by the library",
        """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """,
    ),
    Program(
        "CO-2",
        "20 tokens a parameter",
        "n = (budget / 120) ** 0.5; return n, 20 * n",
        says="D is 20 N: a rule of thumb",
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
