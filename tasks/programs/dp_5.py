"""DP-5: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "gathered into new tensors",
        {"self.whole.chunk(self.size)": "self.whole.clone().chunk(self.size)"},
        says="must write into views of self.whole",
    ),
)
