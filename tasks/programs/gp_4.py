"""GP-4: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "everything at once",
        "yield [(i, j) for i in range(num_batches) for j in range(num_partitions)]",
        says="has not done it before",
    ),
)

RIGHT = {
    "by micro-batch": """
        for k in range(num_batches + num_partitions - 1):
            first, last = max(0, k - num_partitions + 1), min(k, num_batches - 1)
            yield [(i, k - i) for i in range(first, last + 1)]
        """,
}
