"""PP-4: wrong orders."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "ahead as in plain 1F1B",
        {"2 * (ranks - 1 - rank) + (chunks - 1) * ranks": "ranks - 1 - rank"},
        says="times before its first backward, and it should be",
    ),
    Program(
        "all micro-batches through a chunk",
        {
            "range(0, micro_batches, ranks)": "[0]",
            "for k in range(ranks)": "for k in range(micro_batches)",
        },
        says="a round is as many micro-batches as there are ranks",
    ),
)
