"""DP-8: methods that are too slow, or that take more time than there is."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "gradients every step",
        """
        while True:
            group.compute()
            group.all_reduce(group.gradients())
            group.update()
        """,
        says="it runs, but its loss",
    ),
    Program(
        "a longer day",
        """
        group.budget = 1000
        for _ in range(800):
            group.all_reduce([weights[-1:] for weights in group.weights()])
        """,
        says="of the clock",
    ),
)
