"""Wrong ways to do DP-5, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

MISTAKES = (
    PlantedMistake(
        "not averaged",
        """
        self.optimizer.step()
        for unit in self.units:
            unit.gather()
        """,
        says="no unit averages its gradients",
    ),
    PlantedMistake(
        "not gathered",
        """
        for unit in self.units:
            unit.average()
        self.optimizer.step()
        """,
        says="the parts of the others are old",
    ),
    PlantedMistake(
        "no step",
        """
        for unit in self.units:
            unit.average()
            unit.gather()
        """,
        says="does the optimizer take its step, and",
    ),
    PlantedMistake(
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
    PlantedMistake(
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

ALSO_RIGHT = {
    "backwards": """
        for each in reversed(self.units):
            each.average()
        self.optimizer.step()
        for each in reversed(self.units):
            each.gather()
        """,
}
