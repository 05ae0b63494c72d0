"""GP-5: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "all see the last",  # as a lambda in the loop does
        {
            "for i, j in schedule:\n    self.in_queues[j]": (
                "i, j = schedule[-1]\nfor _, part in schedule:\n    self.in_queues[part]"
            )
        },
        says="let each task keep its own i and j",
    ),
)
