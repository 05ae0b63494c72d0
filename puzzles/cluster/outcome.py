"""What a step took: time, memory, MFU, points."""

from dataclasses import dataclass

from cluster.judge import check, cluster_of
from cluster.memory import fullest

MFU_POINTS = ((80, 5), (70, 4), (60, 3), (50, 2), (40, 1))
MEMORY_POINTS = ((60e9, 5), (69e9, 4), (80e9, 3))


@dataclass(frozen=True)
class Outcome:
    """time: in `unit`, as the profile counts it. start_of_last, end: when the last event begins
    and ends. memory: the most on one rank, in `memory_unit`; rank, when: where and when that was.
    best: the time at the peak rate of every rank. layers, samples, ranks: the case."""

    profile: str
    time: float
    start_of_last: float
    end: float
    memory: float
    rank: int
    when: float
    best: float
    unit: str
    memory_unit: str
    ranks: int
    layers: int
    samples: int

    @property
    def mfu(self) -> float:
        """Model FLOPs utilisation: the best time over the time, 0 to 1."""
        return self.best / self.time if self.time else 0.0

    @property
    def points(self) -> tuple[float, int, int]:
        """(the score of part 4, points for MFU, points for memory)."""
        return score(self.mfu, self.memory)

    def __str__(self) -> str:
        return (
            f"{_many(self.ranks, 'rank')}, {_many(self.layers, 'layer')}, "
            f"{_many(self.samples, 'sample')}, {self.profile}: "
            f"{self.time:.6f} {self.unit}, MFU {100 * self.mfu:.2f} %, most memory "
            f"{self.memory:,.0f} {self.memory_unit} on rank {self.rank}"
        )


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def score(mfu: float, memory: float) -> tuple[float, int, int]:
    """(0.75 of the MFU's points + 0.25 of the memory's, MFU's points, memory's points)."""
    speed = next((points for least, points in MFU_POINTS if 100 * mfu >= least), 0)
    room = next((points for most, points in MEMORY_POINTS if memory <= most), 0)
    return 0.75 * speed + 0.25 * room, speed, room


def outcome(models) -> Outcome:
    """Check the step, and say what it took. Raises PuzzleError."""
    check(models)
    cluster = cluster_of(models)
    profile, ranks = cluster.profile, cluster.ranks
    start = max((rank.log[-1][2] for rank in ranks if rank.log), default=0.0)
    end = max(max(rank.now, rank.lane_free, rank.send_free) for rank in ranks)
    memory, number, when = fullest(cluster)
    return Outcome(
        profile.name,
        end if profile.ends else start,
        start,
        end,
        memory,
        number,
        when,
        profile.best(ranks[0].layers, ranks[0].batch),
        profile.unit,
        profile.memory_unit,
        cluster.world_size,
        ranks[0].layers,
        ranks[0].batch,
    )
