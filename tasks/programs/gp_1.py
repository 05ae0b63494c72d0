"""GP-1: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "parts overlap",
        """
        index = list(range(samples))
        random.Random(seed).shuffle(index)
        parts, begin, total = [], 0, 0.0
        for size in sizes:
            total += size
            end = round(samples * total)
            parts.append(index[begin:end])
            begin = 0
        return parts
        """,
        says="is in two parts",
    ),
)

RIGHT = {
    "a running sum": """
        index = list(range(samples))
        random.Random(seed).shuffle(index)
        parts, begin, total = [], 0, 0.0
        for size in sizes:
            total += size
            end = round(samples * total)
            parts.append(index[begin:end])
            begin = end
        return parts
        """,
}
