"""GP-6: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the other way round",
        """
        pieces = split(x, self.split_size)
        for now in _clock_cycles(len(pieces), len(self.devices)):
            self.compute(pieces, now)
        return join(pieces[::-1])
        """,
        says="in the order they came in",
    ),
)

RIGHT = {
    "other names": """
        pieces = split(x, self.split_size)
        for now in _clock_cycles(len(pieces), len(self.devices)):
            self.compute(pieces, now)
        return join(pieces)
        """,
}
