"""CO-1: wrong and right work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "one matrix of scores",
        {"+ 2 * scores": "+ scores", "+ scores + 4": "+ 4"},
        says="one of the two",
    ),
)

RIGHT = {
    "by the library": """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """,
}
