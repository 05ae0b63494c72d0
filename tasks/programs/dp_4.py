"""DP-4: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "only one leaves",
        {"while": "if"},
        says="one complete gradient may set several free",
    ),
    Program(
        "leaves too early",
        {"while": "if", " and self.buckets[self.next].left == 0": ""},
        says="before the gradient of",
    ),
)
