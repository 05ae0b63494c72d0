"""What is wrong with a schedule: one sentence, and for a deadlock a picture too."""

from helpers.draw import Picture
from helpers.schedules.action import Action
from helpers.waits import Knot, Wait, picture


class BadSchedule(ValueError):
    """A schedule that cannot run. Its text is one sentence.

    rank, position, action: where, as far as it is in one place; else None. Counted from 0.
    waits: of a deadlock: what each rank waits for. knot: those that wait for each other.
    """

    def __init__(
        self,
        sentence: str,
        rank: int | None = None,
        position: int | None = None,
        action: Action | None = None,
        waits: tuple[Wait, ...] = (),
        knot: Knot | None = None,
    ):
        super().__init__(sentence)
        self.rank, self.position, self.action = rank, position, action
        self.waits, self.knot = waits, knot

    def picture(self, title: str = "", theme: str = "light") -> Picture:
        """Who waits for whom. ValueError if this is no deadlock."""
        if not self.waits:
            raise ValueError(f"there is no deadlock to draw: {self}")
        return picture(self.waits, title=title, theme=theme)


def bad_at(rank: int, position: int, action: Action, words: str) -> BadSchedule:
    """The sentence begins with the place."""
    return BadSchedule(f"rank {rank}, position {position}: {words}", rank, position, action)
