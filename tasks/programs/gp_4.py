"""GP-4: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "everything at once",
        "yield [(i, j) for i in range(num_batches) for j in range(num_partitions)]",
        says="has not done it before",
    ),
)
