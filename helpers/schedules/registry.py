"""The registry of schedules that have a name: whatever offers, tries or draws all of them reads it.

@named("1F1B", paper="2007.01045", torch="Schedule1F1B")
def one_f_one_b(stages, micro_batches): ...     SCHEDULES["1F1B"].made(4, 8) calls it
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature

from helpers.schedules.schedule import Schedule


@dataclass(frozen=True)
class Named:
    """A schedule with a name.

    build: takes the ranks, the micro-batches and, if it has several stages a rank, the `chunks`.
    paper: its number on arXiv, "" if none is known. torch: the class of
        torch.distributed.pipelining that has the same order, action by action; "" if none has.
    """

    name: str
    build: Callable[..., Schedule]
    paper: str = ""
    torch: str = ""

    @property
    def chunked(self) -> bool:
        """Whether the number of a rank's stages is for the caller to choose."""
        return "chunks" in signature(self.build).parameters

    def made(self, ranks: int, micro_batches: int, chunks: int = 2) -> Schedule:
        """Return the schedule. `chunks` counts only where it is for the caller to choose.

        Raises:
            ValueError: if a size isn't a whole number above 0.
        """
        return self.build(ranks, micro_batches, *[chunks] * self.chunked)


SCHEDULES: dict[str, Named] = {}  # by name, in the order in which the course meets them


def named(name: str, paper: str = "", torch: str = "") -> Callable:
    """Return a decorator that adds a builder to `SCHEDULES`; the arguments are those of `Named`."""

    def add(build: Callable[..., Schedule]) -> Callable[..., Schedule]:
        SCHEDULES[name] = Named(name, build, paper, torch)
        return build

    return add
