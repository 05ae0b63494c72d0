"""PF-2: wrong programs that the check must catch."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "one attention",
        """
        a, f, n = 4 * (width * width + width), 2 * width * hidden + hidden + width, 2 * width
        return layers * (2 * a + 2 * f + 5 * n) + 2 * n
        """,
        says="two attentions",
    ),
)
