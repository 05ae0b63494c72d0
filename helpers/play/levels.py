"""The levels, from one micro-batch to a backward in two halves, and the plans that reach par."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property

from helpers.schedules import Schedule
from helpers.search import rivals
from helpers.simulate import Costs, OutOfMemory, simulate


@dataclass(frozen=True)
class Level:
    """What there is to solve.

    goal, hint: sentences. places: places[stage] is its rank. kinds: the letters to place.
    forward, half: seconds of F, and of I as of W; B takes I + W. latency: seconds of a message.
    cap: how many micro-batches of a stage a rank has room for. par: the best known seconds of a
    step, which win.
    """

    id: str
    title: str
    goal: str
    hint: str
    places: tuple[int, ...]
    micro_batches: int
    par: float
    kinds: str = "FB"
    forward: float = 1.0
    half: float = 1.0
    latency: float = 0.0
    cap: int | None = None

    def costs(self) -> Costs:
        """Return the costs; a micro-batch of a stage is one byte, so `cap` is a limit in bytes."""
        times, limit = (self.forward, self.half, self.half), self.cap
        return Costs(*times, latency=self.latency, activation_bytes=1.0, memory_limit=limit)

    @cached_property
    def best(self) -> Schedule:
        """Return the best of the named schedules that are legal here."""
        found = []
        for plan in rivals(self.places, self.micro_batches):
            if {action.kind for order in plan.ranks for action in order} == set(self.kinds):
                with suppress(OutOfMemory):
                    step = simulate(plan, self.costs()).step_time
                    found.append((step, len(found), plan))
        return min(found)[-1]

    def as_data(self) -> dict:
        """Return the level as the page reads it, with par's plan."""
        return asdict(self) | {"known": [list(map(str, order)) for order in self.best.ranks]}


LEVELS = (
    Level(
        "one",
        "One micro-batch",
        "Send one micro-batch through four stages and back.",
        "A stage needs what the stage before it computed, and on the way back the gradient of the "
        "stage after it. So there's only one order, and three ranks always wait.",
        places=(0, 1, 2, 3),
        micro_batches=1,
        half=0.5,
        par=8.0,
    ),
    Level(
        "gpipe",
        "Four micro-batches",
        "Finish four micro-batches in 14 s. One after the other they'd take 32 s.",
        "Rank 0 doesn't have to wait for the first micro-batch to come back: let it go on with the "
        "next forward at once. All forwards, then all backwards, is called GPipe.",
        places=(0, 1, 2, 3),
        micro_batches=4,
        half=0.5,
        par=14.0,
    ),
    Level(
        "cap",
        "Not enough room",
        "Six micro-batches in 16 s, and a rank has room for three of them only.",
        "A backward frees what its forward took. So as soon as a backward is ready, do it, and "
        "only then take the next forward. This order is called 1F1B.",
        places=(0, 1, 2),
        micro_batches=6,
        cap=3,
        half=0.5,
        par=16.0,
    ),
    Level(
        "chunks",
        "Two chunks a rank",
        "Three ranks hold two stages each, in a loop: three micro-batches in 24 s, not in 30.",
        "Send all three micro-batches through the first chunk of each rank, then through the "
        "second. On the way back the second chunk comes first.",
        places=(0, 1, 2, 0, 1, 2),
        micro_batches=3,
        par=24.0,
    ),
    Level(
        "slow",
        "Slow messages",
        "A message takes 1 s, and a rank has room for five: six micro-batches in 28 s.",
        "1F1B keeps just enough micro-batches to be busy where messages are free. Let the first "
        "ranks run further ahead: room to run ahead buys tolerance of latency.",
        places=(0, 1, 2),
        micro_batches=6,
        latency=1.0,
        cap=5,
        par=28.0,
    ),
    Level(
        "h1",
        "Backward in two halves",
        "B is cut into I, which the rank before waits for, and W, which nobody waits for. Six "
        "micro-batches, room for three: 20 s, where 1F1B takes 24 s.",
        "Do I as soon as you can, because another rank waits for it. Keep W for the moments in "
        "which you'd wait, but remember that only W frees the memory. This is ZB-H1.",
        places=(0, 1, 2),
        micro_batches=6,
        kinds="FIW",
        cap=3,
        par=20.0,
    ),
)


BY_ID = {level.id: level for level in LEVELS}


def level_of(name: str) -> Level:
    """Return a level by its id. ValueError if there's none."""
    if name not in BY_ID:
        raise ValueError(f"there's no level {str(name)[:40]!r}: choose one of {', '.join(BY_ID)}")
    return BY_ID[name]
