"""CO-1: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "one matrix of scores",
        """
        matrices = 2 * h * h + 2 * h * kv + 3 * h * i
        layer = matrices + 2 * h
        parameters = model.layers * layer + h + (1 if model.tied else 2) * model.vocabulary * h + 0
        layer = matrices + 2 * h
        operations = 2 * s * matrices + 4 * s * s * h
        scores = model.heads * s
        softmax, end = 3 * h + 2 * kv + scores, 8 * h + 2 * kv + scores + 4 * i
        memory = 2 * (layer + s * softmax)
        return parameters, operations / 1e12, memory / 1e9
        """,
        says="one of the two",
    ),
)

RIGHT = {
    "by the library": """
        from helpers.cost import parameters

        return parameters(model).total, flops(model).layer / 1e12, forward_peak(model).total / 1e9
        """,
}
