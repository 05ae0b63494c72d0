"""Programs for DP-6: wrong ones, most of which train without a sign of it, and a right one."""

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
        says="before all gradients are averaged",
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
        says="unit 0 of",
    ),
    Program(
        "gathered too early",
        """
        for unit in self.units:
            unit.average()
            unit.gather()
        self.optimizer.step()
        """,
        says="before the optimizer has updated them",
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
