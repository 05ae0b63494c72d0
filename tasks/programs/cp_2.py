"""CP-2: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the wrong way",
        {"ring.rank - step": "ring.rank + step"},
        says="the masks go around the wrong way",
    ),
    Program(
        "waits first",
        {"ring.pass_on(k, v)": "ring.pass_on(k, v)()", "arrived()": "arrived"},
        says="waits for the next keys before it has computed",
    ),
)
