"""EP-2: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "a mean over the replicas",
        {"get_world_size()": "get_world_size(replicas if is_expert(name) else None)"},
        says="divided by its 2 replicas",
    ),
)
