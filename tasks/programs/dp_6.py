"""DP-6: wrong and right work. tests/tasks breaks each rule of the judge once."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "not gathered",
        {"\nfor unit in self.units:\n    unit.gather()": ""},
        says="the parts of the others are old",
    ),
)

RIGHT = {"backwards": {"in self.units": "in reversed(self.units)"}}
