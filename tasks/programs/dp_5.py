"""Programs for DP-5: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "not gathered",
        """
        for unit in self.units:
            unit.average()
        self.optimizer.step()
        """,
        says="the parts of the others are old",
    ),
    Program(
        "the step first",
        """
        self.optimizer.step()
        for unit in self.units:
            unit.average()
        for unit in self.units:
            unit.gather()
        """,
        says="and after the gradients have been averaged?",
    ),
    Program(
        "one unit left out",
        """
        for unit in self.units[1:]:
            unit.average()
        self.optimizer.step()
        for unit in self.units:
            unit.gather()
        """,
        says="a unit is left out",
    ),
)

RIGHT = {
    "backwards": """
        for each in reversed(self.units):
            each.average()
        self.optimizer.step()
        for each in reversed(self.units):
            each.gather()
        """,
}
